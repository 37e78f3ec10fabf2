// Recognises scaled dot-product attention, its masks and grouped heads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/AttentionLibrary.h"
#include "passes/nn/Diagonals.h"
#include "passes/nn/ElementwiseCone.h"
#include "passes/nn/Passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

namespace weft::nn {
#define GEN_PASS_DEF_NNRAISEATTENTION
#include "passes/nn/Passes.h.inc"
} // namespace weft::nn

using namespace mlir;
using namespace weft;

/// A score at or below this is masked: its softmax is zero beside any that is not. Exported GPT-2s
/// mask with -1e4, others with the lowest number of their type.
static constexpr double kHidden = -1e4;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// A constant that `value` repeats along all dims before the last two, if its elements are known at
/// compile time and all in these.
static nn::ConstantOp constantMatrix(Value value) {
  auto type = typeOf(value);
  SmallVector<int64_t> matrix(type.getShape().take_back(2));
  while (true) {
    if (auto broadcast = value.getDefiningOp<nn::BroadcastOp>()) {
      auto source = typeOf(broadcast.getOperand());
      // The last two dims must come from the operand's last two.
      int64_t rank = broadcast.getType().getRank(), own = source.getRank();
      if (own < 2 || broadcast.getDims()[own - 1] != rank - 1 ||
          broadcast.getDims()[own - 2] != rank - 2)
        return {};
      value = broadcast.getOperand();
      continue;
    }
    auto reshape = value.getDefiningOp<nn::ReshapeOp>();
    if (reshape && typeOf(reshape.getOperand()).getRank() >= 2 &&
        typeOf(reshape.getOperand()).getShape().take_back(2) ==
            reshape.getType().getShape().take_back(2)) {
      value = reshape.getOperand();
      continue;
    }
    break;
  }
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant && typeOf(constant).getNumElements() == matrix[0] * matrix[1] ? constant
                                                                                : nn::ConstantOp();
}

namespace {

/// What attention asks of a matrix that says which scores are seen.
struct MaskFacts {
  bool isTriangle = false;        // row i sees j <= i + columns - rows and no other
  bool everyRowSees = true;       // something
  bool hidesOrAddsNothing = true; // every number is 0 or hides
};

/// Judges matrices that are known: by their diagonals, whatever their size, or number by number.
class MaskTable {
public:
  /// A zero says that a score is seen, or that it is not. Nothing of a matrix that is not known.
  std::optional<MaskFacts> of(Value mask, bool zeroSees) {
    auto type = typeOf(mask);
    bool isFloat = isa<FloatType>(type.getElementType());
    int64_t rows = type.getShape().end()[-2], columns = type.getShape().back();
    auto numberOf = [&](Scalar element) {
      return isFloat ? element.real : static_cast<double>(element.integer);
    };
    if (std::optional<Diagonals> known = diagonalsOf(mask))
      return judge(rows, columns, zeroSees, [&](int64_t row, Tell tell) {
        ArrayRef<Diagonals::Stretch> left = known->stretches;
        for (; !left.empty(); left = left.drop_front())
          tell(std::max<int64_t>(row + left.front().first, 0),
               left.size() > 1 ? std::min(row + left[1].first, columns) : columns,
               numberOf(left.front().value));
      });
    nn::ConstantOp constant = constantMatrix(mask);
    if (!constant)
      return std::nullopt;
    // Every layer of a model has the same mask, of millions of elements.
    auto [entry, isNew] = table.try_emplace({constant.getValue(), {rows, zeroSees}});
    if (isNew) {
      HostTensor matrix = toHostTensor(constant.getValue());
      entry->second = judge(rows, columns, zeroSees, [&](int64_t row, Tell tell) {
        for (int64_t column = 0; column < columns; ++column)
          tell(column, column + 1, numberOf(matrix.at(row * columns + column)));
      });
    }
    return entry->second;
  }

private:
  /// A row has this number in the columns [first, end), if there are any.
  using Tell = llvm::function_ref<void(int64_t first, int64_t end, double number)>;

