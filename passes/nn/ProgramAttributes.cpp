// What the attributes of programs hold: those of arguments, of results and of ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/ProgramAttributes.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnTraining.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::nn;

namespace {

/// An attribute that programs may carry: what it has to be, in words and as a check.
struct KnownAttribute {
  StringRef name, expected;
  bool (*holds)(Attribute);
};

bool isText(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && !text.empty();
}

bool isMark(Attribute value) { return isa<UnitAttr>(value); }

bool isNumber(Attribute value) {
  return isa<FloatAttr, DenseElementsAttr>(value) ||
         (isa<IntegerAttr>(value) && isa<IntegerType>(cast<IntegerAttr>(value).getType()));
}

bool isSource(Attribute value) {
  auto source = dyn_cast<SourceAttr>(value);
  return source && source.getOffset() >= 0 && source.getLength() >= 0;
}

bool isElementType(Attribute value) {
  auto type = dyn_cast<TypeAttr>(value);
  return type && isa<FloatType, IntegerType>(type.getValue());
}

bool isListOfTexts(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, llvm::IsaPred<StringAttr>);
}

bool isPair(Attribute value) {
  auto pair = dyn_cast<DenseI64ArrayAttr>(value);
  return pair && pair.size() == 2;
}

bool isStateClass(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && text.getValue() == "optimizer";
}

bool isRole(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && llvm::is_contained({StringRef(kRoleInputGradient), StringRef(kRoleWeightGradient),
                                     StringRef(kRoleOptimizer)},
                                    text.getValue());
}

const KnownAttribute kOfArguments[] = {
    {kNameAttr, "a string that is not empty", isText},
    {kDimsAttr, "a list of strings", isListOfTexts},
    {kSourceAttr, "#nn.source with an offset and a length that are not negative", isSource},
    {kSourceTypeAttr, "a type of floats or integers", isElementType},
    {kInitialAttr, "a number or elements", isNumber},
    {kClassAttr, "\"optimizer\"", isStateClass},
    {kOfAttr, "a string that is not empty", isText},
    {kStatisticAttr, "a mark without a value", isMark},
    {kKeptAttr, "a mark without a value", isMark},
    {kGradientAttr, "array<i64: RESULT, RESULT>", isPair},
};

const KnownAttribute kOfResults[] = {
    {kNameAttr, "a string that is not empty", isText},
    {kUpdatesAttr, "a string that is not empty", isText},
    {kInnerAttr, "a mark without a value", isMark},
};

const KnownAttribute kOfOps[] = {
    {kRoleAttr, "\"input_gradient\", \"weight_gradient\" or \"optimizer\"", isRole},
    {kRecomputeAttr, "a mark without a value", isMark},
};

/// Whether each attribute of `nn` in the list is known and holds what it should.
LogicalResult verify(Location loc, const Twine &place, ArrayRef<KnownAttribute> known,
                     ArrayRef<NamedAttribute> attributes) {
  for (NamedAttribute attribute : attributes) {
    if (!attribute.getName().getValue().starts_with("nn."))
      continue;
    const KnownAttribute *found = llvm::find_if(known, [&](const KnownAttribute &candidate) {
      return candidate.name == attribute.getName().getValue();
    });
    if (found == known.end()) {
      InFlightDiagnostic diagnostic = emitError(loc);
      diagnostic << attribute.getName() << " means nothing on " << place << "; "
                 << (known.empty() ? "leave it out" : "known there are ");
      llvm::interleaveComma(known, diagnostic,
                            [&](const KnownAttribute &one) { diagnostic << one.name; });
      return diagnostic;
    }
    if (!found->holds(attribute.getValue()))
      return emitError(loc) << attribute.getName() << " of " << place << " is "
                            << attribute.getValue() << ", expected " << found->expected;
  }
  return success();
}

} // namespace

Location weft::resultLocation(func::FuncOp function, unsigned number) {
  return function.front().getTerminator()->getOperand(number).getLoc();
}

/// Of an op that has none to know: a function or a module.
static LogicalResult verifyNone(Operation *op, const Twine &place) {
  return verify(op->getLoc(), place, {}, SmallVector<NamedAttribute>(op->getDiscardableAttrs()));
}

LogicalResult weft::verifyProgramAttributes(ModuleOp module) {
  return verifyNone(module, "the module");
}

LogicalResult weft::verifyProgramAttributes(func::FuncOp function) {
  bool valid = succeeded(verifyNone(function, "@" + function.getName()));
  auto interface = cast<FunctionOpInterface>(function.getOperation());
  auto name = [&](StringRef what, unsigned number) {
    return (what + " " + Twine(number) + " of @" + function.getName()).str();
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    valid &= succeeded(verify(function.getArgument(i).getLoc(), name("argument", i), kOfArguments,
                              interface.getArgAttrs(i)));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    valid &= succeeded(verify(resultLocation(function, i), name("result", i), kOfResults,
                              interface.getResultAttrs(i)));
  function.getBody().walk([&](Operation *op) {
    SmallVector<NamedAttribute> attributes(op->getDiscardableAttrs());
    valid &= succeeded(verify(op->getLoc(), "an op", kOfOps, attributes));
  });
  return success(valid);
}
