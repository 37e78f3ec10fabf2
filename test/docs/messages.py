# Holds the messages that a page quotes to the sources.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages that a page quotes are in the sources.

usage: messages.py PAGE SOURCES

Of each message in the first column of the table under `## Messages`, what is neither quoted, nor a
number, nor `...` must be in string literals: whole, or in two parts.
"""
import pathlib
import re
import sys

FOLDERS = ["dialects", "include", "lib", "passes", "python_free_frontend", "runtime", "tools"]


def literals(root):
    """All string literals, a line each, adjacent ones joined."""
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".h", ".td"):
                text = re.sub(r"//.*", "", path.read_text())
                text = re.sub(r'(?<=[^\\])"\s*\n\s*"', "", text)
                found += re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
    return "\n".join(found)


def fragments(message):
    """What the message always says, but single words."""
    fixed = re.sub(r"'[^']*'|\S*\d\S*|\b(?:N|nan)\b|\.\.\.", "\0", message)
    parts = (part.strip(" :;,().") for part in fixed.split("\0"))
    return [part for part in parts if " " in part]


def is_said(fragment, said):
    if fragment in said:
        return True
    # Some end with a word that a function makes. A first word alone would be found anywhere.
    blanks = [match.start() for match in re.finditer(" ", fragment)][1:]
    return any(fragment[:at] in said and fragment[at + 1 :] in said for at in blanks)


page, root = sys.argv[1], pathlib.Path(sys.argv[2])
rows = re.findall(r"^\| `([^`]*)`", pathlib.Path(page).read_text().split("## Messages")[1], re.MULTILINE)
said, wrong = literals(root), 0
for row in rows:
    told = fragments(row)
    missing = [part for part in told if not is_said(part, said)]
    wrong += bool(missing) or not told
    for part in missing:
        print(f"{page}: no source says '{part}': {row}")
    if not told:
        print(f"{page}: too few words to look for: {row}")
print(f"{len(rows)} messages, {wrong} are not what is said")
sys.exit(wrong != 0 or not rows)
