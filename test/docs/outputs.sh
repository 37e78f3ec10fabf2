#!/usr/bin/env bash
# Compares the outputs that a page shows with real ones: every block ```text right behind a block ```sh.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: outputs.sh [--fill] PAGE      (weft's tools are in PATH, the folder is one to write in; --fill puts them into the page)
set -euo pipefail
fill=0
if [ "$1" = --fill ]; then fill=1; shift; fi
page=$1 shown=$(mktemp -d)
trap 'rm -rf "$shown"' EXIT
# Files N.sh and N.text, and the page with a line "@N" where each text stands.
awk -v dir="$shown" '
  /^```/ && !fence { fence = 1; is_sh = $0 == "```sh"; is_text = $0 == "```text" && last == NR - 1
    if (is_sh) { ++n; file = dir "/" n ".sh" } else file = is_text ? dir "/" n ".text" : ""
    if (is_text) printf "" > file
    print; next }
  /^```/ && fence { fence = 0; if (is_sh) last = NR; if (is_text) print "@" n; print; next }
  { if (fence && file != "") print > file; if (!(fence && is_text)) print }' "$page" > "$shown/page"
count=0
for script in $(cd "$shown" && ls -- *.sh | sort -n); do
  n=${script%.sh}
  bash -euo pipefail "$shown/$script" > "$shown/$n.real"
  [ -e "$shown/$n.text" ] || continue
  if [ $fill -eq 0 ]; then diff "$shown/$n.text" "$shown/$n.real"; fi
  count=$((count + 1))
done
if [ $fill -eq 1 ]; then
  while IFS= read -r line; do
    case $line in @[0-9]*) cat "$shown/${line#@}.real" ;; *) printf '%s\n' "$line" ;; esac
  done < "$shown/page" > "$page.new"
  mv "$page.new" "$page"
fi
echo "$count outputs are as shown"
