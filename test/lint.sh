#!/usr/bin/env bash
# House rules that a script can check: layering, licence headers, file length, tests that are read.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
cd "$(dirname "$0")/.." || exit 1
failures=0
[ "$(git ls-files 2>/dev/null | wc -l)" -gt 500 ] || { echo "lint: git lists no sources here; a clone is needed"; exit 1; }
report() { # TITLE LINES
  [ -z "$2" ] && return
  printf '%s:\n%s\n' "$1" "$2"
  failures=$((failures + 1))
}

formatter=${CLANG_FORMAT:-clang-format-22}
report "not as clang-format wants it: run $formatter -i" \
  "$(command -v "$formatter" >/dev/null || echo "there is no $formatter: tools/install-deps.sh"
    git ls-files '*.cpp' '*.h' '*.c' '*.cu' '*.cuh' | xargs -P "$(nproc)" -n 50 "$formatter" --dry-run -Werror 2>&1 |
    sed -nE 's/:.* error: .*//p' | sort -u)"
report "comments past 100 columns, which clang-format leaves as they are" \
  "$(git ls-files '*.cpp' '*.h' | xargs awk 'length > 100 && /^ *\/\// { print FILENAME ":" FNR }' | head)"
report "layers: not as the table of docs/architecture.md says" "$(python3 test/house/layers.py . 2>&1)"
report "layout: tests mirror sources by path, passes lie where their flags say" "$(python3 test/house/layout.py . 2>&1)"
report "include guards: not the path; test/house/guards.py --fix . writes them" "$(python3 test/house/guards.py . 2>&1)"
report "names and links of files that are not there" "$(python3 test/house/links.py . 2>&1)"
report "conflict markers" "$(git grep -nE '^(<{7}|>{7}) ' | head)"
report "what an op costs is getComputeClass; only targets and passes/rt ask for a library call" \
  "$(git grep -n getLibraryCall -- '*.cpp' '*.h' '*.td' |
    grep -vE '^(dialects|include/weft/(Interfaces|Target)|lib/(Foundation/)?Target|passes/(rt|cpu|cuda)|test/(dialects|passes/(rt|cpu)|unit/dialects/nn))/' | head)"
report "no licence, on a line of its own, in the first five lines" \
  "$(git ls-files '*.cpp' '*.h' '*.td' '*.c' '*.cu' '*.cuh' '*.sh' '*.py' '*.cmake' | xargs awk 'BEGIN {
      for (i = 1; i < ARGC; ++i) {
        found = 0
        for (n = 0; n < 5 && (getline line < ARGV[i]) > 0; ++n)
          if (line ~ /^((\/\/|#) )?SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception$/) found = 1
        close(ARGV[i])
        if (!found) print ARGV[i]
      }
    }')"
report "files past 600 lines, functions past 100, folders of the runtime past 15 files" "$(python3 test/house/sizes.py . 2>&1)"
report "attributes of nn have their names in dialects/nn/IR" \
  "$(git grep -nE '"nn\.[a-z_]+"' -- '*.cpp' '*.h' | grep -vE '^(dialects/nn|test)/' | head)"
report "CHECK lines that no FileCheck reads" \
  "$(git ls-files 'test/*.mlir' 'test/*.test' | xargs -r grep -lE '^(//|#) *[A-Z-]*CHECK' | xargs -r grep -LE 'FileCheck')"
report "'// -----' without --split-input-file" \
  "$(git ls-files 'test/*.mlir' | xargs -r grep -lE '^// -----' | xargs -r grep -LE 'split-input-file')"
report "lit tests without a RUN line" \
  "$(git ls-files 'test/*.mlir' | grep -v /Inputs/ | xargs -r grep -L 'RUN:')"
report "errors that no test holds" "$(python3 test/house/untested-errors.py --ratchet 60 2>&1)"
report "forms of failure" "$(python3 test/house/failures.py --ratchet 17 2>&1)"
report "paths of one machine" \
  "$(git grep -nE "(^|[^[:alnum:]_./-])$(printf %s "$PWD" | sed 's/[^[:alnum:]_/-]/\\&/g')/" | head)"
report "errors and warnings are told by tellError and tellWarning, which bound and escape them" \
  "$(git grep -nE 'errs\(\) <<.*(error|warning): ' -- 'lib/*.cpp' 'passes/*.cpp' 'dialects/*.cpp' 'tools/*.cpp' 'python_free_frontend/*.cpp' | head)"
report "mains that a limit on the size of files ends: surviveFailedWrites is how they begin" \
  "$(git grep -lE '^int main\(' -- tools runtime/main | xargs grep -L surviveFailedWrites)"
report "tools that tools/quickstart.sh runs without having built them" \
  "$(comm -13 <(sed -n 's/^cmake --build.*--target //p' tools/quickstart.sh | tr ' ' '\n' | sort) \
    <(grep -ohE '\$bin"?/weft-[a-z]+' tools/quickstart.sh test/real-models/minilm.sh | grep -oE 'weft-[a-z]+' | sort -u))"
report "TODO without an issue number" \
  "$(git grep -nE 'TODO' -- '*.cpp' '*.h' '*.td' | grep -vE 'TODO\(#[0-9]+\): .+' | head)"
[ $failures -eq 0 ] && echo "lint: clean" || { echo "lint: $failures rule(s) broken"; exit 1; }
