#!/usr/bin/env bash
# Plants the bugs of bugs.txt into a copy of the sources, one at a time: do the tests notice?
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: planted.sh check [TREE]              each bug still applies: its text is there, exactly once, and its tests are, too
#        planted.sh copy FOLDER               copies the tracked files to FOLDER and builds them in FOLDER/build/release
#        planted.sh run FOLDER... [-R REGEX] [--part K/N]
#                                             plants those whose name matches into such copies, one at a time in each; of
#                                             these the K-th (from 0) of every N
#
# `run` first wants the named tests to pass without any bug. Then per bug it builds what the named tests need and runs
# them; if none fails, a wider set. At least 95 of 100 bugs must be caught, and each must compile.
#
# Where mounts are allowed, a copy is built and tested in the place of this tree, with processes of its own: then ccache
# has its objects.
set -uo pipefail
# It is the default volumes that must notice.
unset WEFT_TEST_FULL
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=$root/build/release
table=$here/bugs.txt
least=100 percent=95 seconds=300
wide="runtime_unit runtime_cli runtime_training collectives_inproc_4 emit_unit spmd_unit random_programs golden_compiled
  onnx_node onnx_newest training gradients kernel_numerics compiled_training lit:."

# bugs [REGEX]: one line per bug: name, file, old text, new text, tests; separated by \x1f.
bugs() {
  awk -v only="${1:-.}" '
    /^#/ || /^$/ { next }
    { word = $1; rest = substr($0, length(word) + 2) }
    word == "bug" { name = rest } word == "in" { file = rest } word == "-" { old = rest } word == "+" { new = rest }
    word == "by" { if (name ~ only) printf "%s\037%s\037%s\037%s\037%s\n", name, file, old, new, rest
                   name = file = old = new = "" }
    word !~ /^(bug|in|-|[+]|by)$/ { print "bugs.txt, line " NR ": what is " word "?" > "/dev/stderr"; exit 1 }' "$table"
}

# chosen REGEX [K/N]: of those the K-th of every N, neighbours in different parts; all without a part.
chosen() {
  local part=${2:-${WEFT_PLANTED_PART:-0/1}}
  bugs "$1" | awk -v k="${part%/*}" -v n="${part#*/}" '(NR - 1) % n == k'
}

# replace FILE OLD NEW: prints FILE with the one OLD replaced; fails unless there is exactly one.
replace() {
  OLD=$2 NEW=$3 awk '
    { at = index($0, ENVIRON["OLD"])
      if (at) { ++found
        tail = substr($0, at + length(ENVIRON["OLD"]))
        if (index(tail, ENVIRON["OLD"])) ++found
        $0 = substr($0, 1, at - 1) ENVIRON["NEW"] tail }
      print }
    END { exit found != 1 }' "$1"
}

# names_tests TREE TESTS: whether each is the name of a lit test, or of a ctest as CMake lists write it.
names_tests() {
  local test
  for test in $2; do
    case "$test" in
      lit:*) grep -qE "${test#lit:}" <<< "$lits" ;;
      *_[0-9]*) grep -qF "${test%_*}_\${" <<< "$ctests" ;;
      onnx_*) grep -qF "weft_add_onnx_cases(${test#onnx_} " <<< "$ctests" ;;
      *) grep -qE "(NAME |weft_add_(far|cuda)_test\()$test( |\$)" <<< "$ctests" ;;
    esac || return 1
  done
}

check() {
  local lits ctests tree=$1 count=0 wrong=0 name file old new tests
  lits=$(cd "$tree/test" && find . -name '*.test' -o -name '*.mlir')
  ctests=$(find "$tree/test" -name CMakeLists.txt -exec cat {} +)
  while IFS=$'\x1f' read -r name file old new tests; do
    count=$((count + 1))
    if [ -z "$name" ] || [ -z "$old" ] || [ -z "$tests" ] || [ "$old" = "$new" ] || [ ! -f "$tree/$file" ]; then
      echo "$name: incomplete, or there is no $file"
    elif ! replace "$tree/$file" "$old" "$new" >/dev/null; then
      echo "$name: $file has $(grep -cF -- "$old" "$tree/$file") lines with: $old"
    elif ! names_tests "$tree" "$tests"; then
      echo "$name: no test is called as one of: $tests"
    else
      continue
    fi
    wrong=$((wrong + 1))
  done < <(bugs)
  local twice
  twice=$(bugs | cut -d$'\x1f' -f1 | sort | uniq -d)
  [ -z "$twice" ] || { echo "names that are there twice: $twice"; wrong=$((wrong + 1)); }
  diff <(bugs | sort) <(for part in 0/3 1/3 2/3; do chosen . $part; done | sort) >/dev/null ||
    { echo "three parts are not all bugs, each once"; wrong=$((wrong + 1)); }
  echo "$count bugs, $wrong do not apply; at least $least"
  [ $wrong -eq 0 ] && [ $count -ge $least ]
}

