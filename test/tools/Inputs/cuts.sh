#!/usr/bin/env bash
# An executable that is cut off at many places behind the beginning of its program says so itself, each time.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: cuts.sh EXECUTABLE; needs GNU ld, which has the program behind all that the system loads
set -u
file=$1
size=$(stat -c %s "$file")
# Of the seal, which is the last 48 bytes: where the program begins.
begin=$(tail -c 48 "$file" | od -An -tu8 -j16 -N8 | tr -d ' ')
# ends PLACE: as a file cut off there should.
ends() {
  head -c "$1" "$file" >cut
  chmod +x cut
  local code
  ./cut --bench >told 2>&1
  code=$?
  [ $code = 1 ] && [ "$(wc -l <told)" = 1 ] &&
    grep -q '^weft: error: this executable does not end as executables of weft-compile do: it is cut off' told
}
wrong=0 cuts=30
for i in $(seq 0 $((cuts - 1))); do
  place=$((begin + (size - 1 - begin) * i / (cuts - 1)))
  ends $place || { wrong=$((wrong + 1)); echo "cut at $place of $size (the program is at $begin): $(cat told)"; }
done
early=0
for i in $(seq 1 10); do ends $((begin * i / 11)) || early=$((early + 1)); done
echo "$wrong of $cuts cuts behind its beginning are not told; the program is the last $(((size - begin) * 100 / size)) % of $size bytes"
echo "$early of 10 cuts before it are not told"
[ $wrong = 0 ]
