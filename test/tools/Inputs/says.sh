# For tables of commands, exit codes and words: sourced by a script, which ends with `told`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
failures=0 checks=0

# says CODE 'REGEX' COMMAND...: its exit code, and a line of what it prints.
says() { expects "a line like" -E "$@"; }
# tells CODE 'TEXT' COMMAND...: the same of words that are no expression, in one error.
tells() { expects "one error with" -F "$@"; }

expects() { # WHAT -E|-F CODE WORDS COMMAND...
  local what=$1 how=$2 code=$3 words=$4 found
  shift 4
  checks=$((checks + 1))
  "$@" >said 2>&1 </dev/null
  found=$?
  [ $found -eq "$code" ] && grep -q "$how" -- "$words" said && { [ "$how" = -E ] || [ "$(grep -c 'error: ' said)" = 1 ]; } && return
  failures=$((failures + 1))
  printf 'FAILED: %s\n  exit code %s, expected %s and %s: %s\n' "$*" $found "$code" "$what" "$words"
  head -12 said | sed 's/^/  | /'
}
# silent REGEX COMMAND...: nothing like it is said.
silent() {
  local words=$1
  shift
  checks=$((checks + 1))
  "$@" >said 2>&1 </dev/null && ! grep -qE -- "$words" said && return
  failures=$((failures + 1))
  printf 'FAILED: %s\n  says: %s\n' "$*" "$words"
  head -5 said
}
# told: how many of how many failed, and whether any did.
told() {
  echo "$((checks - failures)) of $checks are told as they should be"
  [ $failures = 0 ]
}
