// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/diagnose/operator_scope.h>
#include <torchamp/probe/memory.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <torch/csrc/autograd/profiler_legacy.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using torchamp::OperatorObserver;
using torchamp::OperatorScope;

static_assert(!std::is_copy_constructible_v<OperatorScope>);
static_assert(!std::is_move_constructible_v<OperatorScope>);

namespace {

/// Writes down what it hears: "+name" when a call starts, "-name" when it ends.
class Listener : public OperatorObserver {
 public:
  std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& call,
                                               c10::ArrayRef<const c10::IValue> inputs) override {
    note("+", call, inputs.size());
    return std::make_unique<Context>();
  }
  void finished(const at::RecordFunction& call, const std::vector<c10::IValue>& outputs,
                at::ObserverContext* context) override {
    with_context += dynamic_cast<Context*>(context) != nullptr ? 1 : 0;
    note("-", call, outputs.size());
  }
  bool heard(const std::string& line) const {
    return std::count(lines.begin(), lines.end(), line) > 0;
  }

  std::vector<std::string> lines;
  std::vector<std::size_t> counts;  // of inputs or outputs, one for each line
  int with_context = 0;

 private:
  struct Context : at::ObserverContext {};

  void note(const char* what, const at::RecordFunction& call, std::size_t count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    lines.push_back(std::string(what) + call.name());
    counts.push_back(count);
  }

  std::mutex mutex_;
};

using Lines = std::vector<std::string>;

bool anyone_listens() {
  return at::hasThreadLocalCallbacks() || torchamp::detail::OperatorObservers::current() != nullptr;
}

}  // namespace

TEST_CASE("An observer hears an operator start with its inputs, and end with its outputs") {
  const auto x = torch::ones({2});
  const auto listener = std::make_shared<Listener>();
  {
    OperatorScope scope(listener);
    x.neg();
  }
  x.neg();

  CHECK(listener->lines == Lines{"+aten::neg", "-aten::neg"});
  CHECK(listener->counts == std::vector<std::size_t>{1, 1});
  CHECK(listener->with_context == 1);
}

TEST_CASE("Calls inside of calls nest, and the user's scopes are calls too") {
  const auto x = torch::ones({2, 2});
  const auto listener = std::make_shared<Listener>();
  OperatorScope scope(listener);
  {
    RECORD_USER_SCOPE("encoder");
    x.t();
  }

  CHECK(listener->lines == Lines{"+encoder", "+aten::t", "+aten::transpose", "+aten::as_strided",
                                 "-aten::as_strided", "-aten::transpose", "-aten::t", "-encoder"});
}

TEST_CASE("Backward nodes are heard, also on a thread of their own") {
  const auto x = torch::ones({2}, torch::requires_grad());
  const auto listener = std::make_shared<Listener>();
  OperatorScope scope(listener);
  const auto y = x.exp();
  const auto seen_in_forward = listener->lines;

  // What the engine does for devices that have a thread each.
  const at::ThreadLocalState state;
  std::thread([&] {
    const at::ThreadLocalStateGuard guard(state);
    y.sum().backward();
  }).join();

  CHECK(seen_in_forward == Lines{"+aten::exp", "-aten::exp"});
  CHECK(listener->heard("+ExpBackward0"));
  CHECK(listener->heard("-ExpBackward0"));
}

TEST_CASE("Other threads are not heard, and each has scopes of its own") {
  const auto x = torch::ones({2});
  const auto here = std::make_shared<Listener>();
  const auto there = std::make_shared<Listener>();
  OperatorScope scope(here);

  std::thread([&] {
    OperatorScope inner(there);
    x.exp();
  }).join();
  x.neg();

  CHECK(here->lines == Lines{"+aten::neg", "-aten::neg"});
  CHECK(there->lines == Lines{"+aten::exp", "-aten::exp"});
}

TEST_CASE("Many threads observe at once, each its own calls and all of them") {
  std::vector<std::shared_ptr<Listener>> listeners(4);
  std::vector<std::thread> threads;
  for (auto& listener : listeners) {
    listener = std::make_shared<Listener>();
    threads.emplace_back([&listener] {
      const auto x = torch::ones({2});
      OperatorScope scope(listener);
      for (int i = 0; i < 100; ++i) x.neg();
    });
  }
  for (auto& thread : threads) thread.join();

  for (const auto& listener : listeners) CHECK(listener->lines.size() == 200);
}