  static MaskFacts judge(int64_t rows, int64_t columns, bool zeroSees,
                         llvm::function_ref<void(int64_t row, Tell)> tellRow) {
    MaskFacts facts;
    facts.isTriangle = columns >= rows;
    for (int64_t row = 0; row < rows; ++row) {
      bool rowSees = false;
      int64_t border = row + columns - rows + 1;
      tellRow(row, [&](int64_t first, int64_t end, double number) {
        if (first >= end)
          return;
        bool sees = (number == 0) == zeroSees;
        rowSees |= sees;
        facts.isTriangle &= sees ? end <= border : first >= border;
        facts.hidesOrAddsNothing &= number == 0 || number <= kHidden;
      });
      facts.everyRowSees &= rowSees;
    }
    return facts;
  }

  llvm::DenseMap<std::pair<Attribute, std::pair<int64_t, unsigned>>, MaskFacts> table;
};

/// What stands between the two products, from the softmax back to the first.
struct Scores {
  nn::ContractOp product;
  double scale = 1;
  bool causal = false;
  SmallVector<Value> masks;       // additive
  SmallVector<int64_t, 4> shape4; // B x H x S x T, if any step has tensor rank 4
};

/// A product of labelled operands taken apart for attention.
struct Side {
  Value value;
  SmallVector<int64_t> labels;
};

/// Query times key, and the softmax of that times value. Labels of the first product number the
/// batch, rows, columns and depth; those of the second are another numbering.
struct Products {
  Side query, key, value;
  nn::ContractOp sum;
  SmallVector<int64_t> batch, sumBatch;
  int64_t row, column, depth;
  int64_t sumRow, sumColumn, out;
  SmallVector<int64_t> extents; // of the batch
};

class Matcher {
public:
  Matcher(nn::SoftmaxOp softmax, MaskTable &masks, const nn::AttentionLibrary &library,
          PatternRewriter &rewriter)
      : softmax(softmax), masks(masks), library(library), b(rewriter), loc(softmax.getLoc()) {}

  bool run();

private:
  bool walkScores(Value value, Scores &scores, unsigned depth = 0);
  bool walkSelect(nn::SelectOp select, Scores &scores, unsigned depth);
  bool addMask(Value mask, Scores &scores);
  bool leadsToProduct(Value value, unsigned depth = 0);
  nn::ContractOp readerOf(Value value);
  Value layOut(Side side, ArrayRef<int64_t> order, ArrayRef<int64_t> batchExtents);
  static double peel(Side &side);
  Value shared(Side &side, int64_t headLabel);
  bool matchFirst(Scores &scores, Products &products);
  bool matchSecond(Products &products);
  bool isOfLibrary(const Scores &scores, const Products &products);
  Value withFourDims(Value value, ArrayRef<int64_t> lead);
  bool raise(const Scores &scores, const Products &products);
  void replaceSum(const Products &products, Value attended);

  nn::SoftmaxOp softmax;
  MaskTable &masks;
  const nn::AttentionLibrary &library;
  PatternRewriter &b;
  Location loc;
};

/// A reshape that leaves the last two dims alone.
bool keepsMatrix(nn::ReshapeOp reshape) {
  auto from = typeOf(reshape.getOperand()), to = reshape.getType();
  return from.getRank() >= 2 && to.getRank() >= 2 &&
         from.getShape().take_back(2) == to.getShape().take_back(2);
}

bool isFloatCast(Operation *op) {
  auto cast = dyn_cast_or_null<nn::CastOp>(op);
  return cast && isa<FloatType>(typeOf(cast.getOperand()).getElementType()) &&
         isa<FloatType>(typeOf(cast.getResult()).getElementType());
}

/// Whether the chain above `value` is one of scores, without judging the masks.
bool Matcher::leadsToProduct(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 8)
    return false;
  if (isa<nn::ContractOp>(op))
    return true;
  if (auto reshape = dyn_cast<nn::ReshapeOp>(op))
    return keepsMatrix(reshape) && leadsToProduct(op->getOperand(0), depth + 1);
  if (isFloatCast(op))
    return leadsToProduct(op->getOperand(0), depth + 1);
  if (isa<nn::MulOp, nn::DivOp, nn::AddOp, nn::SelectOp>(op))
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return !splatOf(operand) && leadsToProduct(operand, depth + 1);
    });
  return false;
}

