// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/flat_layout.h>

#include "support/doctest.h"
