# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# Wrong arguments are refused at once, with a message that names them.
#   cmake -DPROGRAM=<compare> -DFOLDER=<build folder> -P refusals.cmake

set(empty "${FOLDER}/no_data")
file(MAKE_DIRECTORY "${empty}")

# Exit code, what the message says, arguments (parted by blanks).
set(cases
    2 "--epochs: '-1': give a whole number, 1 or more" "--epochs -1"
    2 "--epochs: 'many': give a whole number, 1 or more" "--epochs many"
    2 "--batch-size: '0': give a whole number, 1 or more" "--batch-size 0"
    2 "--seed: '-3': give a whole number, 0 or more" "--seed -3"
    2 "--threads: '0': give a whole number, 1 or more" "--threads 0"
    2 "--dtype: fp8 not in" "--dtype fp8"
    2 "--device: 'abacus': " "--device abacus"
    2 "--device: 'meta': not of a kind that this LibTorch can use" "--device meta"
    2 "Directory does not exist: nowhere" "--data nowhere"
    2 "--rounds: '0': give a whole number, 1 or more" "--rounds 0"
    2 "--nonsense" "--nonsense"
    1 "train-images-idx3-ubyte.gz: expected this file" "--data ${empty}"
    1 "nowhere/x.json: cannot be written" "--synthetic --json nowhere/x.json"
    1 "nowhere/x.html: cannot be written" "--synthetic --html nowhere/x.html"
    1 "no_data: cannot be written: it is a folder" "--synthetic --json ${empty}"
    1 "nowhere/t.json: cannot be written" "--synthetic --trace nowhere/t.json")

while(cases)
  list(POP_FRONT cases code message arguments)
  string(REPLACE " " ";" arguments "${arguments}")
  execute_process(COMMAND "${PROGRAM}" ${arguments} RESULT_VARIABLE got OUTPUT_VARIABLE output ERROR_VARIABLE error
                  TIMEOUT 60)
  string(FIND "${error}" "${message}" place)
  if(NOT got STREQUAL code OR place EQUAL -1)
    message(SEND_ERROR "${arguments}: expected exit code ${code} and \"${message}\", got ${got} and \"${error}\"")
  endif()
  if(output MATCHES "step")
    message(SEND_ERROR "${arguments}: training began before the refusal")
  endif()
endwhile()