bool Matcher::addMask(Value mask, Scores &scores) {
  if (scores.scale != 1)
    return false; // scores are scaled after the mask: not the usual form
  std::optional<MaskFacts> facts = masks.of(mask, /*zeroSees=*/true);
  if (facts && facts->isTriangle && facts->hidesOrAddsNothing)
    scores.causal = true;
  else
    scores.masks.push_back(mask);
  return true;
}

/// Scores kept where a condition holds, else a splat.
bool Matcher::walkSelect(nn::SelectOp select, Scores &scores, unsigned depth) {
  if (scores.scale != 1)
    return false;
  std::optional<double> hidden = splatOf(select.getOnFalse());
  bool keeps = hidden.has_value();
  if (!keeps)
    hidden = splatOf(select.getOnTrue());
  if (!hidden || !(*hidden <= kHidden))
    return false;
  std::optional<MaskFacts> facts = masks.of(select.getCondition(), !keeps);
  if (facts && facts->isTriangle) {
    scores.causal = true;
  } else if (!facts || !facts->everyRowSees) {
    return false; // a row might hide everything, and then sums differ
  } else {
    auto type = select.getType();
    auto fill = [&](double value) -> Value {
      return nn::ConstantOp::create(
          b, loc, DenseElementsAttr::get(type, b.getFloatAttr(type.getElementType(), value)));
    };
    Value zero = fill(0), low = fill(*hidden);
    scores.masks.push_back(nn::SelectOp::create(b, loc, select.getCondition(), keeps ? zero : low,
                                                keeps ? low : zero));
  }
  return walkScores(keeps ? select.getOnTrue() : select.getOnFalse(), scores, depth + 1);
}

bool Matcher::walkScores(Value value, Scores &scores, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 8 || !op->hasOneUse())
    return false;
  if (typeOf(value).getRank() == 4)
    scores.shape4.assign(typeOf(value).getShape().begin(), typeOf(value).getShape().end());
  if (auto product = dyn_cast<nn::ContractOp>(op)) {
    scores.product = product;
    return true;
  }
  if (auto reshape = dyn_cast<nn::ReshapeOp>(op))
    return keepsMatrix(reshape) && walkScores(reshape.getOperand(), scores, depth + 1);
  if (isFloatCast(op))
    return walkScores(op->getOperand(0), scores, depth + 1);
  if (auto select = dyn_cast<nn::SelectOp>(op))
    return walkSelect(select, scores, depth);
  if (auto add = dyn_cast<nn::AddOp>(op)) {
    Value main = add.getLhs(), mask = add.getRhs();
    if (!leadsToProduct(main))
      std::swap(main, mask);
    return leadsToProduct(main) && addMask(mask, scores) && walkScores(main, scores, depth + 1);
  }
  if (auto div = dyn_cast<nn::DivOp>(op)) {
    std::optional<double> splat = splatOf(div.getRhs());
    if (!splat)
      return false;
    scores.scale /= *splat;
    return walkScores(div.getLhs(), scores, depth + 1);
  }
  if (auto mul = dyn_cast<nn::MulOp>(op)) {
    Value main = mul.getLhs(), factor = mul.getRhs();
    if (!splatOf(factor))
      std::swap(main, factor);
    std::optional<double> splat = splatOf(factor);
    if (!splat)
      return false;
    scores.scale *= *splat;
    return walkScores(main, scores, depth + 1);
  }
  return false;
}

/// The product that alone reads the weights.
nn::ContractOp Matcher::readerOf(Value value) {
  for (unsigned depth = 0; depth < 4; ++depth) {
    if (!value.hasOneUse())
      return {};
    Operation *user = *value.user_begin();
    if (auto product = dyn_cast<nn::ContractOp>(user))
      return product;
    auto reshape = dyn_cast<nn::ReshapeOp>(user);
    if (!(reshape && keepsMatrix(reshape)) && !isFloatCast(user))
      return {};
    value = user->getResult(0);
  }
  return {};
}

