// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/memory.h>
#include <torchamp/probe/timer.h>
#include <torchamp/probe/trace.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/file_size_limit.h"
#include "support/profilers.h"
#include "support/scratch_folder.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/// A path for one trace, in a folder of the test alone.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name) : path_(folder_.path() / name) {}

  std::string path() const { return path_.string(); }
  bool exists() const { return std::filesystem::exists(path_); }

 private:
  ScratchFolder folder_;
  std::filesystem::path path_;
};

/// What has a beginning and a length in the trace, in order of beginning.
std::vector<nlohmann::json> spans_of(const ScratchFile& file) {
  std::ifstream stream(file.path());
  const auto document = nlohmann::json::parse(stream);
  std::vector<nlohmann::json> spans;
  for (const auto& event : document.at("traceEvents")) {
    if (event.value("ph", "") == "X" && event.value("cat", "") != "Trace") spans.push_back(event);
  }
  std::stable_sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
    return a.at("ts").template get<double>() < b.at("ts").template get<double>();
  });
  return spans;
}

const nlohmann::json* find(const std::vector<nlohmann::json>& spans, const std::string& name) {
  for (const auto& span : spans) {
    if (span.at("name") == name) return &span;
  }
  return nullptr;
}

/// Hears the warnings of this thread while it lives, in place of who heard them before.
class Warnings : public c10::WarningHandler {
 public:
  explicit Warnings(bool throws = false) : throws_(throws) {}

