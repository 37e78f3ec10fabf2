// Which products cuBLASLt takes, and as what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/CublasProduct.h"

#include <gtest/gtest.h>

using namespace weft::runtime;

namespace {

using Ints = std::vector<int64_t>;

ProductTensor tensor(Ints sizes, Ints strides, DType dtype = DType::F32) {
  return {dtype, std::move(sizes), std::move(strides)};
}

TEST(CublasProduct, ResultsByRowsAreTurned) {
  CublasProduct product;
  EXPECT_EQ(planCublasProduct(tensor({3, 5}, {5, 1}), tensor({5, 7}, {7, 1}),
                              tensor({3, 7}, {7, 1}), {}, product),
            "");
  EXPECT_TRUE(product.isSwapped);
  EXPECT_EQ(product.m, 7);
  EXPECT_EQ(product.n, 3);
  EXPECT_EQ(product.k, 5);
  EXPECT_FALSE(product.lhs.turned);
  EXPECT_FALSE(product.rhs.turned);
  EXPECT_EQ(product.lhs.leading, 7);
  EXPECT_EQ(product.rhs.leading, 5);
  EXPECT_EQ(product.result.leading, 7);
}

TEST(CublasProduct, ResultsByColumnsAreNot) {
  CublasProduct product;
  EXPECT_EQ(planCublasProduct(tensor({3, 5}, {5, 1}), tensor({5, 7}, {1, 9}),
                              tensor({3, 7}, {1, 3}), {}, product),
            "");
  EXPECT_FALSE(product.isSwapped);
  EXPECT_TRUE(product.lhs.turned);
  EXPECT_FALSE(product.rhs.turned);
  EXPECT_EQ(product.rhs.leading, 9);
}

TEST(CublasProduct, BatchesAreMergedOrCalls) {
  CublasProduct product;
  // [batch, head, row, column] of one buffer, and heads between the rows.
  EXPECT_EQ(planCublasProduct(tensor({4, 3, 8, 2}, {48, 2, 6, 1}),
                              tensor({4, 3, 2, 8}, {48, 2, 1, 6}),
                              tensor({4, 3, 8, 8}, {192, 64, 8, 1}), {}, product),
            "");
  EXPECT_EQ(product.batch, 4);
  EXPECT_EQ(product.calls, 3);
  EXPECT_EQ(product.outerSizes, Ints{3});
  EXPECT_EQ(product.result.batchStride, 192);
  EXPECT_EQ(product.result.outerStrides, Ints{64});
  EXPECT_EQ(planCublasProduct(tensor({4, 3, 8, 2}, {48, 16, 2, 1}),
                              tensor({4, 3, 2, 8}, {48, 16, 8, 1}),
                              tensor({4, 3, 8, 8}, {192, 64, 8, 1}), {}, product),
            "");
  EXPECT_EQ(product.batch, 12);
  EXPECT_EQ(product.calls, 1);
}

TEST(CublasProduct, WhatTheLibraryDoesNotDoIsSaid) {
  auto whyNot = [](ProductTensor lhs, ProductTensor rhs, ProductTensor result,
                   const std::vector<ProductTensor> &addends = {}) {
    CublasProduct product;
    return planCublasProduct(lhs, rhs, result, addends, product);
  };
  ProductTensor lhs = tensor({3, 5}, {5, 1}), rhs = tensor({5, 7}, {7, 1}),
                result = tensor({3, 7}, {7, 1});
  EXPECT_EQ(whyNot(tensor({3, 5}, {5, 1}, DType::I8), rhs, result),
            "cuBLASLt is used for products of floats");
  EXPECT_EQ(whyNot(lhs, rhs, tensor({3, 7}, {14, 2})),
            "cuBLASLt needs a result whose rows or columns are contiguous");
  EXPECT_EQ(whyNot(tensor({3, 5}, {10, 2}), rhs, result),
            "cuBLASLt needs operands whose rows or columns are contiguous");
  // Rows that lie in each other.
  EXPECT_EQ(whyNot(tensor({3, 5}, {2, 1}), rhs, result),
            "cuBLASLt needs operands whose rows or columns are contiguous");
  ProductTensor byColumns = tensor({3, 7}, {1, 3});
  EXPECT_EQ(whyNot(lhs, rhs, result, {byColumns}),
            "cuBLASLt needs an addend that lies as the result does");
  ProductTensor row = tensor({3, 7}, {0, 1});
  EXPECT_EQ(whyNot(lhs, rhs, result, {row}),
            "cuBLASLt needs an addend that lies as the result does");
  ProductTensor halves = tensor({3, 7}, {7, 1}, DType::BF16);
  EXPECT_EQ(whyNot(tensor({3, 5}, {5, 1}, DType::BF16), tensor({5, 7}, {7, 1}, DType::BF16), halves,
                   {halves}),
            "cuBLASLt adds before it rounds, so only in the type of the sum");
  EXPECT_EQ(whyNot(lhs, rhs, result, {}), "");
  EXPECT_EQ(whyNot(lhs, rhs, result, {result}), "");
  EXPECT_EQ(whyNot(lhs, rhs, result, {result, result}), "cuBLASLt adds one matrix to a product");
  EXPECT_EQ(whyNot(tensor({3, 0}, {0, 1}), tensor({0, 7}, {7, 1}), result),
            "cuBLASLt takes matrices of 1 to 2147483647 rows and columns");
  EXPECT_EQ(whyNot(tensor({300, 2, 3, 5}, {15, 9000, 5, 1}), tensor({300, 2, 5, 7}, {70, 35, 7, 1}),
                   tensor({300, 2, 3, 7}, {42, 21, 7, 1})),
            "");
  EXPECT_EQ(whyNot(tensor({300, 400, 3, 5}, {15, 9000, 5, 1}),
                   tensor({300, 400, 5, 7}, {14000, 35, 7, 1}),
                   tensor({300, 400, 3, 7}, {8400, 21, 7, 1})),
            "a product of more than 256 batches that cuBLASLt cannot do at one go");
  EXPECT_EQ(whyNot(tensor({2, 3, 5}, {-15, 5, 1}), tensor({2, 5, 7}, {35, 7, 1}),
                   tensor({2, 3, 7}, {21, 7, 1})),
            "cuBLASLt needs batches that lie in ascending order");
}

} // namespace
