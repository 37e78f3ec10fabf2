#!/usr/bin/env bash
# The last lines of test/run.sh: what was skipped, by name, and how many tests passed, failed and were skipped.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: summary.sh CTEST-OUTPUT TESTS-OUTPUT [FAILED-BESIDE]   (FAILED-BESIDE: names of what failed outside of ctest)
# Fails if a test failed or none ran.
set -u
log=$1 output=$2 beside=${3:-}
# count WORDS: tests that ctest ended with these words.
count() { grep -cE "^ *[0-9]+/[0-9]+ +Test +#[0-9]+: .*$1" "$log"; }
total=$(count '') passed=$(count ' Passed ') skipped=$(count '\*\*\*Skipped ')
failed=$((total - passed - skipped + $(wc -w <<< "$beside")))
# The lit tests, all of which are one of ctest, that this machine cannot run.
unsupported=$(awk '/^Unsupported Tests/ { on = 1; next } !/^ +weft :: / { on = 0 } on' "$output" | sort -u)
[ -z "$unsupported" ] || skipped=$((skipped + $(wc -l <<< "$unsupported")))
# Tests inside of a program, with the reason that GoogleTest tells in front of them.
inside=$(awk '/^\[ RUN / { why = "" } told { why = $0; told = 0 } /: Skipped$/ { told = 1 }
  /^\[  SKIPPED \] .* \([0-9]+ ms\)$/ { sub(",$", "", $4); print "  " $4 (why == "" ? "" : ": " why) }' "$output" | sort -u)
[ -z "$inside" ] || skipped=$((skipped + $(wc -l <<< "$inside")))
if [ "$total" -eq 0 ]; then
  echo "no test ran"
  exit 1
fi
if [ "$skipped" -gt 0 ]; then
  echo "skipped:"
  sed -nE 's/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: ([^ ]+) .*\*\*\*Skipped.*/  \1/p' "$log"
  [ -z "$unsupported" ] || sed 's/$/, whose requirements are not met/' <<< "$unsupported"
  [ -z "$inside" ] || echo "$inside"
fi
left=$(sed -nE 's/^SKIPPED: (.*)/  \1/p' "$output" | sort -u)
[ -z "$left" ] || printf 'left out of tests that passed:\n%s\n' "$left"
[ -z "$beside" ] || echo "failed beside ctest: $beside"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
