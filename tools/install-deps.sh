#!/usr/bin/env bash
# Installs what building and testing Weft needs, from Debian's packages; does nothing when all is there.
# install-deps.sh --full: and what only `test/run.sh --full` needs: PyTorch, beside which whole models are trained, and a
# browser that looks at the pages of --report.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
packages=(g++ git cmake ninja-build clang-22 clang-format-22 clang-tidy-22 libclang-rt-22-dev lld-22 ccache
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  libprotobuf-dev protobuf-compiler nlohmann-json3-dev libxxhash-dev libmimalloc-dev
  openmpi-bin libopenmpi-dev
  libboost-context-dev
  libgtest-dev libonnx-testdata python3
  dict-gcide dataset-fashion-mnist
  zsh groff-base)
case "${1:-}" in
  "") ;;
  --full) packages+=(python3-torch chromium) ;;
  *) echo "usage: tools/install-deps.sh [--full]" >&2; exit 2 ;;
esac
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "weft: installing ${missing[*]}" >&2
sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
"${sudo[@]}" apt-get update -q >&2
DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
