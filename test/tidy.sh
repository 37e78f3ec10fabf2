#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy; says what it finds, and fails then.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: tidy.sh [--compiler [FOLDER...] | --all | FILE...]
#   (default: the runtime; --compiler: the compiler, or some folders of it, through its precompiled header and without the two
#   checks that walk through all of MLIR's headers; --all: every check on every file, which takes half an hour on two cores)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${WEFT_BUILD:-build/release}
tidy=${CLANG_TIDY:-clang-tidy-22}
command -v "$tidy" > /dev/null || { echo "there is no $tidy: tools/install-deps.sh"; exit 1; }
[ -f "$build/compile_commands.json" ] || { echo "there is no $build/compile_commands.json: configure first"; exit 1; }
checks=()
case "${1:-}" in
  "") files=$(git ls-files 'runtime/*.cpp') ;;
  --compiler)
    files=$(git ls-files "${@:2}" | grep -E '\.cpp$' | grep -vE '^(test|runtime)/')
    checks=(--checks=-readability-identifier-naming,-readability-redundant-declaration) ;;
  --all) files=$(git ls-files '*.cpp' | grep -v '^test/') ;;
  *) files=$* ;;
esac
# Plugins of machines that have no MPI are not compiled.
files=$(for file in $files; do grep -q "/$file\"" "$build/compile_commands.json" && echo "$file"; done)
[ -n "$files" ] || { echo "there is nothing to check: no such file is compiled in $build"; exit 1; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
echo "$files" | xargs -P "$(nproc)" -n 4 "$tidy" -p "$build" --quiet "${checks[@]}" > "$out/found" 2> "$out/errors"
status=$?
grep -E ' (warning|error): ' "$out/found" | sed "s|^$PWD/||" | sort -u
echo "$(echo "$files" | wc -l) files checked in $SECONDS s"
! grep -qE ' (warning|error): ' "$out/found" || exit 1
[ $status -eq 0 ] || { echo "$tidy failed"; grep -v 'warnings generated' "$out/errors" | tail; exit 1; }
