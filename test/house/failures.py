#!/usr/bin/env python3
# Lists the parameters that carry the reason of a failure as a text, where CONTRIBUTING asks for another form.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: failures.py               (exits 1 if it lists anything)
#        failures.py --ratchet N   (says so if there are more, or fewer: the number may only fall)
#
# A parameter or member that is no constant string, and whose name says that it is a reason. Two parts have that form:
# verifiers of the sharding algebra and of factor rules, whose caller adds the location, and schedules, costs and
# the planner, without LLVM.
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ["dialects", "include", "lib", "passes", "python_free_frontend", "runtime", "tools"]
REASON = re.compile(r"(?<!const )\bstd::string ?[&*] ?(?:error|fault|message|problem|reason|why\w*)\b")
POINTER = re.compile(r"(?:include/weft|lib/Foundation)/(?:Sharding/|Interfaces/FactorRule\.)")
REFERENCE = re.compile(r"(?:include/weft|lib/Foundation)/(?:Cost|Pipeline|Planner)/")


def is_allowed(path, text):
    return bool((POINTER if "*" in text else REFERENCE).match(path))


def reasons():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in {".cpp", ".h"}:
                continue
            name = path.relative_to(ROOT).as_posix()
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for text in REASON.findall(line):
                    if not is_allowed(name, text):
                        yield f"{name}:{number}: {text}"


def ratchet(most):
    count = len(list(reasons()))
    if count > most:
        print(f"{count} parameters carry a reason as a text, {most} did: test/house/failures.py lists them")
    if count < most:
        print(f"{count} parameters carry a reason as a text, no longer {most}: write that number into test/lint.sh")
    return count != most


def main():
    if sys.argv[1:2] == ["--ratchet"]:
        sys.exit(ratchet(int(sys.argv[2])))
    found = list(reasons())
    print("\n".join(found + [f"{len(found)} parameters carry a reason as a text"]))
    sys.exit(bool(found))


main()
