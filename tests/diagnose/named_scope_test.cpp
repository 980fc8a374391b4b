// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/named_scope.h>

#include "support/doctest.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

using torchamp::named_call;
using torchamp::named_forward;
using torchamp::NamedScope;
using torchamp::OperatorScope;

static_assert(!std::is_copy_constructible_v<NamedScope>);
static_assert(!std::is_move_constructible_v<NamedScope>);

namespace {

/// Writes down the scopes around each operator with a given name: "outer/inner".
class PathListener : public torchamp::OperatorObserver {
 public:
  std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& call,
                                               c10::ArrayRef<const c10::IValue>) override {
    if (call.scope() == at::RecordScope::USER_SCOPE) open.emplace_back(call.name());
    if (call.scope() == at::RecordScope::FUNCTION && std::string(call.name()) == "aten::neg") {
      std::string path;
      for (const auto& name : open) path += (path.empty() ? "" : "/") + name;
      paths.push_back(path);
    }
    return nullptr;
  }
  void finished(const at::RecordFunction& call, const std::vector<c10::IValue>&,
                at::ObserverContext*) override {
    if (call.scope() == at::RecordScope::USER_SCOPE) open.pop_back();
  }
  void may_throw() override {
    ++asked;
    if (throws) throw std::runtime_error("stop");
  }

  std::vector<std::string> open;
  std::vector<std::string> paths;
  int asked = 0;
  bool throws = false;
};

struct Neg : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) { return x.neg(); }
};
struct Counts : torch::nn::Module {
  void forward() { ++calls; }
  int calls = 0;
};
struct Parent : torch::nn::Module {
  Parent()
      : registered(register_module("block", std::make_shared<Neg>())),
        counts(register_module("counts", std::make_shared<Counts>())) {}
  std::shared_ptr<Neg> registered;
  std::shared_ptr<Neg> loose = std::make_shared<Neg>();
  std::shared_ptr<Counts> counts;
};

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("Scopes nest, and end where they end, by exceptions too") {
  const auto x = torch::ones({1});
  const auto listener = std::make_shared<PathListener>();
  OperatorScope scope(listener);
  try {
    NamedScope outer("encoder");
    NamedScope inner(std::string("norm"));
    x.neg();
    throw std::runtime_error("");
  } catch (const std::runtime_error&) {
  }
  x.neg();

  CHECK(listener->paths == Paths{"encoder/norm", ""});
}

TEST_CASE("A child is called in a scope of its registered name, or of its type's") {
  const auto x = torch::ones({1});
  Parent parent;
  const auto listener = std::make_shared<PathListener>();
  OperatorScope scope(listener);

  CHECK(named_call(parent, parent.registered, x).equal(x.neg()));
  named_call(parent, parent.counts);
  named_call(parent, parent.loose, x);

  REQUIRE(listener->paths.size() == 3);
  CHECK(listener->paths[0] == "block");
  CHECK(listener->paths[2].find("Neg") != std::string::npos);
  CHECK(parent.counts->calls == 1);
  CHECK(listener->asked == 3);
}

TEST_CASE("An observer can stop the program at the end of a named call, and nowhere else") {
  const auto x = torch::ones({1});
  Parent parent;
  const auto listener = std::make_shared<PathListener>();
  listener->throws = true;
  OperatorScope scope(listener);

  CHECK_NOTHROW(parent.registered->forward(x));
  CHECK_THROWS_AS(named_call(parent, parent.registered, x), std::runtime_error);
  CHECK(listener->open.empty());
}

TEST_CASE("The modules of a Sequential have their names, given or numbers") {
  const auto x = torch::ones({1});
  const auto neg = [](torch::Tensor t) { return t.neg(); };
  torch::nn::Sequential net({{"first", torch::nn::Functional(neg)}});
  net->push_back(torch::nn::Functional(neg));
  const auto listener = std::make_shared<PathListener>();
  OperatorScope scope(listener);

  CHECK(named_forward(net, x).equal(x));

  CHECK(listener->paths == Paths{"first", "1"});
  CHECK(listener->asked == 2);
}

TEST_CASE("A Sequential with another child calls its own modules all the same, each by its name") {
  struct WithAnother : torch::nn::SequentialImpl {
    WithAnother() {
      register_module("unused", std::make_shared<Parent>());
      push_back("first", torch::nn::Functional([](torch::Tensor t) { return t.neg() + 1; }));
      push_back("second", torch::nn::Functional([](torch::Tensor t) { return t.neg() * 3; }));
    }
  };
  const auto x = torch::ones({1});
  const auto net = std::make_shared<WithAnother>();
  const auto unobserved = net->forward(x);  // -((-1 + 1)) * 3
  const auto listener = std::make_shared<PathListener>();
  OperatorScope scope(listener);

  CHECK(named_forward(net, x).equal(unobserved));

  CHECK(listener->paths == Paths{"first", "second"});
}

TEST_CASE("Without an observer the modules are called all the same") {
  const auto x = torch::ones({1});
  Parent parent;
  torch::nn::Sequential net(torch::nn::Functional([](torch::Tensor t) { return t.neg(); }));

  CHECK_FALSE(NamedScope::observed());
  CHECK(named_call(parent, parent.registered, x).equal(-x));
  CHECK(named_forward(net, x).equal(-x));
  named_call(parent, parent.counts);
  CHECK(parent.counts->calls == 1);
}

TEST_CASE("An empty Sequential is refused as it always is") {
  torch::nn::Sequential net;
  OperatorScope scope(std::make_shared<PathListener>());

  CHECK_THROWS(named_forward(net, torch::ones({1})));
}
