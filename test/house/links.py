#!/usr/bin/env python3
# Finds dead links in pages, pages that docs/README.md does not list, and files that pages, comments and TableGen descriptions name but that are not there.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: links.py TREE
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
files = {name for name in listed.stdout.splitlines() if (root / name).is_file()}
folders = {os.path.dirname(name)[:end] for name in files for end in
           [m.start() for m in re.finditer("/", name)] + [len(name)]}
# A path below one of our top folders, with an extension that our files have; `{a,b}` and `*` are patterns, not names,
# and so is a path with a word in capitals, as in the usage of a script.
NAMED = re.compile(r"(?<![\w/.$}{%@<>*-])((?:dialects|docs|include|lib|passes|python_free_frontend|runtime|test|tools|weft)"
                   r"/[\w/.-]*\w\.(?:cpp|h|td|md|mlir|test|sh|py|txt|json|onnxtxt))(?![\w*{/])")
PREFIXES = ["", "include/", "runtime/include/", "runtime/lib/"]


def anchors(page):
    text = re.sub(r"```.*?```", "", (root / page).read_text(), flags=re.S)
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def dead_links(page, number, line):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if there not in files and there not in folders:
            yield f"{page}:{number}: links to {target}, which is not there"
        elif anchor and anchor not in anchors(there):
            yield f"{page}:{number}: links to {target}: there is no such heading"


def missing_files(name, number, text):
    for path in NAMED.findall(text):
        if not re.search(r"\b[A-Z]{3,}\b", path) and not any(prefix + path in files for prefix in PREFIXES + [os.path.dirname(name) + "/"]):
            yield f"{name}:{number}: names {path}, which is not there"


def prose(name, line):
    """The part of a line that people read."""
    if name.endswith((".cpp", ".h", ".c")):
        return line.partition("//")[2]
    if name.endswith((".sh", ".py", ".txt")):
        return line.partition("# ")[2]
    return line


wrong = []
for name in sorted(files):
    if name.startswith("test/") and name.endswith((".mlir", ".test")) or name.startswith("test/faults/planted/bugs"):
        continue
    if not name.endswith((".cpp", ".h", ".c", ".td", ".md", ".sh", ".py", "CMakeLists.txt")):
        continue
    for number, line in enumerate((root / name).read_text().splitlines(), 1):
        if name.endswith(".md"):
            wrong += dead_links(name, number, line)
        wrong += missing_files(name, number, prose(name, line))
contents = (root / "docs/README.md").read_text()
wrong += [f"{name}: docs/README.md does not list this page" for name in sorted(files)
          if re.fullmatch(r"docs/[\w-]+\.md", name) and name != "docs/README.md" and f"({name[5:]})" not in contents]
print("\n".join(wrong))
sys.exit(bool(wrong))
