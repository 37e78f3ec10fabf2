// Attributes of the `onnx` dialect, one for each message of the file format.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optional parameter that is null stands for a field that is absent from the
// file; an empty string is a field that is present and empty. A null array is a
// repeated field without entries.
#ifndef WEFT_DIALECTS_ONNX_IR_ONNXATTRS_TD
#define WEFT_DIALECTS_ONNX_IR_ONNXATTRS_TD

include "dialects/onnx/IR/OnnxDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Onnx_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Onnx_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

// An attribute printed as `<field = value, ...>`.
class Onnx_MessageAttr<string name, string attrMnemonic>
    : Onnx_Attr<name, attrMnemonic> {
  let assemblyFormat = "`<` struct(params) `>`";
}

class Opt<string type> : OptionalParameter<"::mlir::" # type>;

def Onnx_EntryAttr : Onnx_MessageAttr<"Entry", "entry"> {
  let summary = "a pair of strings: metadata, bindings, keys of external data";
  let parameters = (ins Opt<"StringAttr">:$key, Opt<"StringAttr">:$value);
}

def Onnx_OpsetAttr : Onnx_MessageAttr<"Opset", "opset"> {
  let summary = "the version of an operator set that a model or function uses";
  let parameters = (ins Opt<"StringAttr">:$domain, Opt<"IntegerAttr">:$version);
}

def Onnx_DimsAttr : Onnx_Attr<"Dims", "dims"> {
  let summary = "encoding of a tensor type: names of dynamic dimensions";
  let description = [{
    `names` has one entry per dimension: a string is the name of a symbolic dimension (equal names mean equal extents), an integer is
    a negative extent as written in the file, `unit` means neither. `denotations`, if given, has one string or `unit` per dimension.
    `denotation` belongs to the whole type.

    Example: `tensor<?x?x768xf32, #onnx.dims<["batch", "seq", unit]>>`
  }];
  let parameters = (ins "::mlir::ArrayAttr":$names, Opt<"ArrayAttr">:$denotations, Opt<"StringAttr">:$denotation);
  let assemblyFormat = "`<` $names (`denotations` $denotations^)? (`denotation` $denotation^)? `>`";
}

def Onnx_ValueInfoAttr : Onnx_MessageAttr<"ValueInfo", "value_info"> {
  let summary = "name and declared type of a value";
  let parameters = (ins Opt<"StringAttr">:$name, Opt<"Type">:$type, Opt<"StringAttr">:$doc_string, Opt<"ArrayAttr">:$metadata);
}

def Onnx_BytesAttr : Onnx_Attr<"Bytes", "bytes"> {
  let summary = "a payload held in the IR";
  let description = [{
    `field` names the field of the tensor message that holds the payload. `bytes` are the little-endian elements of that field: 1 byte
    each for `raw`, 4 for `float` and `int32`, 8 for `int64`, `double` and `uint64`. Printed in hexadecimal.

    Example: `#onnx.bytes<float "0000803F">` is the single element 1.0.
  }];
  let parameters = (ins "::weft::onnx::DataField":$field, "::mlir::StringAttr":$bytes);
  let hasCustomAssemblyFormat = 1;
}

def Onnx_DataAttr : Onnx_Attr<"Data", "data"> {
  let summary = "a payload that stays in its file";
  let description = [{
    `length` bytes at `offset` of `file`, which may be opened from the working directory of the importing process. They are encoded as the
    field says: `raw`, `float` and `double` are the elements themselves, little-endian; `int32`, `int64` and `uint64` are packed varints.

    Example: `#onnx.data<raw "gpt2.onnx" offset 4096 length 9437184>`
  }];
  let parameters = (ins "::weft::onnx::DataField":$field, "::mlir::StringAttr":$file, "int64_t":$offset, "int64_t":$length);
  let hasCustomAssemblyFormat = 1;
}