/// The value with dims in the order of these labels; batch labels that it lacks
/// are repeated.
Value Matcher::layOut(Side side, ArrayRef<int64_t> order, ArrayRef<int64_t> batchExtents) {
  SmallVector<int64_t> permutation, dims, shape;
  for (auto [position, label] : llvm::enumerate(order)) {
    auto *found = llvm::find(side.labels, label);
    if (found == side.labels.end()) {
      shape.push_back(batchExtents[position]);
      continue;
    }
    permutation.push_back(found - side.labels.begin());
    dims.push_back(position);
    shape.push_back(typeOf(side.value).getDimSize(permutation.back()));
  }
  Value value = side.value;
  if (!llvm::is_sorted(permutation))
    value = nn::TransposeOp::create(b, loc, value, permutation);
  if (dims.size() != order.size())
    value = nn::BroadcastOp::create(b, loc, typeOf(value).clone(shape), value, dims);
  return value;
}

/// Takes transposes and factors off an operand of the first product: exporters
/// scale query and key each by the root of the scale. Returns the factor.
double Matcher::peel(Side &side) {
  double factor = 1;
  while (true) {
    if (auto transpose = side.value.getDefiningOp<nn::TransposeOp>()) {
      SmallVector<int64_t> labels(side.labels.size());
      for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
        labels[from] = side.labels[dim];
      side = {transpose.getOperand(), labels};
      continue;
    }
    auto mul = side.value.getDefiningOp<nn::MulOp>();
    if (!mul)
      return factor;
    Value main = mul.getLhs(), splat = mul.getRhs();
    if (!splatOf(splat))
      std::swap(main, splat);
    std::optional<double> value = splatOf(splat);
    if (!value)
      return factor;
    factor *= *value;
    side.value = main;
  }
}

/// If heads were repeated, each for a group of query heads: the value before,
/// its dims in the same places.
Value Matcher::shared(Side &side, int64_t headLabel) {
  auto *found = llvm::find(side.labels, headLabel);
  auto reshape = side.value.getDefiningOp<nn::ReshapeOp>();
  if (found == side.labels.end() || !reshape)
    return Value();
  int64_t head = found - side.labels.begin();
  auto repeat = reshape.getOperand().getDefiningOp<nn::BroadcastOp>();
  if (!repeat || repeat.getType().getRank() != reshape.getType().getRank() + 1)
    return Value();
  SmallVector<int64_t> merged(repeat.getType().getShape());
  merged[head] *= merged[head + 1];
  merged.erase(merged.begin() + head + 1);
  SmallVector<int64_t> kept = llvm::to_vector(llvm::seq<int64_t>(0, repeat.getType().getRank()));
  kept.erase(kept.begin() + head + 1);
  if (ArrayRef<int64_t>(merged) != reshape.getType().getShape() ||
      repeat.getDims() != ArrayRef<int64_t>(kept))
    return Value();
  return repeat.getOperand();
}

/// The one label of `labels` that is in none of the others.
std::optional<int64_t> onlyIn(ArrayRef<int64_t> labels, ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
  std::optional<int64_t> only;
  for (int64_t label : labels)
    if (!llvm::is_contained(x, label) && !llvm::is_contained(y, label)) {
      if (only)
        return std::nullopt;
      only = label;
    }
  return only;
}

/// First product: rows S of the query, columns T of the key, depth D summed.
bool Matcher::matchFirst(Scores &scores, Products &products) {
  nn::ContractOp product = scores.product;
  ArrayRef<int64_t> result = product.getResultLabels();
  if (result.size() < 2 || result.size() > 4)
    return false;
  products.row = result[result.size() - 2];
  products.column = result.back();
  products.batch.assign(result.begin(), result.end() - 2);
  products.extents.assign(product.getType().getShape().begin(),
                          product.getType().getShape().end() - 2);
  Side query{product.getLhs(), SmallVector<int64_t>(product.getLhsLabels())};
  Side key{product.getRhs(), SmallVector<int64_t>(product.getRhsLabels())};
  if (!llvm::is_contained(query.labels, products.row))
    std::swap(query, key);
  std::optional<int64_t> depth = onlyIn(query.labels, result, {});
  if (!depth || !llvm::is_contained(query.labels, products.row) ||
      !llvm::is_contained(key.labels, products.column) ||
      llvm::is_contained(query.labels, products.column) ||
      llvm::is_contained(key.labels, products.row))
    return false;
  products.depth = *depth;
  scores.scale *= peel(query) * peel(key);
  products.query = query;
  products.key = key;
  return true;
}

