// Checks of all tables but the commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/ProgramVerifier.h"

#include "program/StageVerifier.h"
#include "weft/runtime/SourceBlocks.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

using namespace weft::runtime;

std::optional<int64_t> weft::runtime::checkedProduct(Table<int64_t> factors) {
  // An empty tensor must have harmless strides too, so zeros count as ones.
  int64_t result = 1;
  bool empty = false;
  for (int64_t factor : factors) {
    empty |= factor == 0;
    if (factor < 0 || __builtin_mul_overflow(result, factor ? factor : 1, &result))
      return std::nullopt;
  }
  return empty ? 0 : result;
}

namespace {

/// More ranks than any machine has; keeps products of axis sizes small.
constexpr int64_t kMaxRanks = int64_t(1) << 24;

class Verifier {
public:
  explicit Verifier(const ProgramView &p) : p(p) {}

  Status run() {
    WEFT_TRY(strings());
    WEFT_TRY(mesh());
    WEFT_TRY(placements());
    WEFT_TRY(buffers());
    WEFT_TRY(scalarValues());
    WEFT_TRY(states());
    WEFT_TRY(ports());
    WEFT_TRY(kernels());
    WEFT_TRY(routines());
    return programs();
  }

private:
  static Status fail(const std::string &table, size_t index, const std::string &what) {
    return Status::user(table + " " + std::to_string(index) + " " + what);
  }
  bool isString(StringId id) const { return id < p.Strings().size(); }
  bool isAxes(Range range) const { return inRange(range, p.AxisIds().size()); }
  bool isShape(Range range) const {
    return range.count <= kMaxTensorRank && inRange(range, p.Ints().size()) &&
           checkedProduct(p.ints(range)).has_value();
  }
  static bool isDType(DType type) { return unsigned(type) < kNumDTypes; }

  bool distinct(Table<uint32_t> axes, std::vector<bool> &seen) const {
    for (uint32_t axis : axes) {
      if (seen[axis])
        return false;
      seen[axis] = true;
    }
    return true;
  }

  Status strings() {
    for (size_t i = 0; i < p.Strings().size(); ++i) {
      const StringRef &ref = p.Strings()[i];
      if (ref.offset > p.StringBytes().size() || ref.bytes > p.StringBytes().size() - ref.offset)
        return fail("string", i, "lies outside of the text");
    }
    if (p.Info().size() != 1)
      return fail("module info", 0, "is not there exactly once");
    const ModuleInfo &info = p.info();
    if (!isString(info.weftVersion) || !isString(info.modelName) ||
        !isString(info.modelDirectory) || !isString(info.target) || !isString(info.device) ||
        !isString(info.processor) || !isString(info.features) || !isString(info.options) ||
        !isAxes(info.stageAxes))
      return fail("module info", 0, "refers to something that does not exist");
    if (info.threadsPerRank > kMaxThreadsPerRank)
      return fail("module info", 0, "asks for more than 4096 threads a rank");
    for (size_t i = 0; i < p.Metadata().size(); ++i)
      if (!isString(p.Metadata()[i].key) || !isString(p.Metadata()[i].value))
        return fail("metadata entry", i, "names a string that does not exist");
    return {};
  }

