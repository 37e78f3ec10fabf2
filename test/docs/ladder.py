#!/usr/bin/env python3
# Holds the blocks of docs/architecture.md's ladder to what the compiler printed of each phase.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: ladder.py PAGE PHASES-FOLDER
#
# A block belongs to the phase that the last line above it names: **`graph`** (...). Each of its lines, cut at "...", must
# be found in the phase's file, behind the line before. What the page says it abbreviates is undone in the file: names of
# values, meshes in types, locations, folders of files and aliases of attributes.
import pathlib, re, sys


def plain(text):
    aliases = dict(re.findall(r"^(#\w+) = (.*)$", text, re.M))
    text = re.sub(r"^#\w+ = .*$", "", text, flags=re.M)
    text = re.sub(r" loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", text)
    for _ in range(4):
        text = re.sub(r"#\w+\b(?![.<\w])", lambda m: aliases.get(m.group(0), m.group(0)), text)
    text = re.sub(r"#dist\.mesh<\[[^]]*\]>", "#m", text)
    text = re.sub(r"#dist\.(?:placement|local)<#m, ([^>]*)>", r"\1", text)
    return squeeze(re.sub(r'"[^"\n]*/([^"/\n]+\.onnx)"', r'"\1"', text))


def squeeze(text):
    return re.sub(r"\s+", " ", re.sub(r"%[\w.]+(?:#\d+)?", "%", text)).strip()


def blocks(page):
    phase, block = None, None
    for number, line in enumerate(page.splitlines(), 1):
        if block is None and (named := re.match(r"\*\*`(\w+)`\*\*", line)):
            phase = named.group(1)
        if line.startswith("```mlir"):
            block = (phase, [])
        elif line.startswith("```") and block:
            yield block
            block = None
        elif block:
            block[1].append((number, line))


page, phases = sys.argv[1:]
checked, wrong = 0, 0
for phase, lines in blocks(pathlib.Path(page).read_text()):
    files = list(pathlib.Path(phases).glob(f"*-{phase}.mlir"))
    if len(files) != 1:
        sys.exit(f"{page}: there is no phase '{phase}'")
    printed, at = plain(files[0].read_text()), 0
    for number, line in lines:
        for fragment in filter(None, (squeeze(part) for part in line.split("..."))):
            checked += 1
            found = printed.find(fragment, at)
            if found < 0:
                wrong += 1
                print(f"{page}:{number}: {phase} does not print, from there on: {fragment}")
            else:
                at = found + len(fragment)
print(f"{checked} fragments, {wrong} not printed")
sys.exit(wrong > 0 or checked < 30)
