// A model's state in any layout, with values that are known, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckpointModel.h"

#include "base/Convert.h"

#include <cstdlib>
#include <cstring>
#include <random>

using namespace weft::runtime;
using namespace weft::runtime::test;

std::vector<Tensor> weft::runtime::test::modelTensors() {
  return {{"embed.weight", DType::F32, {{37}, {24}}},
          {"embed.weight#exp_avg", DType::F32, {{37}, {24}}},
          {"embed.weight#exp_avg_sq", DType::F32, {{37}, {24}}},
          {"h.0/qkv.weight", DType::F32, {{3, 8}, {24}}},
          {"h.0/qkv.weight#exp_avg", DType::F32, {{3, 8}, {24}}},
          {"h.0/qkv.bias", DType::F32, {{3, 8}}},
          {"h.0/\"odd\\name\"\n\xc3\xa9", DType::F64, {{5}, {2, 3}, {7}}},
          {"norm.weight", DType::F32, {{24}}},
          {"head.weight", DType::BF16, {{40}, {37}}},
          {"head.weight#master", DType::F32, {{40}, {37}}},
          {"half", DType::F16, {{11}, {3}}},
          {"running.count", DType::I64, {{1}}},
          {"mask", DType::Bool, {{7}, {9}}},
          {"bytes", DType::U8, {{13}}},
          {"empty", DType::F32, {{0}, {4}}},
          {"large", DType::F32, {{96}, {2, 4}, {64}}},
          {"weft.step", DType::I64, {}}};
}

int64_t Layout::numRanks() const {
  int64_t ranks = 1;
  for (int64_t size : mesh)
    ranks *= size;
  return ranks;
}

std::vector<Layout> weft::runtime::test::layouts() {
  return {{"one rank", {1}, Style::Replicated, 0},
          {"dp=2, replicated", {2}, Style::Replicated, 0},
          {"dp=8, replicated", {8}, Style::Replicated, 0},
          {"dp=3, sharded", {3}, Style::Sharded, 0},
          {"dp=8, sharded", {8}, Style::Sharded, 0},
          {"tp=4, factors", {4}, Style::Factors, 0},
          {"dp=2,tp=2, factors", {2, 2}, Style::Factors, 0},
          {"dp=4,tp=2, factors", {4, 2}, Style::Factors, 0},
          {"dp=2x2,tp=2, factors", {2, 2, 2}, Style::Factors, 0},
          {"dp=2,tp=3, random", {2, 3}, Style::Random, 11},
          {"dp=7, random", {7}, Style::Random, 12},
          {"dp=2x2,tp=2, random", {2, 2, 2}, Style::Random, 13},
          {"dp=5, sharded", {5}, Style::Sharded, 0},
          {"pp=2", {2}, Style::Stages, 14},
          {"pp=3,dp=2", {3, 2}, Style::Stages, 15},
          {"pp=2,dp=2,tp=2", {2, 2, 2}, Style::Stages, 16}};
}

namespace {

/// The placement of one tensor; each axis is used at most once.
ProgramBuilder::PlacementDesc place(const Layout &layout, const Tensor &tensor,
                                    std::mt19937_64 &random) {
  ProgramBuilder::PlacementDesc dims;
  for (const std::vector<int64_t> &factors : tensor.factors) {
    dims.emplace_back();
    for (int64_t size : factors)
      dims.back().push_back({size, {}});
  }
  auto axes = uint32_t(layout.mesh.size());
  bool isSlot = tensor.name.find('#') != std::string::npos;
  if (dims.empty())
    return dims;
  switch (layout.style) {
  case Style::Replicated:
    break;
  case Style::Sharded:
    for (uint32_t axis = 0; axis < axes; ++axis)
      dims[0].back().axes.push_back(axis);
    break;
  case Style::Factors:
    // The innermost factor of a fused dim, as head-parallel attention does.
    dims[0].back().axes.push_back(axes - 1);
    for (uint32_t axis = 0; isSlot && axis + 1 < axes; ++axis)
      dims.back().back().axes.push_back(axis);
    break;
  case Style::Random:
  case Style::Stages:
    for (uint32_t axis = layout.style == Style::Stages; axis < axes; ++axis) {
      size_t dim = random() % (dims.size() + 1);
      if (dim < dims.size())
        dims[dim][random() % dims[dim].size()].axes.push_back(axis);
    }
    break;
  }
  return dims;
}

/// The stages that hold a tensor, at least one; of a layout without a pipeline its only one.
std::vector<uint32_t> stagesOf(const Layout &layout, std::mt19937_64 &random) {
  if (layout.style != Style::Stages)
    return {0};
  std::vector<uint32_t> stages;
  while (stages.empty())
    for (uint32_t stage = 0; stage < layout.mesh[0]; ++stage)
      if (random() % 2)
        stages.push_back(stage);
  return stages;
}

} // namespace

