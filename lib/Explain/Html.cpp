// Puts the document into the page that draws it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Explain/Explain.h"

using namespace weft::explain;

/// report.html.
static constexpr llvm::StringLiteral kPage(
#include "report.html.inc"
);

void weft::explain::printHtml(const Document &document, llvm::raw_ostream &out) {
  auto [before, after] = llvm::StringRef(kPage).split("@DATA@");
  std::string json;
  llvm::raw_string_ostream stream(json);
  printJson(document, /*indent=*/false, stream);
  out << before;
  // A name may hold `</script>`; within JSON's strings `<` has another spelling.
  for (char c : json)
    if (c == '<')
      out << "\\u003c";
    else
      out << c;
  out << after;
}
