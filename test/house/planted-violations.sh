#!/usr/bin/env bash
# Breaks every rule of test/lint.sh in a copy of the tree, and sees that lint names each violation.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: planted-violations.sh TREE FOLDER
#
# Layers: per row of docs/architecture.md, one #include per part that the row does not stand on, and one link. Then one
# violation per other rule. All are planted at once, in different files, and lint runs once.
set -euo pipefail
tree=$1 copy=$2
rm -rf "$copy" && mkdir -p "$copy"
(cd "$tree" && git ls-files -z | while IFS= read -r -d '' file; do [ -f "$file" ] && printf '%s\0' "$file"; done |
  tar --null -T - -cf -) | tar -xf - -C "$copy"
cd "$copy"
git init -q . && git add -A

# What is not planted is formatted in the tree, where lint looks at all of it.
touch "$copy.stamp"
cat > "$copy.format" <<END
#!/usr/bin/env bash
planted=()
for argument; do
  [ -f "\$argument" ] && [ ! "\$argument" -nt "$copy.stamp" ] || planted+=("\$argument")
done
exec ${CLANG_FORMAT:-clang-format-22} "\${planted[@]}"
END
chmod +x "$copy.format"

wanted=$copy.wanted
: > "$wanted"
python3 "$tree/test/house/layers.py" --forbidden . > "$copy.forbidden"
while IFS=$'\t' read -r row file header path; do
  printf '\n#include "%s"\n' "$header" >> "$file"
  printf '%s: %s includes %s\n' "$file" "$row" "$path" >> "$wanted"
done < "$copy.forbidden"
# Every row but `tests`, which may include anything, has something that it must not include.
rows=$(sed -n '/^| part |/,/^$/p' docs/architecture.md | grep -c '^| [A-Za-z]')
[ "$(cut -f1 "$copy.forbidden" | sort -u | wc -l)" -eq $((rows - 2)) ] || { echo "a row forbids nothing"; exit 1; }

