#!/usr/bin/env python3
# Examples of passes: texts before and after, which are run as tests and spliced into the generated pages.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: examples.py check FILE         runs weft-opt --PASS on the text before; the text after must be what comes out
#        examples.py fill FILE          writes what comes out as the text after; read it before you commit it
#        examples.py missing PAGE...    prints the passes and ops of generated pages that have no example
#        examples.py splice OUT PAGE... checks the examples, and writes the pages with them into the folder OUT
#
# An example is test/docs/passes/PASS.mlir: comments that explain it, `// options: a=1 b=2` where the pass takes some,
# then `//--- before` and `//--- after` with a module each. Both are parsed and printed before they are compared, so
# names of values and the order of attributes are free. A pass that only reports has no text after: the text before
# holds its messages, as `expected-error` and `expected-remark`, and --verify-diagnostics finds each of them.
# The example of an op is where it stands first in test/dialects/DIALECT/ops.mlir, which every op passes unchanged.
import difflib
import pathlib
import re
import subprocess
import sys
import textwrap

TESTS = pathlib.Path(__file__).resolve().parent.parent
PASSES = TESTS / "docs/passes"
PASS, OP = r"### `-([\w-]+)`", r"### `((\w+)\.[\w.]+)` \("


class Example:
    def __init__(self, path):
        self.path, self.name = pathlib.Path(path), pathlib.Path(path).stem
        head, _, rest = self.path.read_text().partition("//--- before\n")
        self.head = head
        self.before, self.marked, self.after = rest.partition("//--- after\n")
        self.options = " ".join(re.findall(r"^// options: (.*)$", head, re.M))
        lines = re.findall(r"^// (?!RUN:|options:|SPDX)(.*)$", head, re.M)
        self.text = " ".join(lines)

    def flag(self):
        return f"--{self.name}" + (f"={self.options}" if self.options else "")

    def run(self):
        return optimize(self.before, self.flag())


def optimize(text, *flags):
    done = subprocess.run(["weft-opt", "-", *flags], input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"weft-opt {' '.join(flags)} failed:\n{done.stderr}")
    return done.stdout


def check(path):
    example = Example(path)
    if not example.marked:
        if "expected-" not in example.before:
            sys.exit(f"{path}: neither a text after nor a message that is expected")
        optimize(example.before, example.flag(), "--verify-diagnostics")
        return
    if "expected-" in example.before:
        optimize(example.before, example.flag(), "--verify-diagnostics")
    made, shown = example.run(), optimize(example.after)
    if made != shown:
        print("".join(difflib.unified_diff(shown.splitlines(True), made.splitlines(True), "shown", "made")))
        sys.exit(f"{path}: this is not what {example.flag()} makes")
    if made == optimize(example.before):
        sys.exit(f"{path}: {example.flag()} changes nothing")


def fill(path):
    example = Example(path)
    example.path.write_text(example.head + "//--- before\n" + example.before + "//--- after\n" + example.run())


def missing(pages):
    text = "".join(pathlib.Path(page).read_text() for page in pages)
    passes, ops = re.findall("^" + PASS, text, re.M), re.findall("^" + OP, text, re.M)
    if len(passes) < 40 or len(ops) < 100:
        sys.exit(f"only {len(passes)} passes and {len(ops)} ops")
    print("".join(f"{name}\n" for name in passes if not (PASSES / f"{name}.mlir").exists()), end="")
    print("".join(f"{name}\n" for name, dialect in ops if not use_of(name, dialect)), end="")


def use_of(op, dialect):
    """The first use of an op in the round-trip test of its dialect: its lines up to the one that closes all brackets."""
    lines = (TESTS / f"dialects/{dialect}/ops.mlir").read_text().splitlines()
    for number, line in enumerate(lines):
        if not re.match(r"\s*//", line) and re.search(rf"(?<![\w.]){re.escape(op)}(?![\w.])", line):
            use, depth = [], 0
            for line in lines[number:]:
                if use and depth <= 0 and not line.strip().startswith((":", "->")):
                    break
                if not re.match(r"\s*//", line):
                    use.append(line)
                    depth += sum(map(line.count, "({")) - sum(map(line.count, ")}"))
            return textwrap.dedent("\n".join(use)).strip()
    return None


def shown(name):
    path = PASSES / f"{name}.mlir"
    if not path.exists():
        return ""
    check(path)
    example = Example(path)
    page = f"#### Example\n\n{example.text}\n\n`weft-opt '{example.flag()}'`, before:\n\n```mlir\n{example.before.strip()}\n```\n\n"
    return page + (f"after:\n\n```mlir\n{example.after.strip()}\n```\n\n" if example.marked else "")


def with_example(section):
    if named := re.match(PASS, section):
        text, options, rest = section.partition("#### Options")
        return text + shown(named.group(1)) + options + rest
    if (named := re.match(OP, section)) and (use := use_of(*named.groups())):
        text, traits, rest = re.split(r"^(Traits: |Interfaces: |Effects: |#### |\Z)", section, maxsplit=1, flags=re.M)
        return f"{text}In use:\n\n```mlir\n{use}\n```\n\n{traits}{rest}"
    return section


def splice(out, pages):
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    for page in map(pathlib.Path, pages):
        sections = re.split(r"(?=^### `)", page.read_text(), flags=re.M)
        (pathlib.Path(out) / page.name).write_text("".join(map(with_example, sections)))


command, arguments = sys.argv[1], sys.argv[2:]
if command == "check":
    check(*arguments)
elif command == "fill":
    fill(*arguments)
elif command == "missing":
    missing(arguments)
elif command == "splice":
    splice(arguments[0], arguments[1:])
else:
    sys.exit(f"examples.py: what is {command}?")