def Onnx_TensorAttr : Onnx_MessageAttr<"Tensor", "tensor"> {
  let summary = "a constant tensor: initializer or attribute value";
  let description = [{
    `data` is one of: `#onnx.bytes` (held here), `#onnx.data` (in a file: the model's own, or, if `external` is set, the one named by it),
    an array of strings (`string_data`), nothing (an empty list). `location` is DEFAULT or EXTERNAL where the file says so.
    `weft::onnx::readTensor` gives the elements, whatever the form.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$type, Opt<"StringAttr">:$name, Opt<"Attribute">:$data, Opt<"ArrayAttr">:$external,
                        Opt<"StringAttr">:$location, Opt<"StringAttr">:$doc_string, Opt<"ArrayAttr">:$metadata);
}

def Onnx_SparseTensorAttr : Onnx_MessageAttr<"SparseTensor", "sparse_tensor"> {
  let summary = "a constant sparse tensor: values at indices of `dims`";
  let parameters = (ins Opt<"Attribute">:$values, Opt<"Attribute">:$indices, Opt<"DenseI64ArrayAttr">:$dims);
}

def Onnx_GraphAttr : Onnx_MessageAttr<"Graph", "graph_info"> {
  let summary = "what a graph message holds besides nodes and initializers";
  let description = [{
    `region` is the index of the op's region that holds the nodes, for a graph that is the value of an attribute. The block arguments of
    that region are the `inputs`, in order; its `onnx.yield` returns the `outputs`.
  }];
  let parameters = (ins Opt<"IntegerAttr">:$region, Opt<"StringAttr">:$name, Opt<"ArrayAttr">:$inputs, Opt<"ArrayAttr">:$outputs,
                        Opt<"ArrayAttr">:$value_info, Opt<"StringAttr">:$doc_string, Opt<"ArrayAttr">:$quantization_annotation,
                        Opt<"ArrayAttr">:$metadata);
}

def Onnx_QuantizationAttr : Onnx_MessageAttr<"Quantization", "quantization"> {
  let summary = "names of the tensors that quantise another";
  let parameters = (ins Opt<"StringAttr">:$tensor_name, Opt<"ArrayAttr">:$parameters);
}

def Onnx_AttributeAttr : Onnx_Attr<"Attribute", "attr"> {
  let summary = "a named attribute of a node, its kind exact";
  let description = [{
    The kinds and their values: FLOAT (`f32`), INT (`i64`), STRING, TENSOR (`#onnx.tensor`), GRAPH (`#onnx.graph_info`), SPARSE_TENSOR,
    TYPE_PROTO (a type), and their plurals (`array<f32: ...>`, `array<i64: ...>`, arrays of the others). A null value is a scalar left to
    its default by the file, or `ref` names an attribute of the enclosing function. A kind in parentheses was not written in the file.

    Examples: `#onnx.attr<"axis" : INT = 1 : i64>`, `#onnx.attr<"alpha" : FLOAT ref "slope">`
  }];
  let parameters = (ins Opt<"StringAttr">:$name, "::weft::onnx::AttributeKind":$kind, "bool":$typed, Opt<"Attribute">:$value,
                        Opt<"StringAttr">:$ref, Opt<"StringAttr">:$doc_string);
  let hasCustomAssemblyFormat = 1;
}

def Onnx_DeviceConfigurationAttr : Onnx_MessageAttr<"DeviceConfiguration", "device_configuration"> {
  let summary = "a set of devices on which a model may be run (IR 11)";
  let parameters = (ins Opt<"StringAttr">:$name, Opt<"IntegerAttr">:$num_devices, Opt<"ArrayAttr">:$device);
}

def Onnx_NodeDeviceConfigurationAttr : Onnx_MessageAttr<"NodeDeviceConfiguration", "node_devices"> {
  let summary = "how a node is split under one device configuration (IR 11)";
  let parameters = (ins Opt<"StringAttr">:$configuration_id, Opt<"ArrayAttr">:$sharding_spec, Opt<"IntegerAttr">:$pipeline_stage);
}

def Onnx_ShardingSpecAttr : Onnx_MessageAttr<"ShardingSpec", "sharding"> {
  let summary = "how one input or output of a node is split (IR 11)";
  let description = [{
    Shards are numbered in row-major order over `sharded_dim`, the first entry outermost; `device[k]` holds shard k. A device that is a
    key of `device_groups` stands for a group whose members all hold a replica.
  }];
  let parameters = (ins Opt<"StringAttr">:$tensor_name, Opt<"DenseI64ArrayAttr">:$device, Opt<"ArrayAttr">:$device_groups, Opt<"ArrayAttr">:$sharded_dim);
}

def Onnx_DeviceGroupAttr : Onnx_MessageAttr<"DeviceGroup", "device_group"> {
  let summary = "a key and the devices it stands for";
  let parameters = (ins Opt<"IntegerAttr">:$key, Opt<"DenseI64ArrayAttr">:$devices);
}

def Onnx_ShardedDimAttr : Onnx_MessageAttr<"ShardedDim", "sharded_dim"> {
  let summary = "an axis and the factors into which it is split";
  let parameters = (ins Opt<"IntegerAttr">:$axis, Opt<"ArrayAttr">:$factors);
}

def Onnx_ShardedFactorAttr : Onnx_MessageAttr<"ShardedFactor", "sharded_factor"> {
  let summary = "the extent of a factor (integer or name) and its number of shards";
  let parameters = (ins Opt<"Attribute">:$dim, Opt<"IntegerAttr">:$num_shards);
}

def Onnx_ModelAttr : Onnx_MessageAttr<"Model", "model"> {
  let summary = "what a model message holds besides graph, functions and training";
  let parameters = (ins Opt<"IntegerAttr">:$ir_version, Opt<"StringAttr">:$producer_name, Opt<"StringAttr">:$producer_version,
                        Opt<"StringAttr">:$domain, Opt<"IntegerAttr">:$model_version, Opt<"StringAttr">:$doc_string,
                        Opt<"ArrayAttr">:$opset_import, Opt<"ArrayAttr">:$metadata, Opt<"ArrayAttr">:$configuration);
}

#endif // WEFT_DIALECTS_ONNX_IR_ONNXATTRS_TD
