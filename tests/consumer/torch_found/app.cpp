// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/libtorch.h>
#include <torchamp/version.h>

int main() { return torchamp::version[0] == '0' ? 0 : 1; }
