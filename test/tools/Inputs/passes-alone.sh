#!/usr/bin/env bash
# Runs each pass alone on what each phase leaves: it does its work, or says in one error why it cannot; nothing else.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: passes-alone.sh MODULE...
set -u
passes=$(weft-opt --help | sed -n '/^ *Passes:$/,/^ *Pass Pipelines:$/p' | sed -nE 's/^ {6}(--[a-z][a-z-]*) .*/\1/p')
alone() { # PASS MODULE
  local said code=0
  said=$(timeout 600 weft-opt "$1" "$2" -o /dev/null 2>&1) || code=$?
  case $code in
    0) echo ran ;;
    1) grep -q 'error: ' <<< "$said" && echo refused || echo "WRONG: $1 $2 ends without a word" ;;
    *) echo "WRONG: $1 $2 ends with $code: $(head -n 1 <<< "$said")" ;;
  esac
}
export -f alone
for module in "$@"; do
  for pass in $passes; do printf '%s %s\n' "$pass" "$module"; done
done | xargs -P "$(nproc)" -L 1 bash -c 'alone "$@"' alone | sort | uniq -c
