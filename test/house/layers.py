#!/usr/bin/env python3
# Holds every include and every CMake link to the table "Who knows what" of docs/architecture.md.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: layers.py [--forbidden] TREE
#
# A row of the table names a part, its folders and the parts it stands on. A file may include files of its own folder, of
# parts that its row stands on and, where the row says "each other", of the row's other folders; a library may link the
# same. `MLIR` and `protobuf` are parts outside the tree, `all` is every row but tests, to which lib/Testing counts.
# include/weft/X belongs to lib/Foundation/X if that is a folder, else to lib/X.
#
# --forbidden prints, per row and per part that it does not stand on, the row, a file of it, a header that it must not
# include, and where that is: for the test that plants just these.
import functools
import os
import pathlib
import re
import subprocess
import sys

ROOTS = ["", "include/", "runtime/include/", "runtime/lib/"]
OUTSIDE_LIBRARIES = {"weft_mlir": "MLIR", "MLIR": "MLIR", "LLVM": "MLIR", "protobuf::libprotobuf": "protobuf"}
FOR_TESTS = ("test/", "lib/Testing/")
OUTSIDE = {"MLIR": r"(llvm|mlir)/", "protobuf": r"google/protobuf/|(onnx|cluster|profile)\.pb\.h$"}


class Row:
    def __init__(self, part, folders, stands_on):
        self.part, self.folders = part, folders
        self.words = {word.strip() for word in stands_on.split(",")} - {"-"}


def expand(folders):
    """`a/{b,c}`, `d` -> a/b, a/c, d"""
    for folder in re.findall(r"`([^`]+)`", folders):
        head, _, rest = folder.partition("{")
        for name in rest.rstrip("}").split(",") if rest else [""]:
            yield head + name


def read_table(page):
    rows = []
    lines = iter(page.read_text().split("## Who knows what", 1)[1].splitlines())
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| part |") and cells[1:3] != ["folders", "stands on"]:
            sys.exit(f"{page}: the table's columns are: part, folders, stands on, ...")
        if line.startswith("|") and not line.startswith(("| part |", "|---")):
            rows.append(Row(cells[0], list(expand(cells[1])), cells[2]))
        elif rows and not line.startswith("|"):
            break
    known = {row.part for row in rows} | set(OUTSIDE) | {"all", "each other"}
    for row in rows:
        for word in sorted(row.words - known):
            sys.exit(f"{page}: row '{row.part}' stands on '{word}', which is no row")
    return rows