  Status mesh() {
    int64_t ranks = 1;
    for (size_t i = 0; i < p.MeshAxes().size(); ++i) {
      const MeshAxis &axis = p.MeshAxes()[i];
      if (!isString(axis.name))
        return fail("mesh axis", i, "names a string that does not exist");
      if (axis.size < 1 || axis.size > kMaxRanks / ranks)
        return fail("mesh axis", i, "has the impossible size " + std::to_string(axis.size));
      ranks *= axis.size;
    }
    for (size_t i = 0; i < p.AxisIds().size(); ++i)
      if (p.AxisIds()[i] >= p.MeshAxes().size())
        return fail("axis list entry", i, "names an axis that does not exist");
    for (size_t i = 0; i < p.Communicators().size(); ++i) {
      std::vector<bool> seen(p.MeshAxes().size());
      if (!isAxes(p.Communicators()[i].axes) || !distinct(p.axes(p.Communicators()[i].axes), seen))
        return fail("communicator", i, "has no list of distinct axes");
    }
    std::vector<bool> seen(p.MeshAxes().size());
    if (!distinct(p.axes(p.info().stageAxes), seen))
      return fail("module info", 0, "lists a stage axis twice");
    numStages = 1;
    for (uint32_t axis : p.axes(p.info().stageAxes))
      numStages *= p.MeshAxes()[axis].size;
    if (int64_t(p.Stages().size()) != numStages)
      return fail("stage table", 0,
                  "has " + std::to_string(p.Stages().size()) + " entries for " +
                      std::to_string(numStages) + " stages");
    for (const Stage &stage : p.Stages())
      if (stage.arenaBytes > uint64_t(INT64_MAX) / 2)
        return fail("stage table", 0, "has an impossible arena size");
    return {};
  }

  Status placements() {
    for (size_t i = 0; i < p.PlacementParts().size(); ++i) {
      const PlacementPart &part = p.PlacementParts()[i];
      if (part.size < 0 || part.size > INT64_MAX / 2 || !isAxes(part.axes))
        return fail("placement part", i, "has an impossible size or axis list");
    }
    for (size_t i = 0; i < p.PlacementDims().size(); ++i) {
      Range parts = p.PlacementDims()[i].parts;
      if (parts.count > kMaxTensorRank || !inRange(parts, p.PlacementParts().size()))
        return fail("placement dimension", i, "has parts that do not exist");
      int64_t product = 1;
      for (const PlacementPart &part : p.PlacementParts().slice(parts))
        if (__builtin_mul_overflow(product, part.size, &product))
          return fail("placement dimension", i, "is too large");
    }
    for (size_t i = 0; i < p.Placements().size(); ++i) {
      Range dims = p.Placements()[i].dims;
      if (dims.count > kMaxTensorRank || !inRange(dims, p.PlacementDims().size()))
        return fail("placement", i, "has dimensions that do not exist");
      std::vector<bool> seen(p.MeshAxes().size());
      for (const PlacementDim &dim : p.PlacementDims().slice(dims))
        for (const PlacementPart &part : p.PlacementParts().slice(dim.parts))
          if (!distinct(p.axes(part.axes), seen))
            return fail("placement", i, "uses a mesh axis twice");
    }
    return {};
  }

  Status buffers() {
    for (size_t i = 0; i < p.Buffers().size(); ++i) {
      const Buffer &buffer = p.Buffers()[i];
      if (!isString(buffer.name) || unsigned(buffer.kind) >= kNumBufferClasses ||
          !isDType(buffer.dtype) || !isShape(buffer.shape))
        return fail("buffer", i, "has an impossible name, class, dtype or shape");
      if (buffer.offset % 64 != 0 || buffer.offset > uint64_t(INT64_MAX) / 2 ||
          buffer.bytes > uint64_t(INT64_MAX) / 2)
        return fail("buffer", i, "has an impossible offset or size");
      auto bytes = checkedProduct(*checkedProduct(p.ints(buffer.shape)), dtypeBytes(buffer.dtype));
      if (!bytes || uint64_t(*bytes) > buffer.bytes)
        return fail("buffer", i, "is smaller than its shape");
    }
    return {};
  }

  /// It rises or falls with the coordinate, so that the last one tells of all.
  bool fits(const ScalarValue &value) const {
    int64_t last = 1;
    for (uint32_t axis : p.axes(value.axes))
      last *= p.MeshAxes()[axis].size; // at most kMaxRanks, as they are distinct
    int64_t result;
    return !__builtin_mul_overflow(value.scale, last - 1, &result) &&
           !__builtin_add_overflow(value.addend, result, &result);
  }