TEST_CASE("Scopes nest: both observers hear what the inner scope holds") {
  const auto x = torch::ones({2});
  const auto outer = std::make_shared<Listener>();
  const auto inner = std::make_shared<Listener>();
  OperatorScope outer_scope(outer);
  {
    OperatorScope inner_scope(inner);
    x.neg();
  }
  x.exp();

  CHECK(inner->lines == Lines{"+aten::neg", "-aten::neg"});
  CHECK(outer->lines == Lines{"+aten::neg", "-aten::neg", "+aten::exp", "-aten::exp"});
}

TEST_CASE("The inner observer hears of a call's start last and of its end first") {
  struct Ordered : OperatorObserver {
    Ordered(const char* who, Lines& where) : name(who), lines(where) {}
    std::unique_ptr<at::ObserverContext> started(const at::RecordFunction&,
                                                 c10::ArrayRef<const c10::IValue>) override {
      lines.push_back(name + " starts");
      return nullptr;
    }
    void finished(const at::RecordFunction&, const std::vector<c10::IValue>&,
                  at::ObserverContext*) override {
      lines.push_back(name + " ends");
    }
    std::string name;
    Lines& lines;
  };
  const auto x = torch::ones({2});
  Lines lines;
  OperatorScope outer(std::make_shared<Ordered>("outer", lines));
  OperatorScope inner(std::make_shared<Ordered>("inner", lines));

  x.neg();

  CHECK(lines == Lines{"outer starts", "inner starts", "inner ends", "outer ends"});
}

TEST_CASE("An operator that an observer calls is heard by nobody") {
  struct Caller : Listener {
    std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& call,
                                                 c10::ArrayRef<const c10::IValue> inputs) override {
      auto context = Listener::started(call, inputs);
      inputs[0].toTensor().isfinite().all();
      return context;
    }
    void finished(const at::RecordFunction& call, const std::vector<c10::IValue>& outputs,
                  at::ObserverContext* context) override {
      outputs[0].toTensor().isfinite().all();
      Listener::finished(call, outputs, context);
    }
  };
  const auto x = torch::ones({2});
  const auto caller = std::make_shared<Caller>();
  const auto listener = std::make_shared<Listener>();
  OperatorCounter others;
  OperatorScope outer(listener);
  OperatorScope inner(caller);

  x.neg();

  CHECK(caller->lines == Lines{"+aten::neg", "-aten::neg"});
  CHECK(listener->lines == caller->lines);
  CHECK(others.more() == 1);
}

TEST_CASE("Operators are hidden while an observer is told, unless all promise to call none") {
  struct Asker : Listener {
    explicit Asker(bool may_call) : calls(may_call) {}
    std::unique_ptr<at::ObserverContext> started(const at::RecordFunction&,
                                                 c10::ArrayRef<const c10::IValue>) override {
      hidden += at::isRecordFunctionEnabled() ? 0 : 1;
      return nullptr;
    }
    void finished(const at::RecordFunction&, const std::vector<c10::IValue>&,
                  at::ObserverContext*) override {
      hidden += at::isRecordFunctionEnabled() ? 0 : 1;
    }
    bool calls_operators() const override { return calls; }
    bool calls;
    int hidden = 0;
  };
  const auto x = torch::ones({2});
  const auto quiet = std::make_shared<Asker>(false);
  const auto caller = std::make_shared<Asker>(true);
  OperatorScope outer(quiet);

  x.neg();
  CHECK(quiet->hidden == 0);
  {
    OperatorScope inner(caller);
    x.neg();
  }
  CHECK(caller->hidden == 2);
  CHECK(quiet->hidden == 2);
}

TEST_CASE("An operator that throws ends without outputs, and what follows is heard") {
  const auto x = torch::ones({2, 3});
  const auto listener = std::make_shared<Listener>();
  OperatorScope scope(listener);

  CHECK_THROWS(x.mm(x));
  x.neg();

  CHECK(listener->lines == Lines{"+aten::mm", "-aten::mm", "+aten::neg", "-aten::neg"});
  CHECK(listener->counts[1] == 0);
}

TEST_CASE("After a scope nothing listens, also if it was left by an exception") {
  const auto listener = std::make_shared<Listener>();
  REQUIRE_FALSE(anyone_listens());
  { OperatorScope scope(listener); }
  CHECK_FALSE(anyone_listens());

  CHECK_THROWS([&] {
    OperatorScope outer(listener);
    OperatorScope inner(listener);
    throw std::runtime_error("a step that failed");
  }());

  CHECK_FALSE(anyone_listens());
  CHECK(listener.use_count() == 1);
}

