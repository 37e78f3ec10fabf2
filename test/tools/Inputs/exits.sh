# exits.sh CODE COMMAND...: succeeds if the command ends with exactly this exit code.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
expected=$1
shift
"$@"
found=$?
[ "$found" -eq "$expected" ] && exit 0
echo "exit code $found, expected $expected: $*" >&2
exit 1