  Status scalarValues() {
    for (size_t i = 0; i < p.ScalarValues().size(); ++i) {
      const ScalarValue &value = p.ScalarValues()[i];
      std::vector<bool> seen(p.MeshAxes().size());
      bool valid = value.base == ValueBase::Constant ||
                   (value.base == ValueBase::Coordinate && isAxes(value.axes) &&
                    distinct(p.axes(value.axes), seen));
      if (!valid)
        return fail("scalar value", i, "has an impossible base");
      if (value.base == ValueBase::Coordinate && !fits(value))
        return fail("scalar value", i, "is too large on some rank");
    }
    return {};
  }

  /// A State or Port: its placement splits its shape, and its buffers hold a shard.
  template <typename Tensor> Status placed(const char *table, size_t index, const Tensor &tensor) {
    if (!isString(tensor.name) || !isDType(tensor.dtype) || !isShape(tensor.shape) ||
        tensor.placement >= p.Placements().size() || !inRange(tensor.homes, p.Homes().size()))
      return fail(table, index, "refers to something that does not exist");
    int64_t local = dtypeBytes(tensor.dtype);
    if (splitsSomeStageAxes(tensor.placement))
      return fail(table, index, "is split over some of the axes of stages only");
    WEFT_TRY(shardBytes(table, index, tensor.shape, tensor.placement, local));
    return held(table, index, p.Homes().slice(tensor.homes), tensor.dtype, uint64_t(local));
  }

  /// Who gives it to files would be several stages.
  bool splitsSomeStageAxes(Id placement) const {
    size_t found = 0;
    Table<uint32_t> stageAxes = p.axes(p.info().stageAxes);
    for (const PlacementDim &dim : p.PlacementDims().slice(p.Placements()[placement].dims))
      for (const PlacementPart &part : p.PlacementParts().slice(dim.parts))
        for (uint32_t axis : p.axes(part.axes))
          found += std::count(stageAxes.begin(), stageAxes.end(), axis);
    return found != 0 && found != stageAxes.size();
  }

  /// Multiplies `local` by the elements of a shard.
  Status shardBytes(const char *table, size_t index, Range shape, Id placement, int64_t &local) {
    Table<int64_t> sizes = p.ints(shape);
    Table<PlacementDim> dims = p.PlacementDims().slice(p.Placements()[placement].dims);
    if (dims.size() != sizes.size())
      return fail(table, index, "has a placement of another tensor rank");
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t product = 1;
      for (const PlacementPart &part : p.PlacementParts().slice(dims[d].parts)) {
        product *= part.size;
        int64_t extent = part.size;
        for (uint32_t axis : p.axes(part.axes)) {
          int64_t n = p.MeshAxes()[axis].size;
          extent = extent / n + (extent % n != 0);
        }
        // Padding may push a local product above the global one, so it is
        // checked by itself.
        if (__builtin_mul_overflow(local, extent, &local))
          return fail(table, index, "is too large");
      }
      if (product != sizes[d])
        return fail(table, index, "has a placement of another shape");
    }
    return {};
  }

  /// Each stage that holds a tensor has room for it in its arena.
  Status held(const char *table, size_t index, Table<Home> homes, DType dtype, uint64_t bytes) {
    if (homes.empty())
      return fail(table, index, "is held by no stage");
    int64_t last = -1;
    for (const Home &home : homes) {
      if (home.stage >= numStages || home.buffer >= p.Buffers().size())
        return fail(table, index, "refers to something that does not exist");
      if (home.stage <= last)
        return fail(table, index, "has homes that are not in the order of stages");
      last = home.stage;
      const Buffer &buffer = p.Buffers()[home.buffer];
      if (buffer.block != kNone)
        return fail(table, index, "has a buffer that is a routine's");
      if (buffer.kind != p.Buffers()[homes[0].buffer].kind)
        return fail(table, index, "has buffers of several classes");
      if (buffer.dtype != dtype || bytes > buffer.bytes)
        return fail(table, index, "does not fit its buffer");
      if (buffer.offset + buffer.bytes > p.Stages()[home.stage].arenaBytes)
        return fail(table, index, "has a buffer outside of the arena");
    }
    return {};
  }

