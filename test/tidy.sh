#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy; says what it finds, and fails then.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: tidy.sh [--part K/N | --by-day] [--compiler [FOLDER...] | --changed [COMMITS] | --all | FILE...]
#   (default: the runtime; --compiler: the compiler, or some folders of it, through its precompiled header and without the two
#   checks that walk through all of MLIR's headers, 4 to 5 processor seconds a file; --changed: of these files those that the
#   last 10 commits, or so many, and the working tree touch; --all: every check on every file, half an hour on two cores;
#   --part: of any of these each Nth file, from number K of 0 to N-1; --by-day: each second one, the others on the next day,
#   and all of them with WEFT_TEST_FULL=1)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${WEFT_BUILD:-build/release}
tidy=${CLANG_TIDY:-clang-tidy-22}
command -v "$tidy" > /dev/null || { echo "there is no $tidy: tools/install-deps.sh"; exit 1; }
[ -f "$build/compile_commands.json" ] || { echo "there is no $build/compile_commands.json: configure first"; exit 1; }
part=0/1
[ "${1:-}" != --part ] || { part=$2 && shift 2; }
[ "${1:-}" != --by-day ] || { shift && { [ -n "${WEFT_TEST_FULL:-}" ] || part=$(($(date +%s) / 86400 % 2))/2; }; }
checks=() compiler=(--checks=-readability-identifier-naming,-readability-redundant-declaration)
of_compiler() { grep -E '\.cpp$' | grep -vE '^(test|runtime)/' | sort -u; }
case "${1:-}" in
  "") files=$(git ls-files 'runtime/*.cpp') ;;
  --compiler)
    files=$(git ls-files "${@:2}" | of_compiler)
    checks=("${compiler[@]}") ;;
  --changed)
    files=$({ git log -n "${2:-10}" --name-only --format= && git diff --name-only HEAD; } | of_compiler)
    checks=("${compiler[@]}") ;;
  --all) files=$(git ls-files '*.cpp' | grep -v '^test/') ;;
  *) files=$* ;;
esac
files=$(echo "$files" | awk -v k="${part%/*}" -v n="${part#*/}" 'NR % n == k')
# Plugins of machines that have no MPI are not compiled.
files=$(for file in $files; do grep -q "/$file\"" "$build/compile_commands.json" && echo "$file"; done)
[ -n "$files" ] || [ "${1:-}" != --changed ] || { echo "the compiler is as it was"; exit 0; }
[ -n "$files" ] || { echo "there is nothing to check: no such file is compiled in $build"; exit 1; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# Told as it is found; what stands in a header is found by all that include it.
echo "$files" | xargs -P "$(nproc)" -n 2 "$tidy" -p "$build" --quiet "${checks[@]}" 2> "$out/errors" |
  awk -v here="$PWD/" '/ (warning|error): / && !seen[$0]++ { sub("^" here, ""); print; fflush() }' | tee "$out/found"
status=${PIPESTATUS[1]}
echo "$(echo "$files" | wc -l) files checked in $SECONDS s"
[ ! -s "$out/found" ] || exit 1
[ $status -eq 0 ] || { echo "$tidy failed"; grep -v 'warnings generated' "$out/errors" | tail; exit 1; }
