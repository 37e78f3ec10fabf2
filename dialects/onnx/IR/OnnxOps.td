// Ops of the `onnx` dialect: one node op for every operator, and containers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_ONNX_IR_ONNXOPS_TD
#define WEFT_DIALECTS_ONNX_IR_ONNXOPS_TD

include "dialects/onnx/IR/OnnxAttrs.td"
include "dialects/onnx/IR/OnnxTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Onnx_Op<string mnemonic, list<Trait> traits = []> : Op<Onnx_Dialect, mnemonic, traits>;

// Results and block arguments are printed under the names of the file.
def Onnx_NamesResults : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;
def Onnx_NamesArguments : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;
def Onnx_NamesBoth : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames", "getAsmBlockArgumentNames"]>;

def Onnx_NodeOp : Onnx_Op<"node", [Onnx_NamesBoth]> {
  let summary = "apply the operator or function that the name says";
  let description = [{
    One node of a graph. An absent optional input is the value of an `onnx.none`; an absent optional output has the name "" and type
    `!onnx.none`. Result types are those that the file declares for the names, else `!onnx.unknown`. `onnx_attributes` keeps the order and
    the kinds of the file; a graph among them refers to one of the regions.

    Constraints, in the order the verifier reports them:
    - there is one output name per result;
    - each entry of `onnx_attributes` is an `#onnx.attr`;
    - each region is referred to by exactly one graph among the attributes, and its block arguments are that graph's inputs.

    Lifespan: created by the importer, removed by `convert-onnx-to-nn`.

    Example:
    `%y = onnx.node "Softmax"(%x) outputs ["y"] attributes [#onnx.attr<"axis" : INT = 1 : i64>] : (tensor<2x3xf32>) -> tensor<2x3xf32>`
  }];
  let arguments = (ins StrAttr:$op_type, OptionalAttr<StrAttr>:$domain, OptionalAttr<StrAttr>:$overload, Variadic<AnyType>:$inputs,
                       ArrayAttr:$output_names, OptionalAttr<StrAttr>:$node_name, OptionalAttr<ArrayAttr>:$onnx_attributes,
                       OptionalAttr<StrAttr>:$doc_string, OptionalAttr<ArrayAttr>:$metadata,
                       OptionalAttr<ArrayAttr>:$device_configurations);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region VariadicRegion<SizedRegion<1>>:$graphs);
  let assemblyFormat = [{
    $op_type (`in` $domain^)? (`overload` $overload^)? `(` $inputs `)` `outputs` $output_names (`name` $node_name^)?
    (`attributes` $onnx_attributes^)? (`doc` $doc_string^)? (`metadata` $metadata^)? (`devices` $device_configurations^)?
    (`graphs` $graphs^)? attr-dict `:` functional-type($inputs, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The operator's domain; the default domain is "" however it is written.
    ::llvm::StringRef getCanonicalDomain();
    /// The name of an output, "" if it is absent.
    ::llvm::StringRef getOutputName(unsigned index);
    /// True if input `index` is given: neither beyond the end nor absent.
    bool hasInput(unsigned index);
    /// The attribute of that name, or null.
    AttributeAttr getAttribute(::llvm::StringRef name);
    /// Values by kind; none if there is no such attribute of that kind. A
    /// string without a value has the default of the file format: "".
    std::optional<::llvm::StringRef> getString(::llvm::StringRef name);
    std::optional<::llvm::SmallVector<::llvm::StringRef>> getStrings(::llvm::StringRef name);
    /// The graph attribute of that name: null, or its fields and its region.
    GraphAttr getGraph(::llvm::StringRef name);
    ::mlir::Region *getGraphRegion(::llvm::StringRef name);
  }];
}

