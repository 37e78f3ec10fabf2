#!/bin/sh
# Frames each line of its input, a JSON message, as the language server protocol wants it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
while IFS= read -r message; do
  [ -n "$message" ] || continue
  length=$(printf '%s' "$message" | wc -c)
  printf 'Content-Length: %d\r\n\r\n%s' "$length" "$message"
done