class Tree:
    def __init__(self, root):
        self.root, self.rows = root, read_table(root / "docs/architecture.md")
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                                capture_output=True, text=True, check=True)
        self.files = {name for name in listed.stdout.splitlines() if (root / name).is_file()}
        self.folders = {os.path.dirname(name) for name in self.files}
        self.wrong = []
        for row in self.rows:
            for folder in row.folders:
                if not any(self.inside(self.home(name), folder) for name in self.files):
                    self.wrong.append(f"docs/architecture.md: row '{row.part}' has a folder that is not there: {folder}")

    # What is remembered depends on files, folders and rows, which stay as they are.
    @functools.lru_cache(maxsize=None)
    def home(self, name):
        if not name.startswith("include/weft/"):
            return name
        below = "lib/Foundation/" + name[len("include/weft/"):]
        return below if os.path.dirname(below) in self.folders else name.replace("include/weft/", "lib/", 1)

    @staticmethod
    def inside(name, folder):
        return name == folder or name.startswith((folder + "/", folder + "."))

    @functools.lru_cache(maxsize=None)
    def place(self, name):
        """The row and the folder of a file: the longest folder of the table that holds it."""
        fits = [(folder, row) for row in self.rows for folder in row.folders if self.inside(self.home(name), folder)]
        return max(fits, key=lambda fit: len(fit[0]), default=(None, None))

    def allowed(self, name, target):
        folder, row = self.place(name)
        there, other = self.place(target)
        if row is None or other is None: # told of the file itself
            return True
        if folder == there or "all" in row.words and (row.part == "tests" or not (there + "/").startswith(FOR_TESTS)):
            return True
        return "each other" in row.words if row is other else other.part in row.words

    def resolve(self, includer, text):
        for root in [os.path.dirname(includer) + "/"] + ROOTS:
            path = os.path.normpath(root + text)
            if path in self.files or text.endswith(".inc") and os.path.dirname(path) in self.folders - {""}:
                return path
        same = [name for name in self.files if name.endswith("/" + text)]
        return same[0] if len(same) == 1 else None

    def judge(self, where, name, target, verb):
        if not self.allowed(name, target):
            row = self.place(name)[1]
            self.wrong.append(f"{where}: {row.part} {verb} {target} ({self.place(target)[1].part}); "
                              f"stands on: {', '.join(sorted(row.words)) or 'nothing'}")

    def check_includes(self):
        for name in sorted(self.files):
            if not name.endswith((".cpp", ".h", ".c", ".td")):
                continue
            row = self.place(name)[1]
            if row is None:
                self.wrong.append(f"{name} is in no row of docs/architecture.md")
                continue
            for number, line in enumerate((self.root / name).read_text().splitlines(), 1):
                found = re.match(r'\s*#?\s*include\s+[<"]([^>"]+)[>"]', line)
                if not found:
                    continue
                where, text = f"{name}:{number}", found.group(1)
                outside = [word for word, pattern in OUTSIDE.items() if re.match(pattern, text)]
                if outside and not {outside[0], "all"} & row.words:
                    self.wrong.append(f"{where}: {row.part} includes {text} ({outside[0]})")
                target = None if outside else self.resolve(name, text)
                if target:
                    self.judge(where, name, target, "includes")

    def check_links(self):
        pages = {name: commands((self.root / name).read_text())
                 for name in sorted(self.files) if os.path.basename(name) == "CMakeLists.txt"}
        homes = {}
        for page, calls in pages.items():
            for _, words in calls:
                path = os.path.normpath(os.path.join(os.path.dirname(page), first_source(words)))
                if self.place(path)[1]:
                    homes.setdefault(words[0], path)
        for page, calls in pages.items():
            for number, words in calls:
                for library in words[1:]:
                    if words[0] in homes:
                        self.judge_link(f"{page}:{number}", words[0], library, homes)

    def judge_link(self, where, name, library, homes):
        row = self.place(homes[name])[1]
        outside = OUTSIDE_LIBRARIES.get(library)
        if outside and not {outside, "all"} & row.words:
            self.wrong.append(f"{where}: {row.part} ({name}) links {library} ({outside})")
        elif library in homes and library != name:
            self.judge(where, homes[name], homes[library], f"({name}) links {library},")


def commands(text):
    """Calls that define or link libraries: line and words, the library's name first."""
    text = re.sub(r"#.*", "", text)
    calls = []
    for found in re.finditer(r"\b(?:weft_add\w*_(?:library|test)|weft_add_library|weft_add_tool|add_library|add_executable"
                             r"|target_link_libraries)\(([^()]*(?:\([^()]*\)[^()]*)*)\)", text):
        words = re.sub(r"\$<[^\s]*", "", found.group(1)).split()
        if words:
            words += ["weft_mlir"] * found.group(0).startswith(("weft_add_mlir", "weft_add_tool"))
            calls.append((text.count("\n", 0, found.start()) + 1, words))
    return sorted(calls, key=lambda call: first_source(call[1]) == "x.cpp")


def first_source(words):
    return next((word for word in words[1:] if re.fullmatch(r"[\w/.-]+\.(?:cpp|c)", word)), "x.cpp")


def forbidden(tree):
    files = sorted(tree.files)
    for row in tree.rows:
        mine = next((name for folder in row.folders for name in files
                     if name.endswith((".cpp", ".h")) and tree.place(name) == (folder, row)), None)
        for other in tree.rows:
            header = next((name for name in files if name.endswith(".h") and tree.place(name)[1] is other
                           and tree.place(name)[0] != tree.place(mine)[0]), None)
            if header and not tree.allowed(mine, header):
                print("\t".join([row.part, mine, re.sub(r"^(runtime/)?include/", "", header), header]))
        for word in OUTSIDE:
            if not {word, "all"} & row.words:
                header = {"MLIR": "mlir/IR/Value.h", "protobuf": "onnx.pb.h"}[word]
                print("\t".join([row.part, mine, header, header]))


tree = Tree(pathlib.Path(sys.argv[-1]))
if sys.argv[1] == "--forbidden":
    forbidden(tree)
    sys.exit(0)
tree.check_includes()
tree.check_links()
print("\n".join(tree.wrong))
sys.exit(bool(tree.wrong))