def Onnx_NoneOp : Onnx_Op<"none", [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "the absent optional input";
  let description = "Example: `%none = onnx.none : !onnx.none`";
  let results = (outs Onnx_NoneType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Onnx_InitializerOp : Onnx_Op<"initializer", [Pure, Onnx_NamesResults]> {
  let summary = "a named constant of a graph: a weight, usually";
  let description = [{
    If a graph input has the same name, the initializer is its default (and, before IR 4, its value): uses refer to the initializer,
    and the block argument has none.

    Constraint: the result type is the type of `value`.

    Example: `%w = onnx.initializer #onnx.tensor<type = tensor<1xf32>, name = "w", data = #onnx.bytes<raw "0000803F">> : tensor<1xf32>`
  }];
  let arguments = (ins Onnx_TensorAttr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Onnx_SparseInitializerOp : Onnx_Op<"sparse_initializer", [Pure, Onnx_NamesResults]> {
  let summary = "a named sparse constant of a graph";
  let arguments = (ins Onnx_SparseTensorAttr:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def Onnx_GraphOp : Onnx_Op<"graph", [IsolatedFromAbove, SingleBlock, Onnx_NamesArguments]> {
  let summary = "the model's main graph";
  let description = [{
    Its block holds the initializers, then the nodes in order, then any `onnx.training_info`, then an `onnx.yield`.

    Constraint: the block arguments have the types of the declared inputs, and the `onnx.yield` returns one value per declared output.
  }];
  let arguments = (ins Onnx_GraphAttr:$info);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$info $body attr-dict";
  let hasVerifier = 1;
}

def Onnx_FunctionOp : Onnx_Op<"function", [IsolatedFromAbove, Onnx_NamesArguments]> {
  let summary = "a model-local function: an operator defined by nodes";
  let description = [{
    Called by nodes with the same domain, name and overload. The block arguments of `body` are its inputs, `onnx.yield` returns its
    outputs. Attributes named in `plain_attributes` have no default, those in `onnx_attributes` have one; default graphs are in `graphs`.
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$function_name, OptionalAttr<StrAttr>:$domain, OptionalAttr<StrAttr>:$overload,
                       ArrayAttr:$input_names, ArrayAttr:$output_names, OptionalAttr<ArrayAttr>:$plain_attributes,
                       OptionalAttr<ArrayAttr>:$onnx_attributes, OptionalAttr<ArrayAttr>:$opset_import, OptionalAttr<StrAttr>:$doc_string,
                       OptionalAttr<ArrayAttr>:$value_info, OptionalAttr<ArrayAttr>:$metadata);
  let regions = (region SizedRegion<1>:$body, VariadicRegion<SizedRegion<1>>:$graphs);
  let assemblyFormat = [{
    (`name` $function_name^)? (`in` $domain^)? (`overload` $overload^)? `inputs` $input_names `outputs` $output_names
    (`plain_attributes` $plain_attributes^)? (`attributes` $onnx_attributes^)? (`opsets` $opset_import^)? (`doc` $doc_string^)?
    (`value_info` $value_info^)? (`metadata` $metadata^)? `body` $body (`graphs` $graphs^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Onnx_TrainingInfoOp : Onnx_Op<"training_info", [Onnx_NamesArguments]> {
  let summary = "a training step of the standard: initialisation, algorithm, bindings";
  let description = [{
    Stands last in the main graph, because the algorithm may read the graph's values. `graphs` holds one region for each of
    `initialization` and `algorithm` that is given; they refer to them by index.

    Constraint: each region belongs to exactly one of the two graphs.
  }];
  let arguments = (ins OptionalAttr<Onnx_GraphAttr>:$initialization, OptionalAttr<Onnx_GraphAttr>:$algorithm,
                       OptionalAttr<ArrayAttr>:$initialization_binding, OptionalAttr<ArrayAttr>:$update_binding);
  let regions = (region VariadicRegion<SizedRegion<1>>:$graphs);
  let assemblyFormat = [{
    (`initialization` $initialization^)? (`algorithm` $algorithm^)? (`initialize` $initialization_binding^)?
    (`update` $update_binding^)? (`graphs` $graphs^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Onnx_YieldOp : Onnx_Op<"yield", [Pure, Terminator]> {
  let summary = "the outputs of a graph or function";
  let arguments = (ins Variadic<AnyType>:$outputs);
  let assemblyFormat = "attr-dict ($outputs^ `:` type($outputs))?";
}

#endif // WEFT_DIALECTS_ONNX_IR_ONNXOPS_TD
