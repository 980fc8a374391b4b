// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include "support/doctest.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <cstddef>
#include <utility>

/// A device that exists while this lives, of the type PrivateUse1, with a clock that moves only
/// when told to. It does its work in order, and only as far as someone waits for it or lets it.
class FakeDevice {
 public:
  enum class Events { WithTime, Absent };

  explicit FakeDevice(Events events = Events::WithTime) {
    state() = {};
    state().has_events = events == Events::WithTime;
    static const Guard guard;  // LibTorch may keep its address
    c10::impl::device_guard_impl_registry[static_cast<std::size_t>(device.type())].store(&guard);
  }
  ~FakeDevice() {
    c10::impl::device_guard_impl_registry[static_cast<std::size_t>(device.type())].store(nullptr);
  }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  static constexpr c10::DeviceType type = c10::DeviceType::PrivateUse1;
  const c10::Device device{type, 0};

  /// Queues work of so many seconds.
  void queue_seconds(double seconds) { state().queued += seconds; }
  /// Lets the device finish what was queued.
  void finish() { state().finished = state().queued; }
  /// How often the host has waited since the last call.
  int waits() { return std::exchange(state().waits, 0); }
  /// How many events there are.
  int events() const { return state().events; }
  /// How many have been made, gone ones too.
  int events_made() const { return state().events_made; }
  /// Makes the next record() fail.
  void fail_next_record() { state().fails = true; }

 private:
  struct State {
    bool has_events = true;
    bool fails = false;
    double queued = 0;    // seconds at which all that was queued will be done
    double finished = 0;  // seconds up to which it is done
    int waits = 0;
    int events = 0;
    int events_made = 0;
  };
  static State& state() {
    static State state;
    return state;
  }

  struct Event {
    double time;
  };

  static void wait_until(double time) {
    ++state().waits;
    state().finished = (std::max)(state().finished, time);
  }

  // Not all of these exist in every LibTorch, hence no `override` for the last.
  struct Guard : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return FakeDevice::type; }
    c10::Device exchangeDevice(c10::Device device) const override { return device; }
    c10::Device getDevice() const override { return {FakeDevice::type, 0}; }
    void setDevice(c10::Device) const override {}
    void uncheckedSetDevice(c10::Device) const noexcept override {}
    c10::Stream getStream(c10::Device device) const noexcept override {
      return c10::Stream(c10::Stream::DEFAULT, device);
    }
    c10::Stream exchangeStream(c10::Stream stream) const noexcept override { return stream; }
    c10::DeviceIndex deviceCount() const noexcept override { return 1; }

    void record(void** event, const c10::Stream&, const c10::DeviceIndex,
                const c10::EventFlag flag) const override {
      TORCH_CHECK(state().has_events && !std::exchange(state().fails, false), "no events");
      TORCH_CHECK(flag == c10::EventFlag::BACKEND_DEFAULT, "an event without a time");
      if (*event == nullptr) {
        *event = new Event{};
        ++state().events;
        ++state().events_made;
      }
      static_cast<Event*>(*event)->time = state().queued;
    }
    void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
      --state().events;
      delete static_cast<Event*>(event);
    }
    bool queryEvent(void* event) const override {
      return static_cast<Event*>(event)->time <= state().finished;
    }
    double elapsedTime(void* begin, void* end, const c10::DeviceIndex) const override {
      return 1000 * (static_cast<Event*>(end)->time - static_cast<Event*>(begin)->time);
    }
    void synchronizeEvent(void* event) const override {
      wait_until(static_cast<Event*>(event)->time);
    }
    void synchronizeStream(const c10::Stream&) const override { wait_until(state().queued); }
    void synchronizeDevice(const c10::DeviceIndex) const { wait_until(state().queued); }
  };
};
