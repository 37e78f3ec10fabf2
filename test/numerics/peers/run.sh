#!/usr/bin/env bash
# Compares whole models with PyTorch and prints a table: run.sh BUILD-BIN [--steps N] [MODEL...].
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Outside the build: $WEFT_TORCH_PYTHON (default /usr/bin/python3, Debian's python3-torch) must import torch. Without it
# nothing is compared, which is said, and the exit code is 77.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
python=${WEFT_TORCH_PYTHON:-/usr/bin/python3}
tools=$(cd "$OLDPWD" && realpath "${1:?usage: run.sh BUILD-BIN [--steps N] [MODEL...]}") || exit 2
if ! version=$("$python" -c 'import torch; print(torch.__version__)' 2> /dev/null); then
  echo "NOT COMPARED with PyTorch: $python cannot import torch (apt-get install python3-torch, or set WEFT_TORCH_PYTHON)"
  exit 77
fi
echo "PyTorch $version; l2 norm of the difference over that of the truth, worst tensor"
export PYTHONDONTWRITEBYTECODE=1
status=0
"$python" compare.py "$tools" "${@:2}" || status=1
[ $# -gt 1 ] || "$python" torch_curve.py "$tools" || status=1
exit $status
