#!/bin/sh
# Prints docs/command-line.md: what each tool says to --help. The tools are in PATH.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
cat <<'END'
# Command lines

What `--help` of each tool prints, so that it can be searched in one place. This page is made by `test/docs/command-line.sh` and held to the tools by
`test/docs/command-line.test`: change the help, then run `PATH=build/release/bin:$PATH test/docs/command-line.sh > docs/command-line.md`. `weft-opt --help`, whose
passes are LLVM's and ours, is too long for it.

Of a flag that is given twice the last one counts, so that what a script says can be overruled; flags of which there may be many, such as
`--input`, `--bind` and `--place`, add up.
END
for tool in weft-compile weft-plan weft-run weft-translate weft-data weft-schedule weft-iopddl; do
  printf '\n## %s\n```text\n' "$tool"
  "$tool" --help 2>&1 || exit 1
  printf '```\n'
done
