// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/parameters.h>
#include <torchamp/diagnose/named_scope.h>
#include <torchamp/diagnose/non_finite.h>
#include <torchamp/diagnose/non_finite_finding.h>
#include <torchamp/diagnose/non_finite_observer.h>
#include <torchamp/diagnose/non_finite_tracer_options.h>
#include <torchamp/diagnose/operator_scope.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// While it lives, finds the first operator, forward or backward, that makes inf or NaN of finite
/// inputs.
///
///     torchamp::NonFiniteTracer tracer(*model);
///     scaler.scale(loss_of(batch)).backward();
///     std::cout << tracer;  // "aten::addmm made values that are not finite, in head.proj", …
///
/// To be used for a step or a few, when something is wrong: every result is looked at. On a CPU a
/// step of a small CNN takes a quarter longer, one of tiny tensors up to four times as long; on an
/// accelerator each operator is a host read. While no tracer lives, nothing is looked at.
///
/// | what                                           | is taken as                             |
/// |------------------------------------------------|-----------------------------------------|
/// | what comes of an infinite number in the program | a mask, on purpose                      |
/// | -inf alone that no operator made, not trained   | a mask, on purpose                      |
/// | infinities that come of a mask's                | on purpose                              |
/// | NaN that comes of a mask's infinities           | a finding: a row is masked throughout   |
/// | other bad values from before, a NaN in the code | a finding, `Origin::Input`, once        |
/// | memory that no operator has written to          | the same, `Origin::Uninitialised`       |
/// | inf on the way to an operator's finite result   | nothing, unless backward reads it later |
/// | what an operator in `allowed()` makes           | on purpose                              |
///
/// An operator is named by the module whose parameter it was given, or a view or a cast of it, and
/// by the named scopes around it: see `named_call()` and `NamedScope`.
///
/// Throwing: LibTorch swallows what a callback throws, so with `OnNonFinite::Throw` [E32] comes at
/// the end of the `named_call()` in which it happened, or of `run()`, once; or from `check()`,
/// always.
///
/// Caveats: an infinity that an operator makes of its own beside a mask's is not told from the
/// mask's. Nested, meta and functorch tensors are not looked at, nor are the operators of other
/// threads. On an accelerator not for a step that is captured as a graph. It holds weak references
/// only, besides the tensors that are given names.
class NonFiniteTracer {
 public:
  /// Host sync: none.   Threads: ends on the thread that began, innermost first.
  /// Throws: [E08] for an option that makes no sense.
  [[nodiscard]] explicit NonFiniteTracer(NonFiniteTracerOptions options = {})
      : NonFiniteTracer(std::make_shared<detail::NonFiniteObserver>(detail::checked(options))) {}

  /// The same, with names for the parameters and buffers of a module, or for named tensors:
  /// `named_parameters()`, a map.
  template <class Named,
            class = std::enable_if_t<!std::is_same_v<std::decay_t<Named>, NonFiniteTracerOptions>>>
  [[nodiscard]] explicit NonFiniteTracer(const Named& named, NonFiniteTracerOptions options = {})
      : NonFiniteTracer(with_names(named, detail::checked(std::move(options)))) {}

  /// What was found so far, in the order in which it came about.
  /// Host sync: none.   Threads: any.
  std::vector<NonFiniteFinding> findings() const { return observer_->findings(); }

  /// The first of them.
  std::optional<NonFiniteFinding> first() const {
    auto all = findings();
    if (all.empty()) return std::nullopt;
    return std::move(all.front());
  }

  bool empty() const { return findings().empty(); }

  /// All of them as text, or that there is none.
  std::string to_text() const;
  friend std::ostream& operator<<(std::ostream& out, const NonFiniteTracer& tracer) {
    return out << tracer.to_text();
  }

  /// Host sync: none.   Throws: [E32] if there is a finding, whatever the options say.
  void check() const { observer_->throw_if_any(); }

  /// Returns what `function()` returns.
  /// Host sync: none.   Throws: [E32] at the end if the options say so and a finding was not thrown
  /// yet; what `function` throws.
  template <class Function>
  auto run(Function&& function) const;

  // A tracer is a scope of one thread.
  NonFiniteTracer(const NonFiniteTracer&) = delete;
  NonFiniteTracer& operator=(const NonFiniteTracer&) = delete;
  NonFiniteTracer(NonFiniteTracer&&) = delete;
  NonFiniteTracer& operator=(NonFiniteTracer&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  explicit NonFiniteTracer(std::shared_ptr<detail::NonFiniteObserver> observer)
      : observer_(std::move(observer)), scope_(observer_) {}

  template <class Named>
  static std::shared_ptr<detail::NonFiniteObserver> with_names(const Named& named,
                                                               NonFiniteTracerOptions options);

  std::shared_ptr<detail::NonFiniteObserver> observer_;
  OperatorScope scope_;
};

template <class Named>
std::shared_ptr<detail::NonFiniteObserver> NonFiniteTracer::with_names(
    const Named& named, NonFiniteTracerOptions options) {
  auto observer = std::make_shared<detail::NonFiniteObserver>(std::move(options));
  const auto add = [&](const auto& items) {
    detail::for_each_parameter(items, [&](const at::Tensor& tensor, const auto& place) {
      const auto where = place();
      observer->names().add(where.name ? *where.name : std::to_string(where.index), tensor);
    });
  };
  if constexpr (detail::points_to_named_tensors<const Named>) {
    add(named->named_parameters());
    add(named->named_buffers());
  } else if constexpr (detail::has_named_tensors<const Named>) {
    add(named.named_parameters());
    add(named.named_buffers());
  } else {
    static_assert(
        detail::is_parameter_range<const Named>,
        "NonFiniteTracer: give a module, or tensors with names: named_parameters(), a map");
    add(named);
  }
  return observer;
}

inline std::string NonFiniteTracer::to_text() const {
  const auto all = findings();
  if (all.empty()) return "no operator made values that are not finite\n";
  std::string text;
  for (const auto& finding : all) text += finding.to_text();
  return text;
}

template <class Function>
auto NonFiniteTracer::run(Function&& function) const {
  if constexpr (std::is_void_v<decltype(function())>) {
    function();
    observer_->may_throw();
  } else {
    auto result = function();
    observer_->may_throw();
    return result;
  }
}

}  // namespace v0
}  // namespace torchamp
