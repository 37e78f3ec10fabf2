#!/usr/bin/env bash
# weft-data: IDX files become .npy files, byte for byte; what is wrong is said.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
tool=$1
# shellcheck source=test/conformance/runtime/expect.sh
. "$(dirname "$0")/expect.sh"

# Two images of 1x3 pixels, and shorts.
printf '\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\3\0\1\2\4\x80\xff' >"$work/images"
printf '\0\0\x0b\1\0\0\0\2\x01\x02\xff\xfe' >"$work/shorts"
expect 0 '' "$tool" --idx-to-npy "$work/images" --scale 0.25 -o "$work/i.npy"
expect 0 "'descr': '<f4', 'fortran_order': False, 'shape': \(2, 1, 3,\)" head -n 1 "$work/i.npy"
expect 0 '000000000000803e0000003f0000803f0000004200007f42\|' bash -c "tail -c 24 '$work/i.npy' | od -An -v -tx1 | tr -d ' \n'; echo '|'"
expect 0 '' bash -c "'$tool' --idx-to-npy - --sample-shape 3 -o '$work/j.npy' <'$work/images'"
expect 0 "'descr': '<i8', 'fortran_order': False, 'shape': \(2, 3,\)" head -n 1 "$work/j.npy"
expect 0 '' "$tool" --idx-to-npy "$work/shorts" -o "$work/s.npy"
expect 0 '0201000000000000feffffffffffffff\|' bash -c "tail -c 16 '$work/s.npy' | od -An -v -tx1 | tr -d ' \n'; echo '|'"
expect 1 'so samples cannot be 2x2' "$tool" --idx-to-npy "$work/images" --sample-shape 2x2 -o "$work/k.npy"
head -c 20 "$work/images" >"$work/short"
expect 1 'is cut off or too long: it promises 2x1x3' "$tool" --idx-to-npy "$work/short" -o "$work/k.npy"
expect 1 'is not an IDX file' "$tool" --idx-to-npy "$0" -o "$work/k.npy"
expect 1 'cannot be read: No such file' "$tool" --idx-to-npy "$work/none" -o "$work/k.npy"
expect 2 'are needed' "$tool" --idx-to-npy "$work/images"
expect 2 "there is no flag '--frob'" "$tool" --frob 1
finish 13
