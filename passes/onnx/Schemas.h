// The form that the standard gives a node: counts and attributes by version.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_SCHEMAS_H
#define WEFT_PASSES_ONNX_SCHEMAS_H

#include "dialects/onnx/IR/Onnx.h"

#include "llvm/ADT/StringSet.h"

#include <string>

namespace weft::onnx {

/// One attribute that an operator has.
struct AttributeSchema {
  llvm::StringRef name;
  AttributeKind kind = AttributeKind::Undefined;
  bool required = false;
  /// Its numbers have nothing to do with shapes, so any will do.
  bool anyNumber = false;
  /// Whether a handler may leave it unread: it changes nothing in the forms of
  /// the node that do not ask for it.
  bool idle = false;
  /// As text; "" if the standard has none.
  llvm::StringRef otherwise;
};

struct Schema {
  static constexpr unsigned kMany = ~0u;

  unsigned leastInputs = 0, mostInputs = 0, leastOutputs = 0, mostOutputs = 0;
  llvm::SmallVector<AttributeSchema, 4> attributes;

  const AttributeSchema *find(llvm::StringRef name) const;
};

/// The form in force in that version of the domain; null if it has none.
const Schema *findSchema(llvm::StringRef domain, llvm::StringRef op, int64_t version);

/// The value of an attribute of a node where it stands: of the call, for an
/// attribute that refers to one of the function around it.
using AttributeValue = llvm::function_ref<AttributeAttr(AttributeAttr)>;

/// What is wrong with the form of a node, or "": counts of inputs and outputs,
/// attributes that are unknown, there twice, of another kind, missing, or
/// numbers that no shape can have.
std::string checkForm(NodeOp node, const Schema &schema, AttributeValue value);

/// The same for the call of a model's own function.
std::string checkCall(NodeOp node, FunctionOp callee);

/// The attribute that is given another value than its default and not in
/// `read`, as a reason to refuse the node; or "".
std::string checkRead(NodeOp node, const Schema &schema, AttributeValue value,
                      const llvm::StringSet<> &read);

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_SCHEMAS_H
