# Trains MODEL.onnx 3 steps on one stage and as FLAGS say, on the data of DATA, and fails unless losses and weights have the same
# bits: same-states.sh MODEL FOLDER "FLAGS OF BOTH" "DATA" "FLAGS"...
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -e
model=$1 folder=$2 both=$3 data=$4
shift 4
rm -rf "$folder" && mkdir -p "$folder"

train() { # NAME FLAGS
  eval "weft-compile -q '$model' --train $both $2 -o '$folder/$1'"
  "$folder/$1" -q $data --steps 3 --save "$folder/$1.saved" --log "$folder/$1.log"
  grep -o '"loss":[^,]*' "$folder/$1.log" > "$folder/$1.losses"
  test "$(wc -l < "$folder/$1.losses")" -eq 3
  weft-translate --export-onnx "$model" --weights "$folder/$1.saved" -o "$folder/$1.onnx" 2> /dev/null
}

train one "--mesh dp=1"
! cmp -s "$model" "$folder/one.onnx"
number=0
for flags; do
  number=$((number + 1))
  train "$number" "$flags"
  cmp "$folder/one.losses" "$folder/$number.losses" || { echo "other losses: $flags"; exit 1; }
  cmp "$folder/one.onnx" "$folder/$number.onnx" || { echo "other weights: $flags"; exit 1; }
done
