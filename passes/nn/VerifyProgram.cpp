// The judge of programs on one logical device, at the borders of phases.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnTraining.h"
#include "passes/nn/Passes.h"
#include "passes/nn/ProgramAttributes.h"
#include "weft/Support/Diagnostics.h"

#include "llvm/ADT/StringMap.h"

namespace weft::nn {
#define GEN_PASS_DEF_NNVERIFYPROGRAM
#include "passes/nn/Passes.h.inc"
} // namespace weft::nn

using namespace mlir;
using namespace weft;

namespace {

/// Where a state of the module was met first.
struct State {
  func::FuncOp function;
  BlockArgument argument;
  Attribute get(StringRef name) const {
    func::FuncOp owner = function;
    return owner.getArgAttr(argument.getArgNumber(), name);
  }
};

/// Lets the first errors through and counts the others: each is printed with its line of text, and
/// that of a function's arguments may be as long as the program.
class FirstErrors {
public:
  explicit FirstErrors(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          return success(diagnostic.getSeverity() == DiagnosticSeverity::Error && ++count > kMost);
        }) {}
  unsigned numWithheld() const { return count > kMost ? count - kMost : 0; }

private:
  static constexpr unsigned kMost = 20;
  unsigned count = 0;
  OwnDiagnosticHandler handler;
};

/// Checks one module, whose ops were verified one by one.
class ProgramVerifier {
public:
  ProgramVerifier(ModuleOp module, bool complete, bool placed)
      : module(module), complete(complete), placed(placed) {}

  LogicalResult run() {
    failed = mlir::failed(verifyProgramAttributes(module));
    for (Operation &op : *module.getBody()) {
      function = dyn_cast<func::FuncOp>(op);
      if (!function)
        error(op.getLoc()) << "'" << op.getName()
                           << "' stands beside programs, which are functions; delete it";
      else if (function.isExternal() || !function.getBody().hasOneBlock())
        error(op.getLoc()) << "@" << function.getName() << " has "
                           << (function.isExternal() ? "no body" : "branches")
                           << "; a program is one list of ops, so write it as one";
      else if (Operation *end = function.front().getTerminator(); !isa<func::ReturnOp>(end))
        error(end->getLoc()) << "@" << function.getName() << " ends in '" << end->getName()
                             << "'; a program ends in what it returns, so write 'return'";
      else if (succeeded(verifyProgramAttributes(function)))
        verifyFunction();
      else
        failed = true;
    }
    return failure(failed);
  }

private:
  InFlightDiagnostic error(Location loc) {
    failed = true;
    return emitError(loc);
  }
  InFlightDiagnostic error(BlockArgument argument) {
    return error(argument.getLoc())
           << "argument " << argument.getArgNumber() << " of @" << function.getName() << " ";
  }
  InFlightDiagnostic resultError(unsigned number) {
    return error(resultLocation(function, number))
           << "result " << number << " of @" << function.getName() << " ";
  }
  Attribute argumentAttr(BlockArgument argument, StringRef name) {
    return function.getArgAttr(argument.getArgNumber(), name);
  }

  void verifyFunction() {
    if (complete && function.isPrivate())
      error(function.getLoc())
          << "@" << function.getName()
          << " is private; from 'step' on every function is a program, so make it "
             "public or delete it";
    arguments.clear();
    for (BlockArgument argument : function.getArguments()) {
      if (!verifyType(argument.getType(), [&] { return error(argument); }))
        continue;
      verifyName(argument);
      verifyDims(argument);
      verifyState(argument);
      if (complete && argumentAttr(argument, nn::kGradientAttr))
        error(argument) << "still stands for a gradient (nn.gradient), which 'step' computes; run "
                           "its passes before";
    }
    for (Operation &op : function.getBody().front().without_terminator())
      verifyOp(&op);
    verifyParameters();
    verifyResults();
  }

