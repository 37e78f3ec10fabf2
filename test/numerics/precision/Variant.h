// One model in one precision: compiled for a mesh, and by the oracle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_NUMERICS_PRECISION_VARIANT_H
#define WEFT_TEST_NUMERICS_PRECISION_VARIANT_H

#include "weft/Interfaces/HostTensor.h"
#include "weft/Testing/Interpreter/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::test {

struct Model {
  const char *name, *spec, *bind;
  /// Whether what it computes is continuous in its inputs. Routing is not: in low
  /// precision another expert may be the right one.
  bool continuous;
};

class Variant {
public:
  /// `path` is the built model; `precision` a type as `step-set-precision` names it.
  Variant(mlir::MLIRContext &context, std::string path, const Model &model, std::string precision)
      : context(context), path(std::move(path)), model(model), precision(std::move(precision)) {}

  /// The program at `step`, as the model's nodes say or with idioms raised, its
  /// casts made explicit. Results are those before they are cast back to the
  /// types of the model, so that fp64 is seen as fp64.
  mlir::OwningOpRef<mlir::ModuleOp> stepProgram(bool raised) const;

  /// What the oracle says, under one rule of rounding or the other.
  std::optional<std::vector<HostTensor>> interpreted(bool raised,
                                                     InterpreterOptions::Rounding rounding) const;

  /// What the program compiled for `processor` computes on the ranks of `mesh`
  /// ("": one rank), or nothing and why.
  std::optional<std::vector<HostTensor>> compiled(const std::string &mesh, bool sequenceParallel,
                                                  const std::string &processor,
                                                  std::string &why) const;

private:
  std::vector<HostTensor> inputsOf(mlir::ModuleOp module) const;

  mlir::MLIRContext &context;
  std::string path;
  const Model &model;
  std::string precision;
};

/// max|y-o| / max(max|o|, tiny) over all tensors; infinite if shapes, integers or
/// special values differ.
double errorOf(const std::vector<HostTensor> &found, const std::vector<HostTensor> &oracle);

} // namespace weft::test

#endif // WEFT_TEST_NUMERICS_PRECISION_VARIANT_H
