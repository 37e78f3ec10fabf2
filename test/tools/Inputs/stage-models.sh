# Prints models whose stages have more between them than a line, as ONNX text: stage-models.sh KIND.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -e

# One initializer with values that differ: weight NAME SEED EXTENT...
weight() {
  name=$1; seed=$2; shift 2
  awk -v name="$name" -v seed="$seed" -v dims="$(echo "$*" | tr ' ' ,)" -v extents="$*" 'BEGIN {
    count = split(extents, list, " "); size = 1
    for (i = 1; i <= count; ++i) size *= list[i]
    printf "float[%s] %s = {", dims, name
    for (i = 0; i < size; ++i) printf "%s%.4f", i ? ", " : "", 0.3 * sin(seed * 97 + i * 1.7)
    printf "}"
  }'
}
weights() {
  while [ $# -gt 0 ]; do
    weight $1; shift
    [ $# -eq 0 ] || echo ,
  done
}

case $1 in
translator) # An encoder whose result every block of the decoder reads; one table embeds, projects and makes the logits.
  echo '<ir_version: 8, opset_import: ["": 13]>'
  echo 'g (float[batch, 4, 8] source, float[batch, 4, 8] target) => (float[batch, 8] logits, float[batch, 8] summary)'
  echo '<'
  weights 'table 1 8 8' 'encoder_0_weight 2 8 8' 'encoder_1_weight 3 8 8' 'decoder_0_query 4 8 8' 'decoder_0_key 5 8 8' \
    'decoder_0_value 6 8 8' 'decoder_1_query 7 8 8' 'decoder_1_key 8 8 8' 'decoder_1_value 9 8 8'
  echo '> {'
  echo '  e = MatMul (source, table)'
  last=e
  for i in 0 1; do
    echo "  m$i = MatMul ($last, encoder_${i}_weight)"
    echo "  a$i = Tanh (m$i)"
    echo "  e$i = Add ($last, a$i)"
    last=e$i
  done
  echo '  d = MatMul (target, table)'
  last=d
  for i in 0 1; do
    echo "  q$i = MatMul ($last, decoder_${i}_query)"
    echo "  k$i = MatMul (e1, decoder_${i}_key)"
    echo "  v$i = MatMul (e1, decoder_${i}_value)"
    echo "  kt$i = Transpose <perm = [0, 2, 1]> (k$i)"
    echo "  s$i = MatMul (q$i, kt$i)"
    echo "  p$i = Softmax <axis = -1> (s$i)"
    echo "  o$i = MatMul (p$i, v$i)"
    echo "  d$i = Add ($last, o$i)"
    last=d$i
  done
  echo '  pooled = ReduceMean <axes = [1], keepdims = 0> (d1)'
  echo '  table_t = Transpose <perm = [1, 0]> (table)'
  echo '  logits = MatMul (pooled, table_t)'
  echo '  summary = ReduceMean <axes = [1], keepdims = 0> (e1)'
  echo '}'
  ;;
unet) # Down, across and up again; what each step down makes is read by the step up of its size.
  echo '<ir_version: 8, opset_import: ["": 13]>'
  echo 'g (float[batch, 2, 8, 8] image) => (float[batch, 4] logits)'
  echo '<'
  weights 'down_0_weight 1 4 2 3 3' 'down_1_weight 2 6 4 3 3' 'middle_weight 3 6 6 3 3' 'up_1_weight 4 4 12 3 3' 'up_0_weight 5 4 8 3 3'
  echo ', float[4] scales = {1.0, 1.0, 2.0, 2.0}'
  echo '> {'
  echo '  c0 = Conv <pads = [1, 1, 1, 1]> (image, down_0_weight)'
  echo '  a0 = Tanh (c0)'
  echo '  p0 = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (a0)'
  echo '  c1 = Conv <pads = [1, 1, 1, 1]> (p0, down_1_weight)'
  echo '  a1 = Tanh (c1)'
  echo '  p1 = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (a1)'
  echo '  m = Conv <pads = [1, 1, 1, 1]> (p1, middle_weight)'
  echo '  ma = Tanh (m)'
  echo '  u1 = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (ma, , scales)'
  echo '  j1 = Concat <axis = 1> (u1, a1)'
  echo '  x1 = Conv <pads = [1, 1, 1, 1]> (j1, up_1_weight)'
  echo '  y1 = Tanh (x1)'
  echo '  u0 = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (y1, , scales)'
  echo '  j0 = Concat <axis = 1> (u0, a0)'
  echo '  x0 = Conv <pads = [1, 1, 1, 1]> (j0, up_0_weight)'
  echo '  y0 = Tanh (x0)'
  echo '  logits = ReduceMean <axes = [2, 3], keepdims = 0> (y0)'
  echo '}'
  ;;
esac
