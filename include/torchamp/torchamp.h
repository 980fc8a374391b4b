// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

// The umbrella: what a training loop needs. Larger programs compile faster with the single headers,
// which include only the parts of LibTorch that they use. Diagnostics, comparisons and reports are
// not in it, so that those who do not use them do not compile them: include <torchamp/diagnose/…>,
// <torchamp/bench/…>, <torchamp/report/…> by name.
#include <torchamp/bench/scoped_timer.h>
#include <torchamp/core/amp_optimizer.h>
#include <torchamp/core/autocast.h>
#include <torchamp/core/autocast_state.h>
#include <torchamp/core/custom_function.h>
#include <torchamp/core/device.h>
#include <torchamp/core/grad_scaler.h>
#include <torchamp/core/grad_scaler_state.h>
#include <torchamp/core/linear.h>
#include <torchamp/core/loss_scale.h>
#include <torchamp/core/overflow_listener.h>
#include <torchamp/core/scripted_module.h>
#include <torchamp/core/step_result.h>
#include <torchamp/core/step_scheduler.h>
#include <torchamp/io/archive.h>
#include <torchamp/io/python_state.h>
#include <torchamp/io/state_archive.h>
#include <torchamp/optim/clip_grad.h>
#include <torchamp/optim/clip_scaled_grad.h>
#include <torchamp/optim/flat_parameters.h>
#include <torchamp/optim/fused_adagrad.h>
#include <torchamp/optim/fused_adam.h>
#include <torchamp/optim/fused_adamw.h>
#include <torchamp/optim/fused_sgd.h>
#include <torchamp/optim/master_weights.h>
#include <torchamp/probe/memory.h>
#include <torchamp/probe/timer.h>
#include <torchamp/report/json.h>
#include <torchamp/report/statistics.h>
#include <torchamp/report/table.h>
#include <torchamp/version.h>

#include <torch/torch.h>