  Status piece(size_t index, Table<int64_t> stateShape) {
    const StatePiece &piece = p.StatePieces()[index];
    if (unsigned(piece.kind) > 1 || !isDType(piece.dtype) || !isString(piece.path) ||
        !isShape(piece.sourceShape) || !inRange(piece.transforms, p.Transforms().size()))
      return fail("state piece", index, "refers to something that does not exist");
    auto bytes =
        checkedProduct(*checkedProduct(p.ints(piece.sourceShape)), dtypeBytes(piece.dtype));
    if (!bytes || uint64_t(*bytes) != piece.byteLength)
      return fail("state piece", index, "has a length that is not that of its shape");
    if (piece.byteOffset > uint64_t(INT64_MAX) - piece.byteLength)
      return fail("state piece", index, "has an impossible offset");
    if (!inRange(piece.hashes, p.SourceHashes().size()) ||
        (piece.hashes.count != 0 && piece.hashes.count != numSourceBlocks(piece.byteLength)))
      return fail("state piece", index, "has not one hash for each block");
    if (piece.kind == SourceKind::Embedded && piece.byteOffset + piece.byteLength > p.Data().size())
      return fail("state piece", index, "lies outside of the embedded data");
    std::vector<int64_t> shape(p.ints(piece.sourceShape).begin(), p.ints(piece.sourceShape).end());
    for (const Transform &transform : p.Transforms().slice(piece.transforms))
      if (!apply(transform, shape))
        return fail("state piece", index, "has a transform that does not fit its operand");
    if (shape.size() != stateShape.size() ||
        (piece.start.count != 0 && piece.start.count != shape.size()) ||
        !inRange(piece.start, p.Ints().size()))
      return fail("state piece", index, "has another tensor rank than its state");
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t start = piece.start.count ? p.ints(piece.start)[d] : 0;
      if (start < 0 || start > stateShape[d] || shape[d] > stateShape[d] - start)
        return fail("state piece", index, "lies outside of its state");
    }
    return {};
  }

  bool apply(const Transform &transform, std::vector<int64_t> &shape) const {
    if (!isDType(transform.dtype) || !inRange(transform.ints, p.Ints().size()))
      return false;
    Table<int64_t> ints = p.ints(transform.ints);
    size_t rank = shape.size();
    switch (transform.kind) {
    case TransformKind::Cast:
      return true;
    case TransformKind::Transpose: {
      if (ints.size() != rank)
        return false;
      std::vector<int64_t> result(rank);
      std::vector<bool> seen(rank);
      for (size_t i = 0; i < rank; ++i) {
        if (ints[i] < 0 || ints[i] >= int64_t(rank) || seen[ints[i]])
          return false;
        seen[ints[i]] = true;
        result[i] = shape[ints[i]];
      }
      shape = result;
      return true;
    }
    case TransformKind::Reshape: {
      if (!isShape(transform.ints))
        return false;
      Table<int64_t> old(shape.data(), shape.size());
      if (checkedProduct(ints) != checkedProduct(old))
        return false;
      shape.assign(ints.begin(), ints.end());
      return true;
    }
    case TransformKind::Broadcast:
      if (!isShape(transform.ints) || ints.size() != rank)
        return false;
      for (size_t i = 0; i < rank; ++i) {
        if (shape[i] != ints[i] && shape[i] != 1)
          return false;
        shape[i] = ints[i];
      }
      return true;
    case TransformKind::Slice:
      if (ints.size() != 3 * rank)
        return false;
      for (size_t i = 0; i < rank; ++i) {
        int64_t start = ints[i], size = ints[rank + i], step = ints[2 * rank + i];
        int64_t last;
        if (size < 0 || size > shape[i] || step == 0)
          return false;
        if (size > 0 && (__builtin_mul_overflow(size - 1, step, &last) ||
                         __builtin_add_overflow(last, start, &last) || start < 0 ||
                         start >= shape[i] || last < 0 || last >= shape[i]))
          return false;
        shape[i] = size;
      }
      return true;
    }
    return false;
  }

  Status states() {
    for (size_t i = 0; i < p.States().size(); ++i) {
      const State &state = p.States()[i];
      if (!inRange(state.pieces, p.StatePieces().size()))
        return fail("state", i, "refers to something that does not exist");
      WEFT_TRY(placed("state", i, state));
      for (uint32_t k = 0; k < state.pieces.count; ++k)
        WEFT_TRY(piece(state.pieces.begin + k, p.ints(state.shape)));
    }
    return distinctNames("state", p.States(), 0);
  }

  /// What is found by its name is there once.
  template <typename Tensor>
  Status distinctNames(const char *table, Table<Tensor> tensors, size_t first) const {
    std::unordered_set<std::string_view> names;
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!names.insert(p.string(tensors[i].name)).second)
        return fail(table, first + i, "has the name of another one");
    return {};
  }

  Status ports() {
    for (size_t i = 0; i < p.Ports().size(); ++i)
      WEFT_TRY(placed("port", i, p.Ports()[i]));
    return {};
  }

  Status kernels() {
    for (size_t i = 0; i < p.Kernels().size(); ++i)
      if (!isString(p.Kernels()[i].symbol))
        return fail("kernel", i, "names a string that does not exist");
    return {};
  }

  Status routines() {
    uint64_t events = 0;
    for (size_t i = 0; i < p.Routines().size(); ++i) {
      const Routine &routine = p.Routines()[i];
      if (!isString(routine.name))
        return fail("routine", i, "names a string that does not exist");
      std::string name =
          "routine " + std::to_string(i) + " (" + std::string(p.string(routine.name));
      WEFT_TRY(verifyRoutine(p, routine, needs.emplace_back()).prefix(name + ")"));
      events += routine.events;
    }
    if (events > kMaxEvents)
      return fail("routine table", 0, "has " + std::to_string(events) + " events");
    return {};
  }

  /// Calls are counted as what they stand for.
  uint64_t numIssued(const Body &body) const {
    uint64_t number = 0;
    for (const Command &command : p.Commands().slice(body.commands))
      number += command.opcode == Opcode::Invoke
                    ? p.Routines()[p.record<Invoke>(command).routine].commands.count
                    : 1;
    return number;
  }

  Status body(const Body &body, uint64_t arenaBytes) {
    WEFT_TRY(verifyCommands(p, {body, arenaBytes, &needs}));
    if (numIssued(body) > kMaxIssued)
      return Status::user("a body issues " + std::to_string(numIssued(body)) + " commands, " +
                          std::to_string(kMaxIssued) + " are the most");
    return {};
  }

  Status programs() {
    std::vector<bool> used(p.Bodies().size());
    for (size_t i = 0; i < p.Programs().size(); ++i) {
      const Program &program = p.Programs()[i];
      if (!isString(program.name) || !inRange(program.inputs, p.Ports().size()) ||
          !inRange(program.outputs, p.Ports().size()) ||
          !inRange(program.bodies, p.Bodies().size()) || program.bodies.count != numStages)
        return fail("program", i, "refers to something that does not exist");
      for (Range ports : {program.inputs, program.outputs})
        WEFT_TRY(distinctNames("port", p.Ports().slice(ports), ports.begin));
      for (int64_t s = 0; s < numStages; ++s) {
        const Body &stage = p.Bodies()[program.bodies.begin + s];
        used[program.bodies.begin + size_t(s)] = true;
        WEFT_TRY(body(stage, p.Stages()[s].arenaBytes).prefix("program " + std::to_string(i)));
      }
      WEFT_TRY(verifyStages(p, program).prefix("program " + std::to_string(i)));
    }
    // Whoever makes room for all bodies would trust what nobody has checked.
    for (size_t i = 0; i < used.size(); ++i)
      if (!used[i])
        return fail("body", i, "is of no program");
    return {};
  }

  const ProgramView &p;
  int64_t numStages = 1;
  std::vector<RoutineNeeds> needs; // by routine
};

} // namespace

Status weft::runtime::verifyProgram(const ProgramView &program) { return Verifier(program).run(); }
