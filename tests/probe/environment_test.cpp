// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/environment.h>

#include "support/doctest.h"
#include "support/fake_device.h"
#include "support/scratch_folder.h"

#include <ATen/Parallel.h>

#include <filesystem>
#include <optional>
#include <string>

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// One in which nothing depends on the machine.
torchamp::Environment invented() {
  torchamp::Environment environment;
  environment.torchamp = "0.1.0";
  environment.libtorch = "2.11.0";
  environment.cxx11_abi = true;
  environment.cpp_standard = 17;
  environment.compiler = "GCC 12.2.0";
  environment.optimized = true;
  environment.cpu = "Some CPU";
  environment.cpu_capability = "AVX2";
  environment.threads = 4;
  environment.interop_threads = 2;
  return environment;
}

}  // namespace

TEST_CASE("environment() tells the versions and the threads that are in use") {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const auto environment = torchamp::environment();
  at::set_num_threads(before);

  CHECK(environment.torchamp == torchamp::version);
  CHECK(environment.libtorch == TORCH_VERSION);
  CHECK(environment.cpp_standard >= 17);
  CHECK(environment.threads == 1);
#ifdef _GLIBCXX_USE_CXX11_ABI
  CHECK(environment.cxx11_abi == (_GLIBCXX_USE_CXX11_ABI != 0));
#endif
  CHECK(environment.interop_threads >= 1);
  CHECK_FALSE(environment.cpu.empty());
  CHECK(environment.cpu_capability == at::get_cpu_capability());
#ifdef NDEBUG
  CHECK_FALSE(environment.assertions);
#else
  CHECK(environment.assertions);
#endif
#ifdef __OPTIMIZE__
  CHECK(environment.optimized);
#elif defined(__GNUC__)
  CHECK_FALSE(environment.optimized);  // whatever NDEBUG says
#endif
}

TEST_CASE("environment() lists the accelerators that are there, and no other device") {
  const auto environment = torchamp::environment();

  CHECK(environment.devices.empty() == !torchamp::detail::usable_accelerator().has_value());
  for (const auto& device : environment.devices) {
    CHECK(device.name.rfind(environment.accelerator + ":", 0) == 0);
  }
}

TEST_CASE("A device that does not answer is listed by its name, with nothing else") {
  const FakeDevice fake;

  const auto devices = torchamp::detail::accelerators(fake.device.type());

  REQUIRE(devices.size() == 1);
  CHECK(devices[0].name == fake.device.str());
  CHECK_FALSE(devices[0].model.has_value());
  CHECK_FALSE(devices[0].native_dtypes.has_value());
  CHECK_FALSE(devices[0].total_bytes.has_value());
}

TEST_CASE("An environment as text has a line for each fact") {
  CHECK(invented().text() ==
        "torchamp     0.1.0\n"
        "LibTorch     2.11.0, cxx11 ABI\n"
        "compiler     GCC 12.2.0, C++17\n"
        "CPU          Some CPU, AVX2, no bfloat16 in hardware\n"
        "threads      4 for an operator, 2 for operators side by side\n"
        "accelerator  none, LibTorch is built without\n");
}

TEST_CASE("An environment says what is out of the ordinary") {
  auto environment = invented();
  environment.cxx11_abi = false;
  environment.optimized = false;
  environment.assertions = true;
  environment.cpu_native_bf16 = true;
  environment.accelerator = "cuda";

  const auto text = environment.text();

  CHECK(has(text, "2.11.0, pre-cxx11 ABI\n"));
  CHECK(has(text, "C++17, not optimized, with assertions (no NDEBUG)\n"));
  CHECK(has(text, "AVX2, bfloat16 in hardware\n"));
  CHECK(has(text, "none found, LibTorch is built for cuda\n"));
}

TEST_CASE("An environment says nothing of an ABI where there is only one") {
  auto environment = invented();
  environment.cxx11_abi = std::nullopt;

  CHECK(has(environment.text(), "LibTorch     2.11.0\n"));
}

TEST_CASE("An environment shows of a device what is known, and nothing else") {
  auto environment = invented();
  environment.accelerator = "cuda";
  torchamp::DeviceFacts known;
  known.name = "cuda:0";
  known.model = "NVIDIA H200";
  known.compute_capability = "8.0 or newer";
  known.native_dtypes = {torch::kHalf, torch::kBFloat16};
  known.total_bytes = 8'000'000'000;
  known.free_bytes = 6'000'000'000;
  torchamp::DeviceFacts unknown;
  unknown.name = "cuda:1";
  torchamp::DeviceFacts sized;
  sized.name = "cuda:2";
  sized.total_bytes = 4'000'000'000;
  environment.devices = {known, unknown, sized};

  CHECK(has(environment.text(),
            "accelerator  cuda:0, NVIDIA H200, compute capability 8.0 or newer, in hardware float16"
            " and bfloat16, 8000 MB, of which 6000 MB free\n"
            "accelerator  cuda:1\n"
            "accelerator  cuda:2, 4000 MB\n"));
}

TEST_CASE("A value is read from a file of Linux by its label") {
  const ScratchFolder folder;
  const auto path = folder.write("info",
                                 "Model name x: no\n"
                                 "model name\t: Some CPU @ 3 GHz: fast \t\n"
                                 "model name\t: another\n"
                                 "empty :  \n");
  using torchamp::detail::value_in_file;

  CHECK(value_in_file(path, "model name") == "Some CPU @ 3 GHz: fast");
  CHECK(value_in_file(path, "Model name").empty());
  CHECK(value_in_file(path, "empty").empty());
  CHECK(value_in_file(path, "missing").empty());
  CHECK(value_in_file(folder.path() / "no such file", "model name").empty());
}

TEST_CASE("GPUs have a model's name only if all have the same") {
  const ScratchFolder folder;
  const auto add = [&](const std::string& name, const std::string& model) {
    std::filesystem::create_directory(folder.path() / name);
    folder.write(name + "/information", "Model: \t\t " + model + "\nIRQ:   \t\t 0\n");
  };
  using torchamp::detail::nvidia_model;

  CHECK_FALSE(nvidia_model(folder.path() / "no such folder").has_value());
  CHECK_FALSE(nvidia_model(folder.path()).has_value());
  add("0000:01:00.0", "NVIDIA H200");
  add("0000:02:00.0", "NVIDIA H200");
  CHECK(nvidia_model(folder.path()) == "NVIDIA H200");
  add("0000:03:00.0", "NVIDIA T4");
  CHECK_FALSE(nvidia_model(folder.path()).has_value());
}