# targets TEST: what must be built for it. Scripts get programs as arguments, or the folder of all of them.
targets() {
  local tools="weft-compile weft-run weft-opt weft-plan weft-reduce weft-toy weft-translate weft-data weft-schedule weft-iopddl"
  tools+=" weft-lsp-server weft-spmd-check weft-cuda-kernels weft_runtime"
  [ "${1%%:*}" != lit ] || { echo "$tools"; return; }
  ctest --test-dir "$build" -N -V -R "^$1\$" 2>/dev/null | sed -n 's/^[0-9]*: Test command: //p' | tr -d '"' | tr ' ' '\n' |
    while read -r word; do
      [ "$word" != "$build/bin" ] || echo "$tools"
      case "$word" in "$build"/bin/*) [ -f "$word" ] && basename "$word" ;; esac
    done
}

# passes TEST: runs it; its output stays in $work/log.
passes() {
  if [ "${1%%:*}" = lit ]; then
    timeout $((2 * seconds)) "$lit" -sv "$build/test" --filter "${1#lit:}" >"$work/log" 2>&1
  else
    ctest --test-dir "$build" -R "^$1\$" --timeout $seconds --output-on-failure >"$work/log" 2>&1 &&
      ! grep -q 'No tests were found' "$work/log"
  fi
}

build() { # shellcheck disable=SC2046
  cmake --build "$build" -j "$jobs" --target $(for test in $1; do targets "$test"; done | tr ' ' '\n' | sort -u) \
    >"$work/build.log" 2>&1
}

# caught TESTS: the first test that fails, if any.
caught() {
  local test
  for test in $1; do
    passes "$test" || { echo "$test"; return; }
  done
  return 1
}

# prepare: finds lit and a folder for logs.
prepare() {
  lit=$(sed -n 's/^LLVM_TOOLS_BINARY_DIR:.*=//p' "$build/CMakeCache.txt")
  lit=${lit:-$(llvm-config-22 --bindir 2>/dev/null || echo /usr/lib/llvm-22/bin)}/lit
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
}

# sound SHARE SHARES ONLY: whether this tree passes every SHARES-th of the tests of the bugs whose name matches ONLY.
sound() {
  local tests by jobs
  jobs=$((($(nproc) + $2 - 1) / $2))
  prepare
  tests=$(chosen "$3" | cut -d$'\x1f' -f5 | tr ' ' '\n' | sort -u | awk -v share="$1" -v shares="$2" 'NR % shares == share')
  if ! build "$tests"; then
    echo "the copy does not build; was it made with mounts, and may not mount now?"
    tail -20 "$work/build.log"
    return 1
  fi
  by=$(caught "$tests") || return 0
  echo "$by fails without any bug"
  tail -20 "$work/log"
  return 1
}

# plant SHARE SHARES ONLY: in this tree every SHARES-th bug from SHARE on; writes their numbers to descriptor 4.
plant() {
  local share=$1 shares=$2 only=$3 planted=0 found=0 broken=0 missed="" name file old new tests by
  local jobs=$((($(nproc) + shares - 1) / shares))
  prepare
  while IFS=$'\x1f' read -r name file old new tests <&3; do
    planted=$((planted + 1))
    cp -p "$root/$file" "$work/clean"
    replace "$work/clean" "$old" "$new" >"$root/$file"
    if ! build "$tests"; then
      broken=$((broken + 1))
      echo "BROKEN   $name: does not compile"
      grep -m 3 'error' "$work/build.log" | sed 's/^/  | /'
    elif by=$(caught "$tests"); then
      found=$((found + 1))
      echo "caught   $name by $by"
    elif [ -z "${WEFT_PLANTED_NARROW:-}" ] && build "$wide" && by=$(caught "$wide"); then
      found=$((found + 1))
      echo "caught   $name by $by, not by $tests"
    else
      missed+=" $name"
      echo "MISSED   $name by $tests"
    fi
    # A newer date than the planted file's, so that it is built again.
    cp "$work/clean" "$root/$file"
  done 3< <(chosen "$only" | awk -v share="$share" -v shares="$shares" 'NR % shares == share')
  echo "$planted $found $broken$missed" >&4
}

# in_place FOLDER COMMAND...: runs it with FOLDER in the place of this tree, and with processes, shared memory and a folder
# for temporary files of its own, as numbers of processes are names of files there.
in_place() {
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --mount-proc --ipc --kill-child bash -c '
    mkdir -p "$0/build/tmp" && mount --bind "$0" "$1" && cd "$1" && mount --bind "$1/build/tmp" /tmp &&
      mount -t tmpfs tmpfs /dev/shm && "${@:2}"' "$1" "$root" "${@:2}"
}

# inside FOLDER COMMAND...: the copy's own script, with the copy in the place of this tree where mounts are allowed.
inside() {
  local folder=$1
  shift
  if in_place "$folder" test -x "$here/planted.sh" 2>/dev/null; then
    in_place "$folder" "$here/planted.sh" "$@"
  else
    "$folder/test/faults/planted/planted.sh" "$@"
  fi
}

# run FOLDER... [-R REGEX]: the copies share the bugs.
run() {
  local trees=() sounds=() only=. share planted found broken missed shares=0 sum=0 caught=0 bad=0 names=""
  while [ $# -gt 0 ]; do
    case "$1" in
      -R) only=${2:?a regular expression}; shift ;;
      --part)
        [[ ${2:-} =~ ^([0-9]+)/([1-9][0-9]*)$ && ${BASH_REMATCH[1]} -lt ${BASH_REMATCH[2]} ]] ||
          { echo "--part wants K/N with K below N, such as 0/3"; return 2; }
        export WEFT_PLANTED_PART=$2
        shift ;;
      *) trees+=("$(cd "$1" && pwd)") || return 1 ;;
    esac
    shift
  done
  for share in "${trees[@]}"; do
    cmp -s "$table" "$share/test/faults/planted/bugs.txt" ||
      { echo "$share is a copy of other sources; copy again"; return 1; }
  done
  check "${trees[0]}" || return 1
  for share in "${!trees[@]}"; do
    inside "${trees[$share]}" sound "$share" ${#trees[@]} "$only" &
    sounds+=($!)
  done
  for share in "${sounds[@]}"; do wait "$share" || bad=1; done
  [ $bad -eq 0 ] || return 1
  counts=$(mktemp)
  trap 'rm -f "$counts"' EXIT
  for share in "${!trees[@]}"; do
    inside "${trees[$share]}" plant "$share" ${#trees[@]} "$only" 4>>"$counts" &
  done
  wait
  while read -r planted found broken missed; do
    shares=$((shares + 1))
    sum=$((sum + planted)) caught=$((caught + found)) bad=$((bad + broken)) names+="${missed:+ $missed}"
  done <"$counts"
  echo "$sum bugs planted, $caught caught, $bad do not compile${names:+; missed:$names}"
  [ $shares -eq ${#trees[@]} ] && [ $sum -gt 0 ] && [ $bad -eq 0 ] && [ $((caught * 100)) -ge $((sum * percent)) ]
}

# copy FOLDER: the tracked files. What differs gets the date of now, what does not keeps its own: an older one than that of
# a bug's object would leave the bug in.
copy() {
  local file
  mkdir -p "$1" || return 1
  while IFS= read -r -d '' file; do
    [ ! -f "$root/$file" ] || cmp -s "$root/$file" "$1/$file" ||
      { mkdir -p "$(dirname "$1/$file")" && cp --preserve=mode "$root/$file" "$1/$file"; } || return 1
  done < <(git -C "$root" ls-files -z)
  inside "$(cd "$1" && pwd)" make
}

make() {
  cd "$root" && cmake --preset release >/dev/null && cmake --build --preset release -- --quiet
}

# make, sound and plant are for this script, which runs them in copies.
case "${1:-}" in
  check) check "${2:-$root}" ;;
  copy) copy "${2:?a folder}" ;;
  run) shift; run "${@:?a folder made by copy}" ;;
  make | sound | plant) "$@" ;;
  *) sed -n 's/^# \{0,1\}//; 5,9p' "$0" >&2; exit 2 ;;
esac
