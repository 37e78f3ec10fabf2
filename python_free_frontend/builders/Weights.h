// Parameters of a built model: their declaration and where the numbers come
// from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_WEIGHTS_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_WEIGHTS_H

#include "python_free_frontend/builders/ModelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace weft::builders {

/// How a parameter starts. `center` is 1 for norm weights; `varied` is the
/// spread that init=varied gives to what models start as a constant.
struct Init {
  double center = 0, std = 0, varied = 0;
  static Init normal(double std) { return {0, std, std}; }
  static Init zeros() { return {0, 0, 0.02}; }
  static Init ones() { return {1, 0, 0.1}; }
};

struct Weight {
  std::string name;
  std::vector<int64_t> dims;
  Init init;
  /// Checkpoints hold this matrix transposed.
  bool transposed = false;
};

/// Gives the numbers of parameters, in any order and in pieces.
class WeightSource {
public:
  virtual ~WeightSource() = default;
  /// Fills `values` with elements [begin, begin + values.size()) of `weight`
  /// in row-major order.
  virtual llvm::Error read(const Weight &weight, int64_t begin,
                           llvm::MutableArrayRef<double> values) = 0;
};

/// Random numbers that depend on (seed, parameter name, element index) alone,
/// so that any element can be made anywhere, in any order.
///
/// An element is the sum of four uniform 16-bit integers, scaled: close to
/// normal, bounded by 3.46 standard deviations, and made by integer operations
/// and one multiplication, so that every machine makes the same bits (a
/// Box-Muller transform would depend on the math library).
class RandomWeights : public WeightSource {
public:
  RandomWeights(int64_t seed, bool varied) : seed(seed), varied(varied) {}
  llvm::Error read(const Weight &weight, int64_t begin,
                   llvm::MutableArrayRef<double> values) override;

private:
  int64_t seed;
  bool varied;
};

int32_t onnxType(DType type);
int64_t elementSize(int32_t onnxType);
/// Appends `values` rounded to nearest even, little-endian.
void appendEncoded(llvm::ArrayRef<double> values, int32_t onnxType, std::string &bytes);

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_WEIGHTS_H
