// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/phase_tree.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <string>
#include <vector>

using torchamp::detail::PhaseTree;

TEST_CASE("A phase is found again by its name inside the phase around it") {
  PhaseTree tree(0);

  const auto train = tree.find_or_add(PhaseTree::root, "train");
  const auto forward = tree.find_or_add(train, "forward");
  const auto test = tree.find_or_add(PhaseTree::root, "test");
  const auto other_forward = tree.find_or_add(test, "forward");

  CHECK(tree.find_or_add(PhaseTree::root, "train") == train);
  CHECK(tree.find_or_add(train, "forward") == forward);
  CHECK(other_forward != forward);
  CHECK(tree[forward].path == "train/forward");
  CHECK(tree[forward].depth == 1);
  CHECK(&tree.find("test/forward") == &tree[other_forward]);
}

TEST_CASE("A name that is empty or has a slash is refused, and no phase is there") {
  PhaseTree tree(0);

  CHECK_ERROR(E13, tree.find_or_add(PhaseTree::root, ""));
  CHECK_ERROR(E13, tree.find_or_add(PhaseTree::root, "a/b"));

  CHECK_ERROR(E13, tree.find("a/b"));
}

TEST_CASE("Each phase has a warm-up of its own") {
  PhaseTree tree(2);
  const auto outer = tree.find_or_add(PhaseTree::root, "outer");
  const auto inner = tree.find_or_add(outer, "inner");

  for (const double seconds : {1, 2, 3}) tree.take(inner, seconds);
  tree.take(outer, 9);

  CHECK(tree[inner].warmup_laps == std::vector<double>{1, 2});
  CHECK(tree[inner].laps == std::vector<double>{3});
  CHECK(tree[outer].warmup_laps == std::vector<double>{9});
  CHECK(tree[outer].laps.empty());
}

TEST_CASE("The phases inside a phase follow it, and one without a lap is left out") {
  PhaseTree tree(0);
  const auto step = tree.find_or_add(PhaseTree::root, "step");
  tree.find_or_add(PhaseTree::root, "never");
  const auto test = tree.find_or_add(PhaseTree::root, "test");
  const auto forward = tree.find_or_add(step, "forward");
  for (const auto phase : {step, test, forward}) tree.take(phase, 1);

  std::vector<std::string> paths;
  for (const auto& times : tree.all_times()) paths.push_back(times.path);

  CHECK(paths == std::vector<std::string>{"step", "step/forward", "test"});
}

TEST_CASE("The times of a phase name it and count its warm-up apart") {
  PhaseTree tree(1);
  const auto step = tree.find_or_add(PhaseTree::root, "step");
  const auto forward = tree.find_or_add(step, "forward");
  for (const double seconds : {9, 2, 4}) tree.take(forward, seconds);

  const auto times = PhaseTree::times(tree.find("step/forward"));

  CHECK(times.path == "step/forward");
  CHECK(times.name == "forward");
  CHECK(times.depth == 1);
  CHECK(times.warmup_count == 1);
  CHECK(times.count == 2);
  CHECK(times.mean_seconds == 3);
}

TEST_CASE("A phase that has only warmed up has no times, which is said rather than 0") {
  PhaseTree tree(3);
  tree.take(tree.find_or_add(PhaseTree::root, "step"), 1);

  CHECK_ERROR(E13, tree.all_times());
  CHECK_ERROR(E13, PhaseTree::times(tree.find("step")));
  CHECK_ERROR_SAYS("\"step\" has 1 laps", tree.all_times());
}

TEST_CASE("Asking for a phase that is not there lists those that are") {
  PhaseTree tree(0);
  tree.find_or_add(tree.find_or_add(PhaseTree::root, "step"), "forward");

  CHECK_ERROR(E13, tree.find("forward"));
  CHECK_ERROR_SAYS("step, step/forward", tree.find("forward"));
}
