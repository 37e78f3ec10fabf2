// Finds the matrices of a product in strided windows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/CublasProduct.h"

#include <algorithm>

using namespace weft::runtime;

namespace {

/// More calls than that are a kernel's work.
constexpr int64_t kMostCalls = 256;
/// cuBLASLt counts rows, columns and batches in 32 bits where it chooses algorithms.
constexpr int64_t kMostOfADim = INT32_MAX;

bool isLibraryFloat(DType type) {
  return type == DType::F64 || type == DType::F32 || type == DType::BF16 || type == DType::F16;
}

/// Finds how a matrix of these sizes and strides lies by columns.
bool findColumns(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride,
                 ColumnMatrix &matrix) {
  if ((rows == 1 || rowStride == 1) && (columns == 1 || columnStride >= rows)) {
    matrix.turned = false;
    matrix.leading = columns == 1 ? rows : columnStride;
    return true;
  }
  if ((columns == 1 || columnStride == 1) && (rows == 1 || rowStride >= columns)) {
    matrix.turned = true;
    matrix.leading = rows == 1 ? columns : rowStride;
    return true;
  }
  return false;
}

/// A batch dim: its size, and its stride in each tensor.
struct BatchDim {
  int64_t size;
  std::vector<int64_t> strides;
};

/// The dims of more than one element, merged where all tensors pass two at one go.
std::vector<BatchDim> batchDims(const std::vector<const ProductTensor *> &tensors) {
  std::vector<BatchDim> dims;
  const ProductTensor &first = *tensors.front();
  for (size_t d = 0; d + 2 < first.sizes.size(); ++d) {
    BatchDim dim{first.sizes[d], {}};
    if (dim.size == 1)
      continue;
    for (const ProductTensor *tensor : tensors)
      dim.strides.push_back(tensor->strides[d]);
    bool merges = !dims.empty();
    for (size_t t = 0; t < tensors.size() && merges; ++t)
      merges = dims.back().strides[t] == dim.strides[t] * dim.size;
    if (merges)
      dim.size *= dims.back().size, dims.back() = dim;
    else
      dims.push_back(dim);
  }
  return dims;
}

} // namespace

std::string weft::runtime::planCublasProduct(const ProductTensor &lhs, const ProductTensor &rhs,
                                             const ProductTensor &result,
                                             const std::vector<ProductTensor> &addends,
                                             CublasProduct &product) {
  product = {};
  if (addends.size() > 1)
    return "cuBLASLt adds one matrix to a product";
  const ProductTensor *addend = addends.empty() ? nullptr : &addends.front();
  if (!isLibraryFloat(lhs.dtype))
    return "cuBLASLt is used for products of floats";
  size_t row = result.sizes.size() - 2, column = row + 1;
  product.m = result.sizes[row];
  product.n = result.sizes[column];
  product.k = lhs.sizes[column];
  if (!findColumns(product.m, product.n, result.strides[row], result.strides[column],
                   product.result))
    return "cuBLASLt needs a result whose rows or columns are contiguous";
  // Turned, operands change places, and each is the transpose of what it was.
  product.isSwapped = product.result.turned;
  size_t first = row, second = column;
  const ProductTensor *left = &lhs, *right = &rhs;
  if (product.isSwapped) {
    std::swap(left, right);
    std::swap(first, second);
    std::swap(product.m, product.n);
    product.result.turned = false;
  }
  if (!findColumns(product.m, product.k, left->strides[first], left->strides[second],
                   product.lhs) ||
      !findColumns(product.k, product.n, right->strides[first], right->strides[second],
                   product.rhs))
    return "cuBLASLt needs operands whose rows or columns are contiguous";
  if (addend && addend->dtype != (lhs.dtype == DType::F64 ? DType::F64 : DType::F32))
    return "cuBLASLt adds before it rounds, so only in the type of the sum";
  if (addend && (!findColumns(product.m, product.n, addend->strides[first], addend->strides[second],
                              product.addend) ||
                 product.addend.turned))
    return "cuBLASLt needs an addend that lies as the result does";
  if (std::max({product.m, product.n, product.k}) > kMostOfADim ||
      std::min({product.m, product.n, product.k}) == 0)
    return "cuBLASLt takes matrices of 1 to 2147483647 rows and columns";

  std::vector<const ProductTensor *> tensors = {left, right, &result};
  std::vector<ColumnMatrix *> matrices = {&product.lhs, &product.rhs, &product.result};
  if (addend) {
    tensors.push_back(addend);
    matrices.push_back(&product.addend);
  }
  std::vector<BatchDim> dims = batchDims(tensors);
  // The longest is a call's batch, the others are calls.
  auto longest = std::max_element(dims.begin(), dims.end(),
                                  [](const auto &a, const auto &b) { return a.size < b.size; });
  for (auto dim = dims.begin(); dim != dims.end(); ++dim) {
    if (dim->size == 0 || dim->size > kMostOfADim)
      return "cuBLASLt takes batches of 1 to 2147483647 matrices";
    if (dim == longest) {
      product.batch = dim->size;
    } else {
      product.outerSizes.push_back(dim->size);
      product.calls *= dim->size;
    }
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (dim->strides[t] < 0)
        return "cuBLASLt needs batches that lie in ascending order";
      if (dim == longest)
        matrices[t]->batchStride = dim->strides[t];
      else
        matrices[t]->outerStrides.push_back(dim->strides[t]);
    }
    if (product.calls > kMostCalls)
      return "a product of more than " + std::to_string(kMostCalls) +
             " batches that cuBLASLt cannot do at one go";
  }
  return "";
}
