#!/usr/bin/env bash
# Runs the commands that a page shows: every block marked ```sh, in order, in a folder of its own.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: commands.sh [--check] PAGE FOLDER      (weft's tools are in PATH; --check runs nothing)
#
# What readers do not see, in HTML comments before a block:
#   <!-- before: COMMANDS -->      runs them first, to make what the page takes for granted; may have many lines;
#                                  $WEFT_SOURCE is the folder of our sources
#   <!-- stand-in: SED-SCRIPT -->  edits the next block: small sizes for large ones, nothing else
#   <!-- long -->                  runs the next block only with WEFT_TEST_FULL=1
# A block without a mark must not show a command of ours; text is for what tools print.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
runs=1
if [ "$1" = --check ]; then runs=0; shift; fi
page=$(realpath "$1") folder=$2
rm -rf "$folder" && mkdir -p "$folder" || exit 1
# Any text will do, where a page takes this one.
export WEFT_SOURCE=${here%/test/docs}
cp "$WEFT_SOURCE/README.md" "$folder/README.md"
cd "$folder" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# Files block-LINE.sh, in order; block-LINE.sed beside them where there is a stand-in.
awk -v full="${WEFT_TEST_FULL:-}" '
  function name(line) { return sprintf("block-%05d", line) }
  /^<!-- before: .*-->$/ { text = $0; sub(/^<!-- before: /, "", text); sub(/ *-->$/, "", text); print text > (name(NR) ".sh"); next }
  /^<!-- before:$/ { hidden = name(NR) ".sh"; next }
  hidden != "" && /^-->$/ { hidden = ""; next }
  hidden != "" { print > hidden; next }
  /^<!-- stand-in: .*-->$/ { script = $0; sub(/^<!-- stand-in: /, "", script); sub(/ *-->$/, "", script); next }
  /^<!-- long -->$/ { long = 1; next }
  /^```/ && !fence { fence = 1; shown = $0 == "```sh"; bare = $0 == "```"
    file = shown && (!long || full != "") ? name(NR) : ""
    if (file != "" && script != "") print script > (file ".sed")
    script = ""; long = 0; next }
  /^```/ { fence = 0; next }
  fence && bare && /^(\$ )?(weft-|mpirun |tools\/)/ { print FILENAME ":" NR ": a command that no test runs: mark the block ```sh" > "/dev/stderr"; bad = 1 }
  fence && file != "" { print > (file ".sh") }
  END { exit bad }' "$page" || exit 1

[ $runs -eq 1 ] || exit 0
count=0
for block in block-*.sh; do
  [ -e "$block" ] || break
  line=$((10#$(tr -dc 0-9 <<< "$block")))
  [ ! -e "${block%.sh}.sed" ] || sed -i -E -f "${block%.sh}.sed" "$block"
  if ! bash -euo pipefail -x "$block" >"$block.out" 2>&1 </dev/null; then
    echo "$page:$line: failed"
    tail -15 "$block.out"
    exit 1
  fi
  count=$((count + 1))
done
echo "$(basename "$page"): $count blocks ran"
