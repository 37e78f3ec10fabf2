#!/usr/bin/env bash
# Solves the instances of the ASPLOS/EuroSys 2025 contest (github.com/google/iopddl) that lie in a folder.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: iopddl.sh FOLDER [SECONDS] [THREADS]
# Prints cost and bound of each as shares of the best cost that is known, and their geometric mean. WEFT_BIN: where the tools are.
set -u
folder=$1 seconds=${2:-60} threads=${3:-2}
bin=${WEFT_BIN:-$(dirname "$0")/../../build/release/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Those that were published with the contest's results; B and S are proven.
declare -A best=([A]=6548641531 [B]=532843 [G]=217039 [K]=2274276676 [P]=651833115436 [Q]=526776842042 [S]=1511377982 [V]=1632051)
echo "$seconds s, $threads threads, load $(cut -d' ' -f1-3 /proc/loadavg)"
printf '%-24s %14s %10s %10s %8s %8s\n' instance cost "of best" "bound" proven seconds
for file in "$folder"/*.json "$folder"/*.json.gz; do
  [ -f "$file" ] || continue
  name=$(basename "${file%.gz}" .json)
  instance=$file
  case $file in *.gz) instance=$work/$name.json && gunzip -c "$file" > "$instance" ;; esac
  "$bin/weft-iopddl" "$instance" --seconds "$seconds" --threads "$threads" > "$work/line"
  field() { sed -n "s/.*\"$1\":\([^,}]*\).*/\1/p" "$work/line"; }
  awk -v name="$name" -v cost="$(field cost)" -v bound="$(field lower_bound)" -v best="${best[${name##*-}]:-0}" \
    -v proven="$(field optimal)" -v took="$(field seconds)" 'BEGIN {
      printf "%-24s %14s %10s %10s %8s %8s\n", name, cost, best && cost != "null" ? sprintf("%.5f", cost / best) : "-",
             best ? sprintf("%.5f", bound / best) : bound, proven, took }' | tee -a "$work/all"
done
awk '$3 != "-" { sum += log($3); ++count } END { if (count) printf "geometric mean of %d: %.5f\n", count, exp(sum / count) }' "$work/all"