TEST_CASE("A call that began in a scope and ends after it still ends for the observer") {
  const auto listener = std::make_shared<Listener>();
  auto call = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
  CHECK_FALSE(call->isActive());
  {
    OperatorScope scope(listener);
    call = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
    call->before("late");
  }
  call.reset();

  CHECK(listener->lines == Lines{"+late", "-late"});
}

TEST_CASE("The profiler sees the same events beside a scope, which begins in it or around it") {
  using namespace torch::autograd::profiler;
  const auto x = torch::ones({2});
  const auto listener = std::make_shared<Listener>();
  const auto negs = [](const thread_event_lists& lists) {
    int count = 0;
    for (const auto& list : lists) {
      for (const auto& event : list) {
        count += std::string(event.name()) == "aten::neg" && event.kind() == EventKind::PushRange;
      }
    }
    return count;
  };
  {
    OperatorScope scope(listener);
    enableProfilerLegacy(ProfilerConfig(ProfilerState::CPU));
    x.neg();
    CHECK(negs(disableProfilerLegacy()) == 1);
    x.neg();
  }
  CHECK(listener->lines.size() == 4);

  enableProfilerLegacy(ProfilerConfig(ProfilerState::CPU));
  {
    OperatorScope scope(listener);
    x.neg();
  }
  x.neg();
  CHECK(negs(disableProfilerLegacy()) == 2);
  CHECK(listener->lines.size() == 6);
}

TEST_CASE("A memory probe counts the same bytes in a scope and around one") {
  const auto listener = std::make_shared<Listener>();
  const auto x = torch::ones({256});

  OperatorScope outer(listener);
  torchamp::MemoryProbe probe(torch::kCPU);
  OperatorScope inner(listener);
  const auto y = x.neg();

  CHECK(probe.usage().live_bytes == 1024);
  CHECK(listener->lines.size() == 4);
}

TEST_CASE("An autocast operator is heard twice, around the cast that autocast made") {
  const auto x = torch::ones({2, 2});
  const auto listener = std::make_shared<Listener>();
  OperatorScope scope(listener);
  {
    torchamp::AutocastGuard autocast(torch::kCPU);
    x.mm(x);
  }

  CHECK(listener->lines[0] == "+aten::mm");
  CHECK(listener->heard("+aten::_to_copy"));
  CHECK(std::count(listener->lines.begin(), listener->lines.end(), "+aten::mm") == 2);
}

TEST_CASE("What an observer throws stops no operator: LibTorch logs it") {
  struct Thrower : Listener {
    std::unique_ptr<at::ObserverContext> started(const at::RecordFunction&,
                                                 c10::ArrayRef<const c10::IValue>) override {
      throw std::runtime_error("an observer's own fault");
    }
  };
  const auto x = torch::ones({2});
  {
    OperatorScope scope(std::make_shared<Thrower>());
    CHECK_NOTHROW(x.neg());
  }
  CHECK_FALSE(anyone_listens());
  OperatorCounter still_observed;
  x.neg();
  CHECK(still_observed.more() == 1);
}

TEST_CASE("What one observer throws, the others do not miss") {
  struct Thrower : Listener {
    explicit Thrower(bool at_start) : throws_at_start(at_start) {}
    std::unique_ptr<at::ObserverContext> started(const at::RecordFunction&,
                                                 c10::ArrayRef<const c10::IValue>) override {
      if (throws_at_start) throw std::runtime_error("an observer's own fault");
      return nullptr;
    }
    void finished(const at::RecordFunction&, const std::vector<c10::IValue>&,
                  at::ObserverContext* context) override {
      CHECK(context == nullptr);
      if (!throws_at_start) throw std::runtime_error("an observer's own fault");
    }
    bool throws_at_start;
  };
  const auto x = torch::ones({2});
  for (const bool at_start : {true, false}) {
    CAPTURE(at_start);
    const auto outer = std::make_shared<Listener>();
    const auto inner = std::make_shared<Listener>();
    OperatorScope outer_scope(outer);
    OperatorScope throwing_scope(std::make_shared<Thrower>(at_start));
    OperatorScope inner_scope(inner);

    CHECK_NOTHROW(x.neg());

    CHECK(outer->lines == Lines{"+aten::neg", "-aten::neg"});
    CHECK(inner->lines == Lines{"+aten::neg", "-aten::neg"});
    CHECK(outer->with_context == 1);
    CHECK(inner->with_context == 1);
  }
}

TEST_CASE("A scope without an observer is refused, and nothing listens") {
  CHECK_ERROR(E08, OperatorScope(nullptr));
  CHECK_FALSE(anyone_listens());
}
