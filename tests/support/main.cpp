// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// doctest's runner, and two rules of ours: a filter that matches no test is a failure, and tests of
// the suite "cuda" are skipped, with the reason said, where there is no GPU.
#define DOCTEST_CONFIG_IMPLEMENT

#include "support/doctest.h"

#include <cstring>
#include <iostream>

namespace {

constexpr int skipped = 77;  // what ctest is told to take as a skip

unsigned tests_run = 0;

struct CountTests : doctest::IReporter {
  explicit CountTests(const doctest::ContextOptions& /*options*/) {}
  void test_run_end(const doctest::TestRunStats& run) override {
    tests_run = run.numTestCasesPassingFilters;
  }
  void report_query(const doctest::QueryData& /*query*/) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData& /*test*/) override {}
  void test_case_reenter(const doctest::TestCaseData& /*test*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& /*test*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*assertion*/) override {}
  void log_message(const doctest::MessageData& /*message*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*test*/) override {}
};
REGISTER_LISTENER("count_tests", 0, CountTests);

bool asks_for_cuda(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--test-suite=cuda") == 0) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  if (!torch::cuda::is_available()) {
    std::cout << "Tests of the suite \"cuda\" are skipped: LibTorch sees no NVIDIA GPU here, or its"
                 " CUDA half is not linked (TORCHAMP_WITH_CUDA).\n";
    if (asks_for_cuda(argc, argv)) return skipped;
    context.addFilter("test-suite-exclude", "cuda");
  }

  const int result = context.run();

  if (context.shouldExit()) return result;  // --help, --list-test-cases
  if (tests_run == 0) {
    std::cout << "No test matches the filters.\n";
    return EXIT_FAILURE;
  }
  return result;
}
