//===- NnDialect.td - dialect, attributes and base classes of nn -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_NN_IR_NNDIALECT_TD
#define WEFT_DIALECTS_NN_IR_NNDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/nn/IR/NnEnums.td"
include "weft/Interfaces/OpInterfaces.td"
include "weft/Interfaces/ReduceKind.td"

def Nn_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::weft::nn";
  let summary = "A small closed set of tensor ops on one logical device";
  let description = [{
    The phases `graph` and `step`, and with placements in the types' encoding the
    phases `sharded` and `local`. Shapes are static. Broadcasts are explicit
    (`nn.broadcast`), so that elementwise ops have one shape and the gradient of a
    broadcast is visible. Signless integer types are signed, `ui*` unsigned, `i1`
    bool.

    A program is a `func.func`; its arguments are inputs or state. Argument
    attributes: `nn.name` (the name in the model file) and, for state,
    `nn.source` (where the bytes are). Result attribute: `nn.name`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

/// Types of operands and results are bounded, so that no phase overflows.
class Nn_TensorOf<list<Type> elements>
    : Type<And<[StaticShapeTensorOf<elements>.predicate, CPred<"::weft::hasBoundedSize($_self)">]>,
           StaticShapeTensorOf<elements>.summary # " of at most 64 dims and 2^40 elements", "::mlir::RankedTensorType">;
def Nn_Tensor : Nn_TensorOf<[F64, F32, F16, BF16, AnyInteger]>;
def Nn_FloatTensor : Nn_TensorOf<[F64, F32, F16, BF16]>;
def Nn_IntegerTensor : Nn_TensorOf<[AnyInteger]>;
/// Floats and integers other than bool.
def Nn_NumberTensor : Nn_TensorOf<[F64, F32, F16, BF16, AnyI8, AnyI16, AnyI32, AnyI64]>;
def Nn_BoolTensor : Nn_TensorOf<[I1]>;

def Nn_CompareKindAttr : EnumAttr<Nn_Dialect, Nn_CompareKind, "compare">;

def Nn_ReduceKindAttr : EnumAttr<Nn_Dialect, Weft_ReduceKind, "reduce_kind"> {
  let cppNamespace = "::weft::nn";
}

def Nn_ScatterKindAttr : EnumAttr<Nn_Dialect, Nn_ScatterKind, "scatter_kind">;

def Nn_SourceAttr : AttrDef<Nn_Dialect, "Source"> {
  let mnemonic = "source";
  let summary = "where the bytes of a state are";
  let description = [{
    `file` is relative to the model's folder unless absolute; `offset` and `length`
    are in bytes; little-endian row-major elements. An empty file means that there
    are no bytes (built with `--no-weights`): the program compiles, and running it
    needs weights from elsewhere. `hash` is the XXH3-64 of the bytes, 0 if unknown.

    Example: `#nn.source<file = "gpt2.onnx", offset = 4096, length = 1024>`
  }];
  let parameters = (ins StringRefParameter<>:$file, "int64_t":$offset, "int64_t":$length,
                        DefaultValuedParameter<"uint64_t", "0">:$hash);
  let assemblyFormat = "`<` struct(params) `>`";
}

// The lists name those interface methods with a default that the op overrides:
// of KernelOpInterface in NnKernels*.cpp, of ShardableOpInterface in Nn<Family>.cpp, of
// DifferentiableOpInterface in NnGradient*.cpp.
class Nn_Op<string mnemonic, list<Trait> traits = [], list<string> kernelMethods = ["getParallelDims"],
            list<string> shardMethods = [], list<string> gradientMethods = ["buildGradient"]>
    : Op<Nn_Dialect, mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<ShardableOpInterface, shardMethods>,
        DeclareOpInterfaceMethods<ReferenceOpInterface>,
        DeclareOpInterfaceMethods<DifferentiableOpInterface, gradientMethods>,
        DeclareOpInterfaceMethods<KernelOpInterface, kernelMethods>], traits)>;

#endif // WEFT_DIALECTS_NN_IR_NNDIALECT_TD