  /// Bound dims, element types that phases compute with, and no placement.
  bool verifyType(Type type, llvm::function_ref<InFlightDiagnostic()> error) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !isa<FloatType, IntegerType>(tensor.getElementType()))
      error() << "is no tensor of numbers: " << type
              << "; use a ranked tensor of floats or integers";
    else if (!tensor.hasStaticShape())
      error() << "has a dim that is not bound: " << type << "; give it its size";
    else if (tensor.getEncoding() && !placed)
      error() << "is placed, but the module has no mesh: " << type
              << "; give the module 'dist.mesh', or leave the placement out";
    else if (!hasBoundedSize(tensor))
      error() << describeExcess(tensor.getShape()) << "; make it smaller";
    else
      return true;
    return false;
  }

  void verifyName(BlockArgument argument) {
    auto name = cast_or_null<StringAttr>(argumentAttr(argument, nn::kNameAttr));
    // Who has none is called by its number (rt-lower-to-commands).
    if (!name)
      return;
    auto [first, isNew] = arguments.try_emplace(name.getValue(), argument);
    if (isNew)
      return;
    auto diagnostic = error(argument)
                      << "has the name " << name << " of another; give each its own";
    diagnostic.attachNote(first->second.getLoc())
        << "this is argument " << first->second.getArgNumber();
  }

  void verifyDims(BlockArgument argument) {
    int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
    auto names = cast_or_null<ArrayAttr>(argumentAttr(argument, nn::kDimsAttr));
    if (names && int64_t(names.size()) != rank)
      error(argument) << "has " << rank << " dims, but nn.dims names " << names.size()
                      << "; name each of them";
  }

  /// What begins somewhere is state, and what only state has stands on nothing else.
  void verifyState(BlockArgument argument) {
    Attribute source = argumentAttr(argument, nn::kSourceAttr),
              initial = argumentAttr(argument, nn::kInitialAttr);
    if (source && initial) {
      error(argument) << "has both a source of its bytes (nn.source) and a value at the start "
                         "(nn.initial); a state has one, so leave the other out";
      return;
    }
    if (!source && argumentAttr(argument, nn::kSourceTypeAttr))
      error(argument) << "has nn.source_type, but no nn.source; say where the bytes are, or "
                         "leave it out";
    if (!source && !initial) {
      for (StringRef name : {nn::kClassAttr, nn::kOfAttr, nn::kStatisticAttr, nn::kKeptAttr})
        if (argumentAttr(argument, name))
          error(argument) << "has " << name << ", but neither nn.source nor nn.initial, so it is "
                          << "no state; give it one of them, or leave " << name << " out";
      return;
    }
    if (!argumentAttr(argument, nn::kNameAttr))
      error(argument)
          << "is a state without a name, by which programs share it; give it an nn.name";
    if (source)
      verifySource(argument, cast<nn::SourceAttr>(source));
    auto elements = dyn_cast_or_null<DenseElementsAttr>(initial);
    auto type = cast<RankedTensorType>(argument.getType());
    if (elements && elements.getType().getShape() != type.getShape())
      error(argument) << "is " << type << ", but starts at " << elements.getType()
                      << " (nn.initial); give each element its own number, or all of them one";
    else if (initial)
      verifyKindOfNumber(argument, initial);
    verifyShared(argument);
  }

  /// Floats start at floats and integers at integers; the loader converts between their widths.
  void verifyKindOfNumber(BlockArgument argument, Attribute initial) {
    Type element = cast<RankedTensorType>(argument.getType()).getElementType(),
         given = getElementTypeOrSelf(cast<TypedAttr>(initial).getType());
    if (isa<FloatType>(element) != isa<FloatType>(given))
      error(argument) << "has elements of " << element << ", but starts at " << given
                      << " (nn.initial); start floats at floats and integers at integers";
  }

  /// The bytes are those of the whole tensor, where there are any.
  void verifySource(BlockArgument argument, nn::SourceAttr source) {
    auto type = cast<RankedTensorType>(argument.getType());
    auto stored = cast_or_null<TypeAttr>(argumentAttr(argument, nn::kSourceTypeAttr));
    unsigned width = (stored ? stored.getValue() : type.getElementType()).getIntOrFloatBitWidth();
    // A boolean takes a byte; smaller numbers than a byte are packed.
    int64_t bytes =
        width == 1 ? type.getNumElements() : llvm::divideCeil(type.getNumElements() * width, 8);
    if (!source.getFile().empty() && source.getLength() != bytes)
      error(argument) << "has " << type.getNumElements() << " elements in " << bytes
                      << " bytes, but its source has " << source.getLength()
                      << "; correct its length, or nn.source_type";
  }

  /// Programs share state by name.
  void verifyShared(BlockArgument argument) {
    auto name = cast_or_null<StringAttr>(argumentAttr(argument, nn::kNameAttr));
    if (!name)
      return;
    auto [found, isNew] = states.try_emplace(name.getValue(), State{function, argument});
    const State &first = found->second;
    if (isNew || first.function == function)
      return;
    bool isSame = argument.getType() == first.argument.getType();
    for (StringRef part : {nn::kSourceAttr, nn::kSourceTypeAttr, nn::kInitialAttr})
      isSame &= argumentAttr(argument, part) == first.get(part);
    if (isSame)
      return;
    auto diagnostic = error(argument) << "has another type, source or value at the start of state "
                                      << name << " than a program before; make them agree";
    diagnostic.attachNote(first.argument.getLoc())
        << "this is the state of @" << func::FuncOp(first.function).getName();
  }

  /// The closed set: `nn` ops on values of this device.
  void verifyOp(Operation *op) {
    if (!placed && !isa_and_nonnull<nn::NnDialect>(op->getDialect())) {
      error(op->getLoc()) << "'" << op->getName()
                          << "' is no op of nn; a program of one device has "
                          << "no others, so write it with these";
      return;
    }
    for (Type type : op->getResultTypes())
      verifyType(type, [&] { return error(op->getLoc()) << "a value "; });
    if (!complete && op->hasAttr(nn::kRoleAttr))
      error(op->getLoc())
          << "has nn.role, but what an op is for is decided by 'step'; leave it out";
    if (op->hasAttr(nn::kRecomputeAttr) && (!complete || op->hasAttr(nn::kRoleAttr)))
      error(op->getLoc())
          << "has nn.recompute, but is no op of the forward pass of a step; leave it "
             "out";
  }

  void verifyParameters() {
    for (BlockArgument argument : function.getArguments())
      if (auto of = cast_or_null<StringAttr>(argumentAttr(argument, nn::kOfAttr));
          of && !arguments.contains(of.getValue()))
        error(argument) << "belongs to " << of << " (nn.of), which is no argument; name one of @"
                        << function.getName();
  }

  void verifyResults() {
    llvm::StringMap<unsigned> names;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (!verifyType(function.getResultTypes()[i], [&] { return resultError(i); }))
        continue;
      auto name = function.getResultAttrOfType<StringAttr>(i, nn::kNameAttr),
           state = function.getResultAttrOfType<StringAttr>(i, nn::kUpdatesAttr);
      if (complete && !name && function.getResultAttr(i, nn::kInnerAttr))
        resultError(i) << "is marked nn.inner without a name, which 'step' takes away; run its "
                          "passes before";
      if (state)
        verifyUpdate(i, state);
      // An update may have the name of an output: they are of two kinds.
      if (!state && !name)
        continue;
      std::string key = (state ? "state " : "output ") + (state ? state : name).str();
      if (auto [first, isNew] = names.try_emplace(key, i); !isNew)
        resultError(i) << "is " << key << ", as result " << first->second << " is; "
                       << (state ? "update a state once" : "give it another name");
    }
  }

  void verifyUpdate(unsigned result, StringAttr state) {
    auto found = arguments.find(state.getValue());
    if (found == arguments.end() || !nn::isState(function, found->second.getArgNumber())) {
      resultError(result) << "updates " << state << ", which is no state of the program; name an "
                          << "argument with nn.source or nn.initial";
      return;
    }
    Type type = function.getResultTypes()[result];
    if (type == found->second.getType())
      return;
    auto diagnostic = resultError(result) << "updates state " << state << " by " << type
                                          << "; cast it to the type of the state";
    diagnostic.attachNote(found->second.getLoc()) << "the state is " << found->second.getType();
  }

  ModuleOp module;
  bool complete, placed;
  bool failed = false;
  /// Of the function that is looked at, by name.
  func::FuncOp function;
  llvm::StringMap<BlockArgument> arguments;
  llvm::StringMap<State> states;
};

struct VerifyProgram : nn::impl::NnVerifyProgramBase<VerifyProgram> {
  using NnVerifyProgramBase::NnVerifyProgramBase;
  void runOnOperation() override {
    unsigned more = 0;
    bool valid = true;
    {
      FirstErrors errors(&getContext());
      valid = succeeded(ProgramVerifier(getOperation(), complete, placed).run());
      more = errors.numWithheld();
    }
    if (more > 0)
      getOperation().emitError() << "and " << more << " more; mend these first";
    if (!valid)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
