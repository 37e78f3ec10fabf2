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
printf '\0\0\x0d\1\0\0\0\2\x3e\x80\0\0\xbf\x40\0\0' >"$work/floats"
expect 0 '' "$tool" --idx-to-npy "$work/floats" -o "$work/f.npy"
expect 0 ': 2 f32 = \[0.25, -0.75\]$' "$tool" show "$work/f.npy"
expect 2 "wants a number that is not 0, not 'nan'" "$tool" --idx-to-npy "$work/images" --scale nan -o "$work/k.npy"
expect 1 'cannot be read: Is a directory' "$tool" --idx-to-npy "$work" -o "$work/k.npy"
expect 1 'so samples cannot be 2x2' "$tool" --idx-to-npy "$work/images" --sample-shape 2x2 -o "$work/k.npy"
head -c 20 "$work/images" >"$work/short"
expect 1 'is cut off or too long: it promises 2x1x3' "$tool" --idx-to-npy "$work/short" -o "$work/k.npy"
printf '\x00\x00\x0c\x01\x00\x00\x00\x01\x00\x00\x00\x07\xaa\xbb\xcc' > "$work/long"
expect 1 'is cut off or too long: it promises 1 ' "$tool" --idx-to-npy "$work/long" -o "$work/k.npy"
expect 1 'so samples cannot be' "$tool" --idx-to-npy "$work/images" --sample-shape 4294967296x4294967296x3 -o "$work/k.npy"
expect 1 'is not an IDX file' "$tool" --idx-to-npy "$0" -o "$work/k.npy"
expect 1 'cannot be read: No such file' "$tool" --idx-to-npy "$work/none" -o "$work/k.npy"
expect 2 'idx-to-npy wants FILE and -o' "$tool" --idx-to-npy "$work/images"
expect 2 "there is no flag '--frob'" "$tool" --frob 1

# Arrays without another program: shape, type and values, the same every time.
cat >"$work/values.sh" <<'END'
tail -c "$2" "$1" | od -An -v "-t$3" | tr -s ' \n' ' '
END
expect 0 '' "$tool" npy --shape 2x3 --fill range --output "$work/r.npy"
expect 0 "'descr': '<f4', 'fortran_order': False, 'shape': \(2, 3,\)" head -n 1 "$work/r.npy"
expect 0 '^ 0 1 2 3 4 5 $' sh "$work/values.sh" "$work/r.npy" 24 f4
expect 0 '^.*r.npy: 2x3 f32 = \[0, 1, 2, 3, 4, 5\]$' "$tool" show "$work/r.npy"
expect 0 '' "$tool" npy --shape 3x3 --fill range --dtype i16 -o "$work/nine.npy"
expect 0 '3x3 i16 = \[0, 1, 2, 3, 4, 5, 6, 7, ...\] min 0 max 8 mean 4$' "$tool" show "$work/nine.npy"
expect 0 '' "$tool" npy --shape 2x2 --fill ones --dtype i64 -o "$work/ones.npy"
expect 0 '2x2 i64 = \[1, 1, 1, 1\]' "$tool" show "$work/ones.npy"
expect 0 '' "$tool" npy --shape scalar -o "$work/zero.npy"
expect 0 'scalar f32 = \[0\]$' "$tool" show "$work/zero.npy"
expect 0 '' "$tool" npy --shape 1000x100 --fill ids:50 -o "$work/ids.npy"
expect 0 '1000x100 i64 = .* min 0 max 49 mean 24\.[3-7]' "$tool" show "$work/ids.npy"
for type in f64 f32 f16 bf16; do
  expect 0 '' "$tool" npy --shape 1000x100 --dtype $type --fill random:7 -o "$work/random.npy"
  expect 0 "1000x100 $type = .* min -(1|0\.9999[0-9]*) max (1|0\.9999[0-9]*) mean -?0\.00[0-9]*$" "$tool" show "$work/random.npy"
done
expect 0 '' "$tool" npy --shape 1000x100 --dtype bf16 --fill random:7 -o "$work/again.npy"
expect 0 '' cmp "$work/random.npy" "$work/again.npy"
expect 0 '' "$tool" npy --shape 1000x100 --dtype bf16 --fill random:8 -o "$work/again.npy"
expect 1 'differ' cmp "$work/random.npy" "$work/again.npy"
printf 'a\0\377' >"$work/text"
expect 0 '' "$tool" tokens "$work/text" -o "$work/tokens"
expect 0 '^ 97 0 255 $' sh "$work/values.sh" "$work/tokens" 6 u2
expect 0 '' bash -c "'$tool' tokens - --tokenizer byte -o '$work/piped' <'$work/text' && cmp '$work/tokens' '$work/piped'"

# Refusals name the flag and what there is; nothing half-written stays.
expect 2 "there is no command 'tensor'" "$tool" tensor -o x
expect 2 'npy wants --shape' "$tool" npy -o "$work/k.npy"
expect 2 "wants sizes like 8x64, or scalar, not '8,64'" "$tool" npy --shape 8,64 -o "$work/k.npy"
expect 2 "bool, not 'float'" "$tool" npy --shape 8 --dtype float -o "$work/k.npy"
expect 2 "wants zeros, ones, range, random.* not 'twos'" "$tool" npy --shape 8 --fill twos -o "$work/k.npy"
expect 2 "not 'ids:0'" "$tool" npy --shape 8 --fill ids:0 -o "$work/k.npy"
expect 2 'goes up to 255, which is too much for i8' "$tool" npy --shape 8 --fill ids:256 --dtype i8 -o "$work/k.npy"
expect 2 'goes up to 18446744073709551616, which is too much for i64' "$tool" npy --shape 3 --fill ids:18446744073709551615 -o "$work/k.npy"
expect 2 'goes up to 299, which is too much for bf16' "$tool" npy --shape 300 --fill range --dtype bf16 -o "$work/k.npy"
expect 2 'write ids:N' "$tool" npy --shape 8 --fill random --dtype i32 -o "$work/k.npy"
expect 2 "scale is no flag of weft-data npy" "$tool" npy --shape 8 --scale 2 -o "$work/k.npy"
expect 1 'is larger than any file' "$tool" npy --shape 9999999999x9999999999 -o "$work/k.npy"
expect 2 "there is no tokenizer 'bpe'" "$tool" tokens "$work/text" --tokenizer bpe -o "$work/k"
expect 1 'cannot be read: No such file' "$tool" tokens "$work/none" -o "$work/k"
expect 1 "k/k.npy' cannot be written: No such file" "$tool" npy --shape 8 -o "$work/k/k.npy"
expect 1 'No space left' "$tool" npy --shape 8 -o /dev/full
expect 1 'not a .npy file' "$tool" show "$work/text"
expect 0 '^0$' bash -c "ls '$work' | grep -c '^k' ; true"
finish 55
