#!/usr/bin/env bash
# Runs the kit on a machine with a GPU: every part under its own time limit, whatever the others do.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -uo pipefail
usage="usage: run.sh [--only a,c] [-o FOLDER] [--seconds N]
  --only     parts: a ceilings, b cuBLASLt, c cuDNN attention, d PyTorch kernels, e PyTorch training, f NCCL, g MLIR kernels,
             h executables of weft-compile, i ONNX's node cases
  -o         where results.json and each part's JSON and log go (default: results here)
  --seconds  time for everything (default 465)"
here=$(cd "$(dirname "$0")" && pwd)
out=results
only=
total=465
while [ $# -gt 0 ]; do
  case "$1" in
    --only) only=${2:?$usage}; shift ;;
    -o) out=${2:?$usage}; shift ;;
    --seconds) total=${2:?$usage}; shift ;;
    -h|--help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
for part in ${only//,/ }; do
  case "$part" in [a-i]) ;; *) echo "unknown part '$part'"; echo "$usage"; exit 2 ;; esac >&2
done
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
rm -f "$out"/part-*.json "$out"/part-*.log "$out"/part-*.exit "$out"/results.json
begin=$SECONDS

# The libraries that PyTorch brings, so that the kit measures what the baseline uses. The programs search this list
# themselves; cuDNN opens its own parts by the loader's path. Python's parts run without it: an older library found
# first would change the baseline.
folders=
for root in $(python3 -c 'import site, sys
print("\n".join(dict.fromkeys(site.getsitepackages() + [p for p in sys.path if p.endswith("-packages")])))' 2> /dev/null); do
  for folder in "$root"/nvidia/*/lib; do [ -d "$folder" ] && folders=$folders:$folder; done
done
export WEFT_KIT_LIBRARY_PATH=${WEFT_KIT_LIBRARY_PATH:-${folders#:}}
loader_path=$WEFT_KIT_LIBRARY_PATH${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

wanted() { [ -z "$only" ] || case ",$only," in *,"$1",*) true ;; *) false ;; esac; }

part() { # NAME LIMIT COMMAND...
  local name=$1 limit=$2 left start code
  shift 2
  left=$((total - (SECONDS - begin)))
  [ "$limit" -lt "$left" ] || limit=$left
  if [ "$limit" -lt 3 ]; then
    echo "part $name: no time left"
    echo "no-time 0" > "$out/part-$name.exit"
    return
  fi
  echo "== part $name, at most $limit s"
  start=$SECONDS
  # The whole group of processes is ended at the limit, and ended for good five seconds later.
  timeout -k 5 "$limit" "$@" --json "$out/part-$name.json" > "$out/part-$name.log" 2>&1 < /dev/null
  code=$?
  echo "$code $((SECONDS - start))" > "$out/part-$name.exit"
  case $code in
    0) ;;
    77) echo "   skipped: $(tail -1 "$out/part-$name.log")" ;;
    124|137) echo "   ended at its limit; what it had measured is kept" ;;
    *) echo "   exit code $code: $(tail -1 "$out/part-$name.log")" ;;
  esac
}
set_command() { # PART
  case $1 in
    machine) command=("$here/probe") ;;
    a) command=("$here/ceilings") ;;
    b) command=("$here/gemms") ;;
    c) command=("$here/attention" --properties-out "$out/cudnn-device-properties.json") ;;
    d) command=(python3 "$here/torch_kernels.py") ;;
    e) command=(python3 "$here/torch_train.py") ;;
    f) command=("$here/collectives" --limit 50) ;;
    g) command=("$here/mlir_kernel") ;;
    h) command=("$here/train.sh") ;;
    i) command=("$here/nodes.sh") ;;
  esac
  # A test may put a command of its own in a part's place.
  local override=WEFT_KIT_PART_$1
  [ -z "${!override:-}" ] || read -r -a command <<< "${!override}"
  case $1 in
    d|e) command=(env PYTHONUNBUFFERED=1 SECONDS_LEFT=$((total - (SECONDS - begin))) "${command[@]}") ;;
    *) command=(env LD_LIBRARY_PATH="$loader_path" "${command[@]}") ;;
  esac
}

# Correctness and ceilings first, compiled PyTorch last: when time runs out, what is left is what takes longest.
machine_limit=20 g_limit=20 f_limit=55 a_limit=45 c_limit=75 b_limit=90 d_limit=110 e_limit=$total h_limit=60 i_limit=60
for name in machine h i g f a c b d e; do
  [ "$name" = machine ] || wanted "$name" || continue
  limit=${name}_limit
  set_command "$name"
  part "$name" "${!limit}" "${command[@]}"
  "$here/kit-report" merge "$out" --seconds $((SECONDS - begin)) -o "$out/results.json"
done
echo "== $((SECONDS - begin)) s in all; $out/results.json"
"$here/kit-report" summary "$out/results.json"
