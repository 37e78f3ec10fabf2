#!/usr/bin/env python3
# Lists the texts of our errors that no test holds.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: untested-errors.py [FOLDER...]   (default: all but tests; exits 1 if it lists anything)
#        untested-errors.py --ratchet N   (says so if there are more, or fewer: the number may only fall)
#
# A text is the longest literal of a statement that reports an error, or the longest part of one between values that are
# put into it. It is tested if a file below `test` holds it, or what is left of it when a test had to cut it (at least its
# first 25 letters).
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ["dialects", "include", "lib", "passes", "python_free_frontend", "runtime", "tools"]
CALL = re.compile(r"\b(?:emitError|emitOpError|error|\w+Error|errorHandler|fail|tell|usage|Status::\w+)\s*\((?!const )")  # no definitions
FORMAT = re.compile(r"%(?:\.\*|\.\d+)?(?:l|ll|z)?[sdugf]|\\n")  # what a test sees something else of
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')


def statement(text, start):
    """From a call to the end of its statement; brackets and literals may hold semicolons."""
    depth, i = 0, start
    while i < len(text):
        literal = LITERAL.match(text, i)
        if literal:
            i = literal.end()
            continue
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth < 0 or (depth == 0 and text[i] == ";"):
            break
        i += 1
    return text[start:i]


def normal(text):
    """Literals that stand behind each other are one; escapes and quotes of tests are those of the text."""
    text = re.sub(r'"\s*\n\s*(?://\s*)?"', "", text)
    text = text.replace('\\"', '"').replace("\\\\", "\\").replace("'\\''", "'")
    return re.sub(r"\s+", " ", text)


def texts(path):
    source = path.read_text()
    code = re.sub(r"^\s*//.*$", lambda match: " " * len(match.group()), source, flags=re.M)
    for call in CALL.finditer(code):
        body = re.sub(r'"\s*\n\s*"', "", statement(code, call.start()))
        parts = [part for one in LITERAL.findall(body) for part in FORMAT.split(normal(one))]
        longest = max((part.strip(" '\";:,") for part in parts), key=len, default="")
        if len(longest) >= 8:
            yield code.count("\n", 0, call.start()) + 1, longest


def untested(folders):
    """Where and what the texts are that no test holds, and the number of all texts."""
    corpus = ""
    for path in sorted((ROOT / "test").rglob("*")):
        if path.suffix in {".mlir", ".test", ".cpp", ".h", ".txt", ".py", ".sh", ".onnxtext"} and path.is_file():
            corpus += normal(path.read_text(errors="replace")) + "\n"
    missing, total = [], 0
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in {".cpp", ".h"}:
                continue
            seen = set()
            for line, text in texts(path):
                if text in seen:
                    continue
                seen.add(text)
                total += 1
                if text[:25] not in corpus:
                    missing.append(f"{path.relative_to(ROOT)}:{line}: {text}")
    return missing, total


def ratchet(most):
    missing, _ = untested(FOLDERS)
    if len(missing) > most:
        print(f"{len(missing)} texts of errors are in no test, {most} were: test/house/untested-errors.py lists them")
    if len(missing) < most:
        print(f"{len(missing)} texts of errors are in no test, no longer {most}: write that number into test/lint.sh")
    return len(missing) != most


def main():
    if sys.argv[1:2] == ["--ratchet"]:
        sys.exit(ratchet(int(sys.argv[2])))
    missing, total = untested(sys.argv[1:] or FOLDERS)
    print("\n".join(missing + [f"{len(missing)} of {total} texts of errors are in no test"]))
    sys.exit(bool(missing))


main()
