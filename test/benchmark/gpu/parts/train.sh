#!/usr/bin/env bash
# Part h: executables of weft-compile train on the GPU; their losses beside those that the CPU's executables gave when the kit
# was made.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: train.sh [--folder DIR] [--json FILE]
#   DIR (default: train beside this script) holds data, and of each training NAME: the executable NAME.gpu, its flags in
#   NAME.flags, the log that is expected, NAME.jsonl, and in NAME.limit the largest relative difference of a loss. NAME.ranks,
#   where it is, says of how many ranks it is: processes that share the GPU, and whose collectives are NCCL's.
set -uo pipefail
folder=$(cd "$(dirname "$0")" && pwd)/train
json=
while [ $# -gt 1 ]; do
  case "$1" in
    --folder) folder=$2 ;;
    --json) json=$2 ;;
    *) break ;;
  esac
  shift 2
done
[ $# -eq 0 ] || { echo "usage: train.sh [--folder DIR] [--json FILE]" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The libraries that PyTorch brings, where run.sh found some.
export WEFT_CUDA_PATH=${WEFT_CUDA_PATH:-${WEFT_KIT_LIBRARY_PATH:-}}
[ -n "$WEFT_CUDA_PATH" ] || unset WEFT_CUDA_PATH

results=
status=running
write() { # [MESSAGE]
  [ -z "$json" ] || printf '{"part": "h", "what": "whole executables", "status": "%s", "facts": {}, %s"results": [%s]}\n' \
    "$status" "${1:+\"message\": \"$1\", }" "$results" > "$json"
}
text() { tr -d '\\"' | tr '\n\t' '  ' | cut -c 1-400; }
result() { # NAME STATUS FIELDS
  results=$results${results:+, }"{\"name\": \"$1\", \"status\": \"$2\"${3:+, $3}}"
  echo "$1: $2 ${3:-}"
  write
}
losses() { sed -nE 's/.*"step":([0-9]+),"loss":([^,]*),.*/\1 \2/p' "$1"; }
# Steps that both have, the largest relative difference of a loss, and whether all of it is there.
difference() { # EXPECTED FOUND
  paste -d' ' <(losses "$1") <(losses "$2") | awk '
    { if (NF != 4 || $1 != $3 || $4 != $4 + 0) bad = 1
      d = $2 - $4; if (d < 0) d = -d
      size = $2 < 0 ? -$2 : $2; if (size > 0) d /= size
      if (d > worst) worst = d }
    END { printf "%d %.3g %s\n", NR, worst, NR == 0 || bad ? "no" : "yes" }'
}

# Of several ranks, as torchrun starts them; the worst exit code.
train() { # NAME ARGUMENTS...
  local name=$1 ranks=1 rank worst=0 jobs=()
  shift
  [ ! -e "$folder/$name.ranks" ] || ranks=$(cat "$folder/$name.ranks")
  if [ "$ranks" -eq 1 ]; then
    "$folder/$name.gpu" "$@"
    return
  fi
  for ((rank = 0; rank < ranks; rank++)); do
    env RANK=$rank WORLD_SIZE="$ranks" MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 12000)) WEFT_CUDA_SHARE=1 \
      NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_DISABLE=1 NCCL_NVLS_ENABLE=0 \
      "$folder/$name.gpu" --comm nccl --timeout 60 "$@" &
    jobs+=($!)
  done
  for rank in "${jobs[@]}"; do
    wait "$rank" || { code=$?; [ $code -le $worst ] || worst=$code; }
  done
  return $worst
}

failed=0
for expected in "$folder"/*.jsonl; do
  name=$(basename "$expected" .jsonl)
  read -r -a flags < "$folder/$name.flags"
  start=$(date +%s%N)
  train "$name" --data-tokens "$folder/data:byte" "${flags[@]}" --log "$work/log.jsonl" > "$work/log" 2>&1 < /dev/null
  code=$?
  seconds=$(awk -v ns=$(($(date +%s%N) - start)) 'BEGIN { printf "%.2f", ns / 1e9 }')
  if grep -q 'the CUDA driver cannot be opened\|CUDA_ERROR_NO_DEVICE' "$work/log"; then
    status=no-device
    write "$(text < "$work/log")"
    echo "no device: $(text < "$work/log")"
    exit 77
  fi
  if [ $code -ne 0 ]; then
    failed=1
    result "$name" failed "\"message\": \"exit code $code: $(tail -n 3 "$work/log" | text)\""
    continue
  fi
  read -r steps worst whole <<< "$(difference "$expected" "$work/log.jsonl")"
  limit=$(cat "$folder/$name.limit")
  verdict=wrong
  awk -v worst="$worst" -v limit="$limit" -v whole="$whole" 'BEGIN { exit !(whole == "yes" && worst <= limit) }' && verdict=ok
  [ $verdict = ok ] || failed=1
  result "$name" $verdict "\"steps\": $steps, \"largest_difference\": $worst, \"limit\": $limit, \"seconds\": $seconds"
done
[ -n "$results" ] || { failed=1; echo "there is no training in $folder"; }
status=$([ $failed -eq 0 ] && echo ok || echo failed)
write
exit $failed