plant() { # FILE TEXT WANTED
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "$2" >> "$1"
  printf '%s\n' "$3" >> "$wanted"
}
plant dialects/nn/IR/CMakeLists.txt 'target_link_libraries(WeftNn PUBLIC WeftNnPasses)' 'dialects (WeftNn) links'
plant runtime/CMakeLists.txt 'target_link_libraries(weft_runtime_core PUBLIC LLVM)' 'runtime (weft_runtime_core) links LLVM'
plant test/unit/lib/NoSuch/Planted.cpp '// Of no source.' 'test/unit/lib/NoSuch: mirrors lib/NoSuch'
plant passes/dist/Passes.td 'def Planted : Dist_Pass<"rt-planted">;' 'passes/dist/Passes.td: rt-planted lies in the folder dist'
plant passes/dist/Passes.td $'def Wide :\n    Dist_Pass<"rt-wide">;' 'passes/dist/Passes.td: rt-wide lies in the folder dist'
plant passes/dist/Passes.td 'def Other : Dist_Pass<"convert-planted-to-nn">;' 'passes/dist/Passes.td: convert-planted-to-nn lies in the folder dist'
plant test/passes/rt/stray.mlir '// RUN: true' 'test/passes/rt/stray.mlir: begins with the name of no pass or source in passes/rt'
plant docs/testing.md 'See [there](no-such-page.md).' 'docs/testing.md: links to no-such-page.md'
plant docs/testing.md 'See [there](training.md#no-such-heading).' 'docs/testing.md: links to training.md#no-such-heading'
plant docs/no-such-page-yet.md 'A page.' 'docs/no-such-page-yet.md: docs/README.md does not list this page'
plant runtime/lib/base/Planted.cpp '// As in lib/No/Such.cpp.' 'runtime/lib/base/Planted.cpp: names lib/No/Such.cpp'
plant passes/dist/Passes.td '// See test/passes/no-such.mlir.' 'passes/dist/Passes.td: names test/passes/no-such.mlir'
plant runtime/lib/base/Planted.cpp "int  planted;" 'runtime/lib/base/Planted.cpp'
plant runtime/lib/base/Planted.h "// $(printf 'wide %.0s' {1..30})" 'runtime/lib/base/Planted.h:1'
plant runtime/lib/base/Planted.h "// $(printf TO; printf DO): none" 'runtime/lib/base/Planted.h:2:'
plant lib/Foundation/Support/Moved.h $'#ifndef WEFT_SUPPORT_MOVED_H\n#define WEFT_SUPPORT_MOVED_H\n#endif' 'lib/Foundation/Support/Moved.h: guarded by WEFT_SUPPORT_MOVED_H, expected WEFT_LIB_FOUNDATION_SUPPORT_MOVED_H'
plant lib/Foundation/Support/Planted.h '// No licence.' 'lib/Foundation/Support/Planted.h'
plant lib/Foundation/Support/Glued.cpp $'// What it\n// is. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception' 'lib/Foundation/Support/Glued.cpp'
plant test/tools/planted.sh '#!/bin/sh' 'test/tools/planted.sh'
plant lib/Foundation/Search/Planted.cpp '// kernel.getLibraryCall()' 'lib/Foundation/Search/Planted.cpp'
plant lib/Foundation/Support/Long.cpp "$(printf '//\n%.0s' {1..601})" 'lib/Foundation/Support/Long.cpp: 601 lines'
plant lib/Foundation/Support/Planted.cpp "$(printf 'void planted(int a) {\n'; printf '  ++a;\n%.0s' {1..99}; printf '}')" 'lib/Foundation/Support/Planted.cpp: planted has 101 lines'
plant passes/rt/Planted.cpp 'const char *planted = "nn.name";' 'passes/rt/Planted.cpp:1'
for i in {1..16}; do plant "runtime/lib/planted/$i.h" '// Planted.' 'runtime/lib/planted: 16 files'; done
plant lib/Foundation/Support/Planted.cpp "bool said = emitError(\"planted $(printf 'where %s looks' nobody)\");" 'texts of errors are in no test'
plant passes/rt/Planted.cpp 'bool planted(std::string &error);' 'parameters carry a reason as a text'
plant lib/Foundation/Support/Told.cpp 'auto &told = errs() << "planted: error: ";' 'lib/Foundation/Support/Told.cpp:1'
plant tools/planted/Main.cpp 'int main() {}' 'tools/planted/Main.cpp'
plant tools/quickstart.sh 'show "$bin/weft-planted"' 'weft-planted'
plant test/passes/planted.mlir '// CHECK: nothing' 'test/passes/planted.mlir'
plant test/passes/split.mlir "$(printf '// RUN: true\n// %s\n' -----)" 'test/passes/split.mlir'
plant docs/testing.md "In $copy/build" 'docs/testing.md:'
plant docs/testing.md "$(printf '<%.0s' {1..7}) HEAD" 'docs/testing.md: <<<<<<< HEAD'
git add -A

if CLANG_FORMAT=$copy.format test/lint.sh > "$copy.out" 2>&1; then
  echo "lint is clean although rules are broken"
  exit 1
fi
# Lines move when several violations are planted in one file.
sed -E 's/^([^:]+):[0-9]+: (.*)/&\n\1: \2/; s/^([^:]+):[0-9]+:([^ ].*)/&\n\1: \2/' "$copy.out" > "$copy.said"
missed=0
while IFS= read -r line; do
  grep -qF -- "$line" "$copy.said" || { echo "lint does not say: $line"; missed=$((missed + 1)); }
done < "$wanted"
rules=$(grep -c '^report "' test/lint.sh)
broken=$(sed -nE 's/^lint: ([0-9]+) rule.*/\1/p' "$copy.out")
echo "$(wc -l < "$wanted") violations of $rules rules planted, $missed missed"
[ "$missed" -eq 0 ] && [ "$broken" -eq "$rules" ] || { echo "$broken of $rules rules broken"; exit 1; }
rm -rf "$copy"
