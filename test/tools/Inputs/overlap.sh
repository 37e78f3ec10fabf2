#!/bin/sh
# overlap.sh TRACE.json LOG.jsonl: both tell the same time of communication, and the log hides no less than the trace's commands.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What stream 0 spends between its commands counts as computation in the log, and is no command in the trace.
sed -nE 's/.*"cat":"([a-z_]+)","ph":"X","pid":([0-9]+),"tid":([0-9]+),"ts":([0-9.]+),"dur":([0-9.]+),.*/event \1 \2 \3 \4 \5/p' "$1" > "$1.events"
sed -nE 's/.*"communication_ms":([0-9.e+-]+),"overlap":([0-9.e+-]+),.*/step \1 \2/p' "$2" > "$2.steps"
cat "$1.events" "$2.steps" | awk '
  $1 == "step" { logged += $2; hidden += $2 * $3; ++steps }
  $1 == "event" { ranks[$3] = 1 }
  $1 == "event" && $2 == "collective" { a = ++n; rank[a] = $3; from[a] = $5; to[a] = $5 + $6; told += $6 / 1000 }
  $1 == "event" && $4 == 0 && $2 != "collective" && $2 != "event_wait" { b = ++m; owner[b] = $3; start[b] = $5; stop[b] = $5 + $6 }
  END {
    for (i = 1; i <= n; ++i)
      for (j = 1; j <= m; ++j)
        if (rank[i] == owner[j] && start[j] < to[i] && stop[j] > from[i])
          inside += ((stop[j] < to[i] ? stop[j] : to[i]) - (start[j] > from[i] ? start[j] : from[i])) / 1000
    for (r in ranks) ++count
    told /= count; inside /= count
    printf "overlap: %d steps, %d ranks, %.3f ms of communication, the log says %.3f; hidden %.3f and %.3f\n", steps, count, told, logged, inside, hidden
    exit !(steps == 6 && count == 2 && n > 0 && m > 0 && told - logged <= 0.01 * logged && logged - told <= 0.01 * logged &&
           inside <= hidden + 0.01 * logged && hidden <= logged * 1.0001) }'
