// Attributes of a function's arguments or results, changed one by one and written at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/SignatureAttributes.h"

using namespace mlir;

namespace weft::dist {

SignatureAttributes::SignatureAttributes(func::FuncOp function, Of what)
    : function(function), what(what) {
  if (what == Of::Arguments)
    function.getAllArgAttrs(dictionaries);
  else
    function.getAllResultAttrs(dictionaries);
}

void SignatureAttributes::set(unsigned index, StringRef name, Attribute value) {
  NamedAttrList list(dictionaries[index]);
  list.set(name, value);
  dictionaries[index] = list.getDictionary(function.getContext());
}

void SignatureAttributes::remove(unsigned index, StringRef name) {
  NamedAttrList list(dictionaries[index]);
  if (list.erase(name))
    dictionaries[index] = list.getDictionary(function.getContext());
}

void SignatureAttributes::write() {
  if (what == Of::Arguments)
    function.setAllArgAttrs(dictionaries);
  else
    function.setAllResultAttrs(dictionaries);
}

} // namespace weft::dist
