# Checks of command lines, for scripts that source this: $work is a folder that goes with the script.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0 checks=0

# expect CODE PATTERN COMMAND...: the exit code, and a line of stdout or stderr ('' = whatever they are).
expect() {
  local code=$1 pattern=$2
  shift 2
  timeout 60 "$@" >"$work/log" 2>&1
  local found=$?
  checks=$((checks + 1))
  if [ $found -ne "$code" ] || { [ -n "$pattern" ] && ! grep -qE -- "$pattern" "$work/log"; }; then
    failures=$((failures + 1))
    printf 'FAILED: %s\n  exit code %s, expected %s and a line like: %s\n' \
      "$*" $found "$code" "$pattern"
    sed 's/^/  | /' "$work/log" | tail -20
  fi
}

# comes CONDITION: of a shell, which is to hold within a minute.
comes() { expect 0 '' sh -c "until $1; do sleep 0.02; done"; }

# finish LEAST: the script's verdict; fewer checks than LEAST are a failure, too.
finish() {
  echo "$checks checks, $failures failed"
  [ $failures -eq 0 ] && [ $checks -ge "$1" ]
}
