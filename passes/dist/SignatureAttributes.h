// Attributes of a function's arguments or results, changed one by one and written at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_SIGNATUREATTRIBUTES_H
#define WEFT_PASSES_DIST_SIGNATUREATTRIBUTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::dist {

/// A function keeps the attributes of all its arguments in one list, which a change of one makes
/// anew: a training step has thousands of arguments. So changes are gathered here, and `write`
/// gives them to the function; until then it shows what it had.
class SignatureAttributes {
public:
  enum class Of { Arguments, Results };
  SignatureAttributes(mlir::func::FuncOp function, Of what);

  void set(unsigned index, llvm::StringRef name, mlir::Attribute value);
  void remove(unsigned index, llvm::StringRef name);
  void write();

private:
  mlir::func::FuncOp function;
  Of what;
  llvm::SmallVector<mlir::DictionaryAttr> dictionaries;
};

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_SIGNATUREATTRIBUTES_H
