# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# `compare --json` writes a whole file with every promised member, and leaves nothing beside it.
#   cmake -DPROGRAM=<compare> -DFOLDER=<build folder> -P compare_json.cmake

set(file "${FOLDER}/compare_tiny.json")
file(REMOVE "${file}")
execute_process(COMMAND "${PROGRAM}" --synthetic --limit 10 --batch-size 4 --epochs 2 --device cpu --json "${file}"
                COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
if(EXISTS "${file}.partial")
  message(SEND_ERROR "${file}.partial was left")
endif()
file(READ "${file}" json)

foreach(member IN ITEMS torchamp libtorch compiler device cpu threads data epochs batch_size seed)
  string(JSON value GET "${json}" environment ${member})
endforeach()
string(JSON runs LENGTH "${json}" runs)
if(NOT runs EQUAL 2)
  message(SEND_ERROR "expected 2 runs, got ${runs}")
endif()
foreach(run IN ITEMS 0 1)
  foreach(member IN ITEMS name dtype step_seconds_median step_seconds_p95 images_per_second peak_bytes final_loss
                          test_accuracy final_scale skipped_steps)
    string(JSON value GET "${json}" runs ${run} ${member})
  endforeach()
  string(JSON losses LENGTH "${json}" runs ${run} losses)
  if(NOT losses EQUAL 4)  # 10 images in whole batches of 4 are 2 steps, twice
    message(SEND_ERROR "run ${run}: expected 4 losses, got ${losses}")
  endif()
endforeach()
string(JSON names GET "${json}" runs 1 name)
if(NOT names STREQUAL "AMP bf16")
  message(SEND_ERROR "expected AMP bf16 on a CPU, got ${names}")
endif()