/// Second product: columns T summed. The weights' dims, in order, translate its labels.
bool Matcher::matchSecond(Products &products) {
  nn::ContractOp sum = products.sum;
  bool weightsFirst = [&] {
    Operation *op = sum.getLhs().getDefiningOp();
    while (op && op != softmax && (isa<nn::ReshapeOp>(op) || isFloatCast(op)))
      op = op->getOperand(0).getDefiningOp();
    return op == softmax;
  }();
  ArrayRef<int64_t> weights = weightsFirst ? sum.getLhsLabels() : sum.getRhsLabels();
  products.value = {weightsFirst ? sum.getRhs() : sum.getLhs(),
                    SmallVector<int64_t>(weightsFirst ? sum.getRhsLabels() : sum.getLhsLabels())};
  if (weights.size() != products.batch.size() + 2)
    return false;
  products.sumRow = weights[weights.size() - 2];
  products.sumColumn = weights.back();
  products.sumBatch.assign(weights.begin(), weights.end() - 2);
  std::optional<int64_t> out = onlyIn(products.value.labels, weights, {});
  ArrayRef<int64_t> sumResult = sum.getResultLabels();
  if (!out || !llvm::is_contained(products.value.labels, products.sumColumn) ||
      llvm::is_contained(sumResult, products.sumColumn) ||
      llvm::is_contained(products.value.labels, products.sumRow) ||
      !llvm::is_contained(sumResult, products.sumRow))
    return false;
  products.out = *out;
  return llvm::all_of(products.sumBatch,
                      [&](int64_t label) { return llvm::is_contained(sumResult, label); });
}

bool Matcher::isOfLibrary(const Scores &scores, const Products &products) {
  auto extentOf = [](const Side &s, int64_t label) {
    return typeOf(s.value).getDimSize(llvm::find(s.labels, label) - s.labels.begin());
  };
  return library.does(
      {extentOf(products.query, products.row), extentOf(products.key, products.column),
       extentOf(products.query, products.depth), extentOf(products.value, products.out),
       scores.scale, scores.causal, !scores.masks.empty()},
      b, softmax.getLoc());
}

bool Matcher::run() {
  auto type = softmax.getType();
  if (softmax.getLog() || static_cast<int64_t>(softmax.getDim()) != type.getRank() - 1 ||
      type.getRank() < 2 || type.getRank() > 4)
    return false;
  Scores scores;
  if (type.getRank() == 4)
    scores.shape4.assign(type.getShape().begin(), type.getShape().end());
  Products products;
  products.sum = readerOf(softmax.getResult());
  if (!products.sum || !walkScores(softmax.getOperand(), scores) || !matchFirst(scores, products) ||
      !matchSecond(products))
    return false;
  if (!isOfLibrary(scores, products))
    return false;
  // Heads shared by groups of queries stay shared if keys and values agree.
  if (products.batch.size() == 2) {
    Value keys = shared(products.key, products.batch[1]);
    Value values = shared(products.value, products.sumBatch[1]);
    if (keys && values) {
      products.key.value = keys;
      products.value.value = values;
    }
  }
  return raise(scores, products);
}

/// A fused batch is split as the scores of four dims are.
Value Matcher::withFourDims(Value value, ArrayRef<int64_t> lead) {
  auto own = typeOf(value);
  if (own.getRank() == 4)
    return value;
  SmallVector<int64_t> shape(lead);
  llvm::append_range(shape, own.getShape().take_back(2));
  return nn::ReshapeOp::create(b, loc, own.clone(shape), value);
}

