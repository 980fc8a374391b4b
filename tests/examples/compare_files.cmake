# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# `compare` writes whole files, where it says, with every promised member, and leaves nothing beside them.
#   cmake -DPROGRAM=<compare> -DFOLDER=<build folder> -P compare_files.cmake

set(folder "${FOLDER}/compare_tiny")
file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
execute_process(COMMAND "${PROGRAM}" --synthetic --limit 10 --batch-size 4 --rounds 7 --device cpu
                        --json compare.json --html report.html --svg charts --trace trace.json
                WORKING_DIRECTORY "${folder}" COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE output)

# The environment first, then the progress, the sentences, where the files are.
if(NOT output MATCHES "^torchamp .*training  24/24.*SimpleCNN in FP32 and with AMP.*AMP bf16.*step, median.*Report: ")
  message(SEND_ERROR "unexpected output:\n${output}")
endif()
foreach(file IN ITEMS compare.json report.html trace.json charts/time.svg charts/memory.svg charts/series-loss.svg
                      charts/series-step_seconds.svg)
  if(NOT EXISTS "${folder}/${file}")
    message(SEND_ERROR "${file} was not written")
  endif()
endforeach()
foreach(path IN ITEMS compare.json report.html trace.json charts)
  string(FIND "${output}" "${folder}/${path}\n" place)
  if(place EQUAL -1)
    message(SEND_ERROR "the output does not say where ${path} is:\n${output}")
  endif()
endforeach()
file(GLOB_RECURSE partial "${folder}/*.partial")
if(partial)
  message(SEND_ERROR "${partial} was left")
endif()

file(READ "${folder}/report.html" page)
if(NOT page MATCHES "^<!DOCTYPE html>.*SimpleCNN in FP32 and with AMP.*test accuracy.*</html>")
  message(SEND_ERROR "report.html is not the page that was expected")
endif()

file(READ "${folder}/compare.json" json)
foreach(member IN ITEMS torchamp libtorch compiler cpu threads device data train_images test_images batch_size seed)
  string(JSON value GET "${json}" environment ${member} value)
endforeach()
string(JSON variants LENGTH "${json}" variants)
if(NOT variants EQUAL 2)
  message(SEND_ERROR "expected 2 variants, got ${variants}")
endif()
foreach(variant IN ITEMS 0 1)
  foreach(metric IN ITEMS step_seconds step_seconds_p95 items_per_second peak_bytes final_loss test_accuracy
                          operators casts)
    string(JSON value GET "${json}" variants ${variant} metrics ${metric} value)
  endforeach()
  string(JSON phases LENGTH "${json}" variants ${variant} phases)
  if(NOT phases EQUAL 3)
    message(SEND_ERROR "variant ${variant}: expected 3 phases, got ${phases}")
  endif()
  # Three steps to warm up, one for memory, one for operators, and seven that are timed.
  string(JSON losses LENGTH "${json}" variants ${variant} series loss y)
  string(JSON seconds LENGTH "${json}" variants ${variant} series step_seconds y)
  if(NOT losses EQUAL 12 OR NOT seconds EQUAL 7)
    message(SEND_ERROR "variant ${variant}: expected 12 losses and 7 times, got ${losses} and ${seconds}")
  endif()
endforeach()
string(JSON name GET "${json}" variants 1 label)
if(NOT name STREQUAL "AMP bf16")
  message(SEND_ERROR "expected AMP bf16 on a CPU, got ${name}")
endif()
set(sections op_stats underflow)
foreach(section IN ITEMS 0 1)
  list(GET sections ${section} expected)
  string(JSON id ERROR_VARIABLE missing GET "${json}" sections ${section} id)
  if(NOT id STREQUAL expected)
    message(SEND_ERROR "expected the section ${expected} at ${section}, got ${id}")
  endif()
endforeach()
string(JSON rounds GET "${json}" comparisons 0 rounds)
if(NOT rounds EQUAL 7)
  message(SEND_ERROR "expected a comparison of 7 rounds, got ${rounds}")
endif()
