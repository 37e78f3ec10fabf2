#!/usr/bin/env bash
# Installs BUILD into a fresh prefix, then compiles and runs a model from there while the build
# tree cannot be reached; asks the shell for completions, man for the pages, CMake for the package.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" > "$work/install.log"
fail() { echo "install: $*" >&2; exit 1; }

cat > "$work/use.sh" <<'END'
set -eu
cd "$1"
PATH=$1/prefix/bin:/usr/bin:/bin
weft-translate --build mlp:layers=2,inputs=8,hidden=16,classes=4,std=0.1 -o mlp.onnx
weft-data npy --shape 4x8 --fill random -o x.npy
weft-compile mlp.onnx -q -o mlp --bind batch=4 --mesh tp=2
weft-run mlp --input x=x.npy > here.txt
weft-run -n 2 --comm tcp mlp --input x=x.npy > tcp.txt
grep -q logits here.txt
diff here.txt tcp.txt
# The communicator of the installation, for an executable that lies elsewhere.
if [ -e prefix/lib/libweft_mpi.so ] && command -v mpirun > /dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  weft-run -n 2 --comm mpi mlp --input x=x.npy > mpi.txt
  diff here.txt mpi.txt
else
  echo 'SKIPPED: the installed communicator mpi, MPI was not found'
fi
weft-opt --version | grep -q '^weft-opt'
END
# An empty file system in its place hides the build tree, where we may mount one. Elsewhere the
# compiled program must not name it, nor the search paths of what was installed.
hide='mount -t tmpfs none "$1" && shift && exec "$@"'
if unshare -rm bash -c "$hide" _ "$build" true 2> /dev/null; then
  # From a folder that is still there.
  (cd / && unshare -rm bash -c "$hide" _ "$build" bash "$work/use.sh" "$work")
else
  echo 'SKIPPED: to hide the build tree, no file system may be mounted here; its path is looked for instead'
  bash "$work/use.sh" "$work"
  ! grep -qF "$build" "$work/mlp" || fail "the compiled program names $build"
fi
for file in "$prefix"/bin/* "$prefix"/lib/*.so; do
  ! readelf -d "$file" | grep -F "$build" || fail "$file is linked against $build"
done

# What the shell offers after the words $2... (the last of them in part).
offers() {
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
           "_${1//-/_}"; echo "${COMPREPLY[*]}"' _ "$prefix/share/bash-completion/completions/$1" "$@"
}
expect() { # OFFERED WORDS...
  local wanted=$1; shift
  [ "$(offers "$@")" = "$wanted" ] || fail "after '$*' bash offers '$(offers "$@")', not '$wanted'"
}
expect "--mesh --memory-limit" weft-compile --me
expect "bf16" weft-compile --precision b
expect "bf16" weft-compile --precision = b
expect "local" weft-compile m.onnx --compile-to lo
expect "--completion --comm" weft-run --com
expect "--evaluate" weft-plan m.onnx --ev
expect "span" weft-schedule --objective s
expect "--tokenizer" weft-data tokens --tok
expect "bf16 bool" weft-data npy --dtype b
# A value that may be left out has to be attached, so it is no word of its own.
expect "" weft-compile m.onnx --explain ful
expect "full" weft-compile m.onnx --explain = ful
if command -v zsh > /dev/null; then
  for script in "$prefix"/share/zsh/site-functions/_*; do zsh -n "$script"; done
else
  echo 'SKIPPED: the completions for zsh, which was not found'
fi
command -v groff > /dev/null || echo 'SKIPPED: to format the pages, groff was not found'
for page in "$prefix"/share/man/man1/*.1; do
  grep -q '^\.TH' "$page"
  if command -v groff > /dev/null; then
    wrong=$(groff -man -ww -Tutf8 "$page" 2>&1 > "$work/page.txt")
    [ -z "$wrong" ] || fail "$page is no page: $wrong"
  fi
done

export CMAKE_PREFIX_PATH=$prefix
cmake -G Ninja -S "$here/consumer" -B "$work/consumer" > "$work/consumer.log"
cmake --build "$work/consumer" >> "$work/consumer.log"
[ "$("$work/consumer/version")" = "$("$prefix/bin/weft-compile" --version)" ] || fail "versions differ"
[ -x "$work/consumer/model" ] || fail "the consumer made no program"
echo "installed, compiled and run from $prefix"
