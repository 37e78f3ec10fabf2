#!/usr/bin/env bash
# An executable that is cut off anywhere ends in one error: behind the beginning of its program it says so itself, before
# that the system does not start it. Nowhere does it end in a signal. The same of one whose end was never written.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: cuts.sh EXECUTABLE; needs GNU ld, which has the program behind all that the system loads
set -u
file=$1
size=$(stat -c %s "$file")
# Of the seal, which is the last 48 bytes: where the program begins.
begin=$(tail -c 48 "$file" | od -An -tu8 -j16 -N8 | tr -d ' ')
# cut_off PLACE [zeros]: the file as it is before that place, alone or with zeros to its length; runs it.
cut_off() {
  head -c "$1" "$file" >cut
  [ $# = 1 ] || truncate -s "$size" cut
  chmod +x cut
  ./cut --bench >told 2>&1
  code=$?
}
# says, refused: what became of that. Where a name is zeros, kernels and shells have several words for it.
says() {
  [ $code = 1 ] && [ "$(wc -l <told)" = 1 ] &&
    grep -q '^weft: error: this executable does not end as executables of weft-compile do: it is cut off' told
}
refused() { [ $code = 126 ] || [ $code = 127 ] && [ "$(wc -l <told)" = 1 ] && grep -qE "(/cut: |file: |execute: )($1)$" told; }
wrong=0 cuts=30 early=20
for i in $(seq 0 $((cuts - 1))); do
  place=$((begin + (size - 1 - begin) * i / (cuts - 1)))
  cut_off $place
  says || { wrong=$((wrong + 1)); echo "cut at $place of $size (the program is at $begin): $(cat told)"; }
done
echo "$wrong of $cuts cuts behind its beginning are not told; the program is the last $(((size - begin) * 100 / size)) % of $size bytes"
for i in $(seq 1 $early); do
  place=$((begin * i / (early + 1)))
  for rest in "" zeros; do
    cut_off $place $rest
    refused "Input/output error${rest:+|Permission denied|No such file or directory|required file not found}" || { wrong=$((wrong + 1)); echo "cut at $place $rest: code $code: $(cat told)"; }
  done
done
cut_off 500
refused 'Exec format error' || { wrong=$((wrong + 1)); echo "cut in the headers: code $code: $(cat told)"; }
cut_off $begin zeros
says || { wrong=$((wrong + 1)); echo "zeros from the program on: code $code: $(cat told)"; }
echo "$wrong of all cuts end in something else than one error"
[ $wrong = 0 ]
