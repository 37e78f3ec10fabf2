# check_report.py PAGE [PLAN]: a page that loads nothing, well-formed, with the document PLAN in it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import html.parser
import json
import sys

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.data, self.ids, self.scripts = [], "", set(), 0

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert tag not in ("img", "link", "iframe"), tag
        assert "src" not in attributes and "href" not in attributes, attributes
        self.scripts += tag == "script"
        self.ids.add(attributes.get("id"))
        if tag not in VOID:
            self.open.append((tag, attributes.get("id")))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == ("script", "data"):
            self.data += data


with open(sys.argv[1], encoding="utf-8") as stream:
    text = stream.read()
page = Page()
page.feed(text)
page.close()
assert not page.open, page.open
assert page.scripts == 2 and {"collectives", "memory", "nodes", "statetable", "hints"} <= page.ids
assert "default-src 'none'" in text and "prefers-color-scheme: dark" in text and "@media print" in text
# Bytes and seconds by layer, too.
for field in "program.layer_classes", "time(one.seconds)":
    assert field in text, field
document = json.loads(page.data)
assert document["version"] == 1
if len(sys.argv) > 2:
    with open(sys.argv[2], encoding="utf-8") as stream:
        assert document == json.load(stream)