bool Matcher::raise(const Scores &scores, const Products &products) {
  SmallVector<int64_t, 4> lead(products.extents.begin(), products.extents.end());
  if (scores.shape4.size() == 4 && lead.size() != 2)
    lead.assign(scores.shape4.begin(), scores.shape4.begin() + 2);
  while (lead.size() < 2)
    lead.push_back(1);
  auto inOrder = [&](const Side &side, ArrayRef<int64_t> labels, int64_t row,
                     int64_t column) -> Value {
    SmallVector<int64_t> order(labels);
    order.append({row, column});
    return layOut(side, order, products.extents);
  };
  Value q = inOrder(products.query, products.batch, products.row, products.depth);
  Value k = inOrder(products.key, products.batch, products.column, products.depth);
  Value v = inOrder(products.value, products.sumBatch, products.sumColumn, products.out);
  q = withFourDims(q, lead);
  k = withFourDims(k, lead);
  v = withFourDims(v, lead);
  Type element = typeOf(q).getElementType();
  if (typeOf(k).getElementType() != element || typeOf(v).getElementType() != element ||
      typeOf(k).getDimSize(1) != typeOf(v).getDimSize(1))
    return false;
  Value mask;
  for (Value part : scores.masks) {
    if (typeOf(part).getElementType() != element)
      part = nn::CastOp::create(b, loc, part, element);
    part = withFourDims(part, lead);
    mask = mask ? nn::AddOp::create(b, loc, mask, part).getResult() : part;
  }
  auto attentionType =
      typeOf(q).clone({lead[0], lead[1], typeOf(q).getDimSize(2), typeOf(v).getDimSize(3)});
  remark::passed(softmax.getLoc(),
                 remark::RemarkOpts::name("Raised").category("nn-raise-attention"))
      << "attention" << (scores.causal ? ", causal" : "") << (mask ? ", masked" : "");
  auto made =
      nn::AttentionOp::create(b, products.sum->getLoc(), attentionType, Type(), q, k, v, mask,
                              llvm::APFloat(scores.scale), scores.causal, llvm::APFloat(0.0));
  made->setLoc(placeOfIdiom(products.sum));
  replaceSum(products, made.getResult());
  return true;
}

/// Back to the dims of the second product, in its order.
void Matcher::replaceSum(const Products &products, Value attended) {
  nn::ContractOp sum = products.sum;
  RankedTensorType type = typeOf(attended);
  SmallVector<int64_t> labels(products.sumBatch), shape(products.extents), permutation;
  labels.append({products.sumRow, products.out});
  shape.append({type.getDimSize(2), type.getDimSize(3)});
  if (shape.size() != 4)
    attended = nn::ReshapeOp::create(b, loc, type.clone(shape), attended);
  for (int64_t label : sum.getResultLabels())
    permutation.push_back(llvm::find(labels, label) - labels.begin());
  if (!llvm::is_sorted(permutation))
    attended = nn::TransposeOp::create(b, loc, attended, permutation);
  b.replaceOp(sum, attended);
}

struct RaiseAttentionPattern : OpRewritePattern<nn::SoftmaxOp> {
  RaiseAttentionPattern(MLIRContext *context, MaskTable &masks, const nn::AttentionLibrary &library)
      : OpRewritePattern(context), masks(masks), library(library) {}

  LogicalResult matchAndRewrite(nn::SoftmaxOp op, PatternRewriter &rewriter) const override {
    // Operands of the second product may be computed after the softmax.
    if (!op->hasOneUse())
      return failure();
    Operation *reader = *op->user_begin();
    while (!isa<nn::ContractOp>(reader) && reader->hasOneUse() && reader->getNumResults() == 1 &&
           reader->getNumOperands() == 1)
      reader = *reader->user_begin();
    if (!isa<nn::ContractOp>(reader))
      return failure();
    rewriter.setInsertionPoint(reader);
    return success(Matcher(op, masks, library, rewriter).run());
  }

  MaskTable &masks;
  const nn::AttentionLibrary &library;
};

struct RaiseAttention : nn::impl::NnRaiseAttentionBase<RaiseAttention> {
  using NnRaiseAttentionBase::NnRaiseAttentionBase;

  void runOnOperation() override {
    MaskTable masks;
    nn::AttentionLibrary library;
    if (!target.empty())
      library = {lookupTarget(target), parseType(precision, &getContext())};
    if (!target.empty() && (!library.target || !library.element)) {
      getOperation().emitError() << "'" << target << "' and '" << precision
                                 << "' must be a target and a type";
      return signalPassFailure();
    }
    RewritePatternSet patterns(&getContext());
    patterns.add<RaiseAttentionPattern>(&getContext(), masks, library);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