  void process(const c10::Warning& warning) override {
    texts_.push_back(warning.msg());
    if (throws_) throw std::runtime_error("a warning that is an error");
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  bool throws_;
  std::vector<std::string> texts_;
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

double begin_of(const nlohmann::json& span) { return span.at("ts").get<double>(); }
double end_of(const nlohmann::json& span) { return begin_of(span) + span.at("dur").get<double>(); }

}  // namespace

TEST_CASE("A trace has the operators that ran, within the ranges that they ran in") {
  const ScratchFile file("ranges.json");
  {
    const torchamp::TraceGuard trace(file.path());
    const torchamp::TraceRange step("step");
    const auto a = torch::ones({8, 8}, torch::requires_grad());
    torch::Tensor loss;
    {
      const torchamp::TraceRange forward("forward");
      loss = a.mm(a).sum();
    }
    const torchamp::TraceRange backward("backward");
    loss.backward();
  }

  const auto spans = spans_of(file);
  for (const auto* name : {"step", "forward", "backward", "aten::mm", "aten::sum"}) {
    CAPTURE(name);
    REQUIRE(find(spans, name) != nullptr);
  }
  const auto& forward = *find(spans, "forward");
  const auto& mm = *find(spans, "aten::mm");  // the first one
  CHECK(begin_of(*find(spans, "step")) <= begin_of(forward));
  CHECK(begin_of(forward) <= begin_of(mm));
  CHECK(end_of(mm) <= end_of(forward));
  CHECK(end_of(forward) <= begin_of(*find(spans, "backward")));
}

TEST_CASE("A trace has the phases of a timer, with the operators that ran in them") {
  const ScratchFile file("phases.json");
  torchamp::Timer timer(torch::kCPU);
  {
    const torchamp::TraceGuard trace(file.path());
    const auto step = timer.phase("step");
    timer.lap("forward", [] { torch::ones({8}).neg(); });
  }

  const auto spans = spans_of(file);
  for (const auto* name : {"step", "forward", "aten::neg"}) {
    CAPTURE(name);
    REQUIRE(find(spans, name) != nullptr);
  }
  const auto& forward = *find(spans, "forward");
  const auto& neg = *find(spans, "aten::neg");
  CHECK(begin_of(*find(spans, "step")) <= begin_of(forward));
  CHECK(begin_of(forward) <= begin_of(neg));
  CHECK(end_of(neg) <= end_of(forward));
}

TEST_CASE("A range of any name is found in the trace as it is, and the trace is well-formed") {
  const ScratchFile file("names.json");
  const std::vector<std::string> expected{"a\"b\\c", "line\nbreak\tand tab",
                                          "<b>&",    "\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80",
                                          "`u0041",  ""};
  {
    const torchamp::TraceGuard trace(file.path());
    for (const auto& name : expected) {
      const torchamp::TraceRange range(name);
    }
  }

  std::vector<std::string> names;
  for (const auto& span : spans_of(file)) {
    if (span.value("cat", "") == "user_annotation") names.push_back(span.at("name"));
  }
  CHECK(names == expected);
}

TEST_CASE("A trace has shapes if it is asked for them") {
  for (const bool shapes : {false, true}) {
    const ScratchFile file("shapes.json");
    {
      const torchamp::TraceGuard trace(file.path(), torchamp::TraceOptions().shapes(shapes));
      torch::ones({3, 5}).neg();
    }

    const auto spans = spans_of(file);
    REQUIRE(find(spans, "aten::neg") != nullptr);
    const auto text = find(spans, "aten::neg")->dump();
    CHECK((text.find("[3,5]") != std::string::npos) == shapes);
  }
}

TEST_CASE("Outside of a trace, ranges and operators leave nothing behind") {
  const ScratchFile file("apart.json");
  {
    torchamp::TraceGuard trace(file.path());
    trace.stop();
    const torchamp::TraceRange range("later");
    torch::ones({3}).neg();
  }

  CHECK(find(spans_of(file), "later") == nullptr);
  CHECK(find(spans_of(file), "aten::neg") == nullptr);
}

TEST_CASE("A trace ends when its scope is left by an exception, and is written") {
  const ScratchFile file("thrown.json");
  try {
    const torchamp::TraceGuard trace(file.path());
    torch::ones({3}).neg();
    throw std::runtime_error("as a step may");
  } catch (const std::runtime_error&) {
  }

  CHECK(find(spans_of(file), "aten::neg") != nullptr);
  CHECK_FALSE(torch::profiler::impl::profilerEnabled());
}

TEST_CASE("A trace has each allocation if it is asked for them") {
  for (const bool memory : {false, true}) {
    const ScratchFile file("memory.json");
    {
      const torchamp::TraceGuard trace(file.path(), torchamp::TraceOptions().memory(memory));
      torch::empty({1000});
    }

    const auto text = ScratchFolder::read(file.path());
    CHECK((text.find("[memory]") != std::string::npos) == memory);
  }
}

TEST_CASE("TraceGuard refuses a file that cannot be written, before it traces, and no later one") {
  CHECK_ERROR(E18, torchamp::TraceGuard("/no/such/folder/trace.json"));
  const ScratchFile file("later.json");
  CHECK_NOTHROW(torchamp::TraceGuard(file.path()));
  CHECK_FALSE(torch::profiler::impl::profilerEnabled());
}

TEST_CASE("TraceGuard refuses to run beside a profiler or a probe, and makes no file") {
  const ScratchFile file("second.json");
  {
    const torchamp::MemoryProbe probe(torch::kCPU);
    CHECK_ERROR(E13, torchamp::TraceGuard(file.path()));
  }
  const ScratchFile outer("outer.json");
  torchamp::TraceGuard trace(outer.path());
  CHECK_ERROR(E13, torchamp::TraceGuard(file.path()));
  torch::ones({3}).neg();
  trace.stop();

  CHECK_FALSE(file.exists());
  CHECK(find(spans_of(outer), "aten::neg") != nullptr);  // it went on
}

TEST_CASE("A trace and a profiler of all threads do not take each other's place") {
  const auto config = profiling_all_threads();
  if (!config) {
    MESSAGE("this LibTorch has no profiler of all threads");
    return;
  }
  const ScratchFile refused("refused.json");
  start_profiler(*config);
  CHECK_ERROR(E13, torchamp::TraceGuard(refused.path()));
  CHECK_FALSE(refused.exists());
  torch::ones({3}).neg();
  CHECK(stop_profiler("aten::neg") == 1);

  const ScratchFile file("outer.json");
  torchamp::TraceGuard trace(file.path());
  start_profiler(*config);
  CHECK_ERROR(E13, trace.stop());
  torch::ones({3}).neg();
  CHECK(stop_profiler("aten::neg") == 1);
}

TEST_CASE("A trace is stopped once") {
  const ScratchFile file("twice.json");
  torchamp::TraceGuard trace(file.path());
  trace.stop();

  CHECK_ERROR(E13, trace.stop());
}

TEST_CASE("Until it is stopped, a trace's file is a trace without events") {
  const ScratchFile file("early.json");
  torchamp::TraceGuard trace(file.path());

  CHECK(trace.is_running());
  CHECK(spans_of(file).empty());
  trace.stop();
  CHECK_FALSE(trace.is_running());
}

TEST_CASE("stop() says that the trace could not be written, and the profiler has ended") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "sub");
  torchamp::TraceGuard trace((folder.path() / "sub" / "a.json").string());
  std::filesystem::remove_all(folder.path() / "sub");

  CHECK_ERROR(E18, trace.stop());

  CHECK_FALSE(trace.is_running());
  CHECK_FALSE(torch::profiler::impl::profilerEnabled());
}