std::vector<uint8_t> weft::runtime::test::buildProgram(const Layout &layout,
                                                       const std::vector<Tensor> &tensors) {
  ProgramBuilder builder;
  for (size_t i = 0; i < layout.mesh.size(); ++i)
    builder.addMeshAxis("axis" + std::to_string(i), layout.mesh[i]);
  builder.info().modelName = builder.string("model");
  std::mt19937_64 random(layout.seed);
  std::vector<uint64_t> arenas(layout.style == Style::Stages ? size_t(layout.mesh[0]) : 1);
  if (layout.style == Style::Stages)
    builder.info().stageAxes = builder.axes({0});
  for (const Tensor &tensor : tensors) {
    ProgramBuilder::PlacementDesc dims = place(layout, tensor, random);
    std::vector<int64_t> global, local;
    uint64_t bytes = dtypeBytes(tensor.dtype);
    for (const std::vector<ProgramBuilder::Part> &parts : dims) {
      global.push_back(1);
      local.push_back(1);
      for (const ProgramBuilder::Part &part : parts) {
        std::vector<int64_t> sizes, zeros(part.axes.size(), 0);
        for (uint32_t axis : part.axes)
          sizes.push_back(layout.mesh[axis]);
        global.back() *= part.size;
        local.back() *=
            shardOf(part.size, {sizes.data(), sizes.size()}, {zeros.data(), zeros.size()}).extent;
      }
      bytes *= uint64_t(local.back());
    }
    bool isSlot = tensor.name.find('#') != std::string::npos;
    std::vector<Home> homes;
    for (uint32_t stage : stagesOf(layout, random)) {
      homes.push_back({stage, builder.addBuffer(tensor.name,
                                                tensor.constant ? BufferClass::Workspace
                                                : isSlot        ? BufferClass::OptimizerState
                                                                : BufferClass::Parameter,
                                                tensor.dtype, arenas[stage], bytes, local)});
      arenas[stage] += (bytes + 63) / 64 * 64;
    }
    std::vector<ProgramBuilder::PieceDesc> pieces;
    if (tensor.constant) {
      ProgramBuilder::PieceDesc piece;
      piece.kind = SourceKind::Embedded;
      piece.dtype = tensor.dtype;
      piece.sourceShape = global;
      size_t size = dtypeBytes(tensor.dtype);
      for (int64_t extent : global)
        size *= size_t(extent);
      std::vector<char> data(size, 7);
      piece.byteOffset = builder.addData(data.data(), size);
      pieces.push_back(piece);
    }
    builder.addState(tensor.name, tensor.dtype, global, builder.addPlacement(dims), homes, pieces);
  }
  builder.beginProgram("p", {}, {});
  for (uint64_t arena : arenas) {
    builder.beginBody(1, 0);
    builder.endBody();
    builder.addStage({arena, {}});
  }
  builder.endProgram();
  return builder.finish();
}

uint64_t weft::runtime::test::elementBits(const std::string &name, DType dtype, int64_t index,
                                          uint64_t version) {
  // The parameter and its master copy agree, as after a step.
  std::string key = name.substr(0, name.find("#master"));
  uint64_t mixed = hashBytes(key.data(), key.size()) ^ (uint64_t(index) * 0x9e3779b97f4a7c15ull) ^
                   (version * 0xc2b2ae3d27d4eb4full);
  mixed = hashBytes(&mixed, sizeof mixed);
  if (dtype == DType::Bool)
    return mixed & 1;
  if (dtype != DType::F64 && dtype != DType::F32 && dtype != DType::BF16 && dtype != DType::F16)
    return dtypeBytes(dtype) == 8 ? mixed : mixed & ((uint64_t(1) << 8 * dtypeBytes(dtype)) - 1);
  int64_t value = int64_t(mixed % 255) - 127;
  uint64_t bits = 0;
  convertElements(DType::I64, &value, dtype, &bits, 1);
  return bits;
}

ModelSession::ModelSession(const Layout &layout, const std::vector<Tensor> &tensors,
                           const char *comm)
    : blob(buildProgram(layout, tensors)) {
  weft_options options;
  weft_options_init(&options);
  options.comm = comm;
  options.threads_per_rank = 1;
  weft_status status{};
  if (weft_open(blob.data(), blob.size(), nullptr, 0, &options, &session, &status) != 0)
    error = layout.name + ": " + status.text;
}

ModelSession::~ModelSession() { weft_close(session); }

/// Moving memory does not fail.
static void check(const Status &status) {
  if (!status.ok())
    std::abort();
}

/// Calls visit(state, index, bytes of the element, rank); what it writes stays.
template <typename Visit> void ModelSession::forEachElement(Visit visit) {
  const ProgramView &p = session->view();
  for (std::unique_ptr<RankContext> &rank : session->ranks)
    for (const State &state : p.States()) {
      if (!rank->holds(state))
        continue;
      HostCopy shard = rank->shard(state);
      check(shard.download());
      uint64_t bytes = dtypeBytes(state.dtype);
      rank->map(state.placement).forEachRun([&](const ShardMap::Run &run) {
        for (int64_t i = 0; i < run.count; ++i)
          visit(state, run.global + i, shard.data() + uint64_t(run.local + i) * bytes,
                rank->rank());
      });
      check(shard.upload());
    }
}

void ModelSession::poison() {
  const ProgramView &p = session->view();
  for (std::unique_ptr<RankContext> &rank : session->ranks)
    for (const State &state : p.States())
      if (rank->holds(state)) {
        const Buffer &buffer = rank->buffer(state);
        std::vector<char> garbage(buffer.bytes, char(0xa5));
        check(rank->device().upload(buffer.offset, garbage.data(), buffer.bytes));
      }
}

void ModelSession::fill(uint64_t version) {
  poison();
  const ProgramView &p = session->view();
  forEachElement([&](const State &state, int64_t index, char *at, int64_t) {
    uint64_t bits = elementBits(std::string(p.string(state.name)), state.dtype, index, version);
    std::memcpy(at, &bits, dtypeBytes(state.dtype));
  });
}

std::string ModelSession::compare(uint64_t version) {
  const ProgramView &p = session->view();
  std::string result;
  forEachElement([&](const State &state, int64_t index, char *at, int64_t rank) {
    uint64_t bits = elementBits(std::string(p.string(state.name)), state.dtype, index, version);
    if (result.empty() && std::memcmp(at, &bits, dtypeBytes(state.dtype)) != 0)
      result = "element " + std::to_string(index) + " of '" + std::string(p.string(state.name)) +
               "' on rank " + std::to_string(rank);
  });
  return result;
}
