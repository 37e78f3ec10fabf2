#!/bin/sh
# curves.sh A.jsonl B.jsonl STEPS TOLERANCE: the logs have so many steps, and loss, grad_norm and lr agree so far, relatively.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
fields() { sed -E 's/.*"step":([0-9]+),"loss":([^,]*),"grad_norm":([^,]*),"lr":([^,]*),.*/\1 \2 \3 \4/' "$1"; }
fields "$1" > "$1.fields" && fields "$2" > "$2.fields" || exit 1
paste -d' ' "$1.fields" "$2.fields" | awk -v steps="$3" -v tolerance="$4" '
  { if (NF != 8 || $1 != NR - 1 || $5 != $1) bad = 1
    for (i = 2; i <= 4; ++i) {
      difference = $i - $(i + 4); if (difference < 0) difference = -difference
      size = $i < 0 ? -$i : $i
      if (!(difference <= tolerance * size)) bad = 1
      if (size > 0 && difference / size > worst) worst = difference / size } }
  END { printf "curves: %d steps, largest relative difference %.3g\n", NR, worst; exit bad || NR != steps }'