TEST_CASE("A trace that was cut off, as on a full disk, is an error and not a shorter trace") {
  const ScratchFile file("cut.json");
  torchamp::TraceGuard trace(file.path());
  torch::ones({3}).neg();

  std::string complaint;
  {
    const FileSizeLimit limit(1024);
    complaint = complaint_of([&] { trace.stop(); });
  }

  CHECK(complaint.substr(0, 15) == "[torchamp.E18] ");
}

TEST_CASE("The destructor warns, once, of a trace that could not be written") {
  Warnings warnings;
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "sub");
  {
    const torchamp::TraceGuard trace((folder.path() / "sub" / "a.json").string());
    std::filesystem::remove_all(folder.path() / "sub");
  }

  REQUIRE(warnings.texts().size() == 1);
  CHECK(warnings.texts().front().find("torchamp: [torchamp.E18] ") == 0);
}

TEST_CASE("The destructor throws nothing, even if warnings are made errors") {
  Warnings warnings(/*throws=*/true);
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "sub");
  const auto trace_into_nothing = [&] {
    const torchamp::TraceGuard trace((folder.path() / "sub" / "a.json").string());
    std::filesystem::remove_all(folder.path() / "sub");
  };

  CHECK_NOTHROW(trace_into_nothing());
  CHECK(warnings.texts().size() == 1);
}

TEST_CASE("A trace is stopped on its own thread only") {
  const ScratchFile file("thread.json");
  torchamp::TraceGuard trace(file.path());
  std::string complaint;

  std::thread([&] { complaint = complaint_of([&] { trace.stop(); }); }).join();

  CHECK(complaint.substr(0, 15) == "[torchamp.E13] ");
  CHECK(trace.is_running());
  torch::ones({3}).neg();
  trace.stop();
  CHECK(find(spans_of(file), "aten::neg") != nullptr);
}

TEST_CASE("A trace leaves a profiler alone that someone else began after ending the trace") {
  namespace profiler = torch::autograd::profiler;
  const ScratchFile file("other.json");
  Warnings warnings;  // the destructor's, whose profiler is gone
  torchamp::TraceGuard trace(file.path());
  profiler::disableProfiler();
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
  const std::set<profiler::ActivityType> cpu{profiler::ActivityType::CPU};
  profiler::prepareProfiler(config, cpu);
  profiler::enableProfiler(config, cpu);

  CHECK_ERROR(E13, trace.stop());

  CHECK(torch::profiler::impl::profilerEnabled());
  profiler::disableProfiler();
}

TEST_CASE("A trace with stacks and without the device has the operators all the same") {
  const ScratchFile file("options.json");
  torchamp::TraceGuard trace(file.path(), torchamp::TraceOptions().stacks(true).device(false));
  torch::ones({3}).neg();
  trace.stop();
  CHECK(find(spans_of(file), "aten::neg") != nullptr);
}

TEST_CASE("A second thread cannot trace while one does, which goes on, and can afterwards") {
  const ScratchFile first("first.json");
  const ScratchFile second("second.json");
  torchamp::TraceGuard trace(first.path());
  std::string complaint;
  const auto trace_second = [&] {
    complaint = complaint_of([&] {
      const torchamp::TraceGuard other(second.path());
      torch::ones({3}).neg();
    });
  };

  std::thread(trace_second).join();

  CHECK(complaint.substr(0, 15) == "[torchamp.E13] ");
  CHECK_FALSE(second.exists());
  torch::ones({3}).neg();
  trace.stop();
  CHECK(find(spans_of(first), "aten::neg") != nullptr);

  std::thread(trace_second).join();
  CHECK(complaint.empty());
  CHECK(find(spans_of(second), "aten::neg") != nullptr);
}

TEST_CASE("LibTorch without Kineto is known by the flags that it was compiled with") {
  using torchamp::detail::has_kineto;
  CHECK(has_kineto("-O2 -DUSE_KINETO -DLIBKINETO_NOCUPTI"));
  CHECK_FALSE(has_kineto("-O2 -fopenmp"));
  CHECK(has_kineto(""));  // not told
  CHECK(has_kineto(at::get_cxx_flags()));
}
