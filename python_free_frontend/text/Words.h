// Words of the ONNX text syntax: names of types, and what an identifier is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_TEXT_WORDS_H
#define WEFT_PYTHON_FREE_FRONTEND_TEXT_WORDS_H

#include "onnx.pb.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace weft::text {

/// "float" for FLOAT and so on; empty for a number that has no name.
llvm::StringRef dataTypeName(int32_t type);
std::optional<int32_t> dataTypeOf(llvm::StringRef name);

/// "ints" for INTS and so on; empty for UNDEFINED.
llvm::StringRef attributeKindName(onnx::Attribute::Kind kind);
std::optional<onnx::Attribute::Kind> attributeKindOf(llvm::StringRef name);
/// "float, int, string, ..." for messages.
std::string attributeKindNames();

/// The kind of an attribute; old files leave it to be seen from what is set.
onnx::Attribute::Kind effectiveKind(const onnx::Attribute &attr);

/// INTS to INT and so on; other kinds stay.
onnx::Attribute::Kind elementKind(onnx::Attribute::Kind kind);
bool isListKind(onnx::Attribute::Kind kind);

/// A letter or '_', then letters, digits and '_'.
bool isIdentifier(llvm::StringRef text);
/// Starts a type: a data type's name, seq, map, optional, ...
bool isTypeWord(llvm::StringRef word);
/// inf, infinity or nan in any case.
bool isFloatWord(llvm::StringRef word);

/// How elements of a type are spelled in `{...}`.
struct ElementForm {
  enum class Kind { Signed, Unsigned, Float, Double, String };
  Kind kind = Kind::Signed;
  unsigned bits = 0; // of one literal, as stored in raw_data
  bool wide = false; // stored in int64_data or uint64_data, not int32_data
};
/// Nothing for UNDEFINED and numbers we do not know.
std::optional<ElementForm> elementForm(int32_t type);

/// The number of literals that `elements` elements take: packed types hold
/// several in a byte, complex ones two numbers each. Negative on overflow.
int64_t literalCount(int32_t type, int64_t elements);

/// Product of dims; negative when one is negative or it overflows.
int64_t elementCount(const onnx::Tensor &tensor);

} // namespace weft::text

#endif // WEFT_PYTHON_FREE_FRONTEND_TEXT_WORDS_H
