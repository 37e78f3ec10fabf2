// Writer of the program blob.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/ProgramBuilder.h"

#include <cassert>
#include <type_traits>

using namespace weft::runtime;

namespace {

template <typename T> Id appendTo(std::vector<T> &table, const T &record) {
  table.push_back(record);
  return Id(table.size() - 1);
}

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

} // namespace

ProgramBuilder::ProgramBuilder() {
  string(""); // string 0 is the empty one, so that a zeroed record is valid
  tables.Info.push_back({});
}

StringId ProgramBuilder::string(std::string_view text) {
  auto found = stringIds.find(text);
  if (found != stringIds.end())
    return found->second;
  StringRef ref{tables.StringBytes.size(), text.size()};
  tables.StringBytes.insert(tables.StringBytes.end(), text.begin(), text.end());
  StringId id = appendTo(tables.Strings, ref);
  stringIds.emplace(std::string(text), id);
  return id;
}

Range ProgramBuilder::ints(const Ints &values) {
  if (values.empty())
    return {0, 0};
  auto [it, inserted] =
      intLists.try_emplace(values, Range{uint32_t(tables.Ints.size()), uint32_t(values.size())});
  if (inserted)
    tables.Ints.insert(tables.Ints.end(), values.begin(), values.end());
  return it->second;
}

Range ProgramBuilder::axes(const Ids &values) {
  if (values.empty())
    return {0, 0};
  auto [it, inserted] = axisLists.try_emplace(
      values, Range{uint32_t(tables.AxisIds.size()), uint32_t(values.size())});
  if (inserted)
    tables.AxisIds.insert(tables.AxisIds.end(), values.begin(), values.end());
  return it->second;
}

void ProgramBuilder::addMetadata(std::string_view key, std::string_view value) {
  StringId k = string(key), v = string(value);
  tables.Metadata.push_back({k, v});
}

Id ProgramBuilder::addMeshAxis(std::string_view name, int64_t size) {
  return appendTo(tables.MeshAxes, MeshAxis{string(name), 0, size});
}

Id ProgramBuilder::addCommunicator(const Ids &list) {
  auto [it, inserted] = communicatorIds.try_emplace(list, Id(tables.Communicators.size()));
  if (inserted)
    tables.Communicators.push_back({axes(list)});
  return it->second;
}

Id ProgramBuilder::addPlacement(const PlacementDesc &dims) {
  std::vector<std::vector<std::pair<int64_t, Ids>>> key;
  for (const std::vector<Part> &dim : dims) {
    key.emplace_back();
    for (const Part &part : dim)
      key.back().push_back({part.size, part.axes});
  }
  auto [it, inserted] = placementIds.try_emplace(key, Id(tables.Placements.size()));
  if (!inserted)
    return it->second;
  Placement placement{{uint32_t(tables.PlacementDims.size()), uint32_t(dims.size())}};
  for (const std::vector<Part> &dim : dims) {
    tables.PlacementDims.push_back(
        {{uint32_t(tables.PlacementParts.size()), uint32_t(dim.size())}});
    for (const Part &part : dim)
      tables.PlacementParts.push_back({part.size, axes(part.axes)});
  }
  tables.Placements.push_back(placement);
  return it->second;
}

Id ProgramBuilder::addReplicated(const Ints &shape) {
  PlacementDesc dims;
  for (int64_t size : shape)
    dims.push_back({{size, {}}});
  return addPlacement(dims);
}

Id ProgramBuilder::addBuffer(std::string_view name, BufferClass kind, DType dtype, uint64_t offset,
                             uint64_t bytes, const Ints &shape, Id block) {
  return appendTo(tables.Buffers,
                  Buffer{string(name), kind, dtype, 0, block, 0, offset, bytes, ints(shape)});
}

uint64_t ProgramBuilder::addData(const void *bytes, size_t count) {
  // Aligned for every dtype, so that a reader may use it in place.
  tables.Data.resize(alignUp(tables.Data.size(), kSectionAlignment));
  uint64_t offset = tables.Data.size();
  const auto *begin = static_cast<const uint8_t *>(bytes);
  tables.Data.insert(tables.Data.end(), begin, begin + count);
  return offset;
}

Id ProgramBuilder::addState(std::string_view name, DType dtype, const Ints &shape, Id placement,
                            const HomeList &list, const std::vector<PieceDesc> &pieces) {
  State state{};
  state.name = string(name);
  state.dtype = dtype;
  state.shape = ints(shape);
  state.placement = placement;
  state.homes = homes(list);
  state.pieces = {uint32_t(tables.StatePieces.size()), uint32_t(pieces.size())};
  for (const PieceDesc &desc : pieces) {
    StatePiece piece{};
    piece.kind = desc.kind;
    piece.dtype = desc.dtype;
    piece.path = string(desc.path);
    piece.byteOffset = desc.byteOffset;
    piece.byteLength = dtypeBytes(desc.dtype);
    for (int64_t size : desc.sourceShape)
      piece.byteLength *= uint64_t(size);
    piece.confined = desc.confined;
    piece.hashes = {uint32_t(tables.SourceHashes.size()), uint32_t(desc.hashes.size())};
    tables.SourceHashes.insert(tables.SourceHashes.end(), desc.hashes.begin(), desc.hashes.end());
    piece.sourceShape = ints(desc.sourceShape);
    piece.transforms = {uint32_t(tables.Transforms.size()), uint32_t(desc.transforms.size())};
    for (const LoadTransform &transform : desc.transforms)
      tables.Transforms.push_back({transform.kind, transform.dtype, 0, ints(transform.ints)});
    piece.start = ints(desc.start);
    tables.StatePieces.push_back(piece);
  }
  return appendTo(tables.States, state);
}

Range ProgramBuilder::homes(const HomeList &list) {
  Range range{uint32_t(tables.Homes.size()), uint32_t(list.size())};
  tables.Homes.insert(tables.Homes.end(), list.begin(), list.end());
  return range;
}

Id ProgramBuilder::addPort(std::string_view name, DType dtype, const Ints &shape, Id placement,
                           const HomeList &list) {
  Port port{};
  port.name = string(name);
  port.dtype = dtype;
  port.shape = ints(shape);
  port.placement = placement;
  port.homes = homes(list);
  return appendTo(tables.Ports, port);
}

Id ProgramBuilder::addKernel(std::string_view symbol) {
  StringId name = string(symbol);
  auto [it, inserted] = kernelIds.try_emplace(name, Id(tables.Kernels.size()));
  if (inserted)
    tables.Kernels.push_back({name, 0});
  return it->second;
}

View ProgramBuilder::view(Id buffer) {
  const Buffer record = tables.Buffers[buffer];
  auto begin = tables.Ints.begin() + record.shape.begin;
  return view(buffer, record.dtype, 0, Ints(begin, begin + record.shape.count));
}

View ProgramBuilder::view(Id buffer, DType dtype, int64_t byteOffset, const Ints &sizes,
                          const Ints &strides) {
  View result{};
  result.buffer = buffer;
  result.dtype = dtype;
  result.byteOffset = byteOffset;
  result.sizes = ints(sizes);
  Ints full = strides;
  if (full.empty() && !sizes.empty()) {
    full.assign(sizes.size(), 1);
    for (size_t i = sizes.size() - 1; i > 0; --i)
      full[i - 1] = full[i] * (sizes[i] > 0 ? sizes[i] : 1);
  }
  assert(full.size() == sizes.size() && "a stride for each size");
  result.strides = ints(full);
  return result;
}

ScalarValue ProgramBuilder::constant(int64_t value) {
  return {ValueBase::Constant, {}, {0, 0}, 0, value};
}

ScalarValue ProgramBuilder::coordinate(const Ids &list, int64_t scale, int64_t addend) {
  return {ValueBase::Coordinate, {}, axes(list), scale, addend};
}

Range ProgramBuilder::values(const std::vector<ScalarValue> &list) {
  if (list.empty())
    return {0, 0};
  Range range{uint32_t(tables.ScalarValues.size()), uint32_t(list.size())};
  tables.ScalarValues.insert(tables.ScalarValues.end(), list.begin(), list.end());
  return range;
}

void ProgramBuilder::beginProgram(std::string_view name, const Ids &inputs, const Ids &outputs) {
  auto consecutive = [](const Ids &ids) {
    for (size_t i = 1; i < ids.size(); ++i)
      if (ids[i] != ids[0] + i)
        return false;
    return true;
  };
  assert(consecutive(inputs) && consecutive(outputs) && "port ids must be consecutive");
  (void)consecutive;
  auto range = [](const Ids &ids) {
    return ids.empty() ? Range{0, 0} : Range{ids[0], uint32_t(ids.size())};
  };
  tables.Programs.push_back(
      {string(name), 0, range(inputs), range(outputs), {uint32_t(tables.Bodies.size()), 0}});
}

void ProgramBuilder::beginBody(uint32_t streams, uint32_t events) {
  tables.Bodies.push_back({{uint32_t(tables.Commands.size()), 0}, streams, events});
}

void ProgramBuilder::endBody() {
  Range &commands = tables.Bodies.back().commands;
  commands.count = uint32_t(tables.Commands.size()) - commands.begin;
}

void ProgramBuilder::endProgram() {
  Range &bodies = tables.Programs.back().bodies;
  bodies.count = uint32_t(tables.Bodies.size()) - bodies.begin;
}

Id ProgramBuilder::beginRoutine(std::string_view name, const Ints &blocks, uint32_t reads,
                                uint32_t streams, uint32_t events) {
  Range commands{uint32_t(tables.Commands.size()), 0};
  return appendTo(tables.Routines,
                  Routine{string(name), streams, events, reads, commands, ints(blocks)});
}

void ProgramBuilder::endRoutine() {
  Range &commands = tables.Routines.back().commands;
  commands.count = uint32_t(tables.Commands.size()) - commands.begin;
}

Range ProgramBuilder::viewList(const std::vector<View> &views) {
  static_assert(std::has_unique_object_representations_v<View>, "its bytes tell views apart");
  if (views.empty())
    return {0, 0};
  std::string key(reinterpret_cast<const char *>(views.data()), views.size() * sizeof(View));
  auto [it, inserted] = viewLists.try_emplace(
      std::move(key), Range{uint32_t(tables.Views.size()), uint32_t(views.size())});
  if (inserted)
    tables.Views.insert(tables.Views.end(), views.begin(), views.end());
  return it->second;
}

void ProgramBuilder::append(const On &on, Opcode opcode, size_t params,
                            const std::vector<View> &views) {
  Command command{};
  command.opcode = opcode;
  command.stream = uint16_t(on.stream);
  command.node = string(on.node);
  command.action = string(on.action);
  command.params = uint32_t(params);
  command.views = viewList(views);
  tables.Commands.push_back(command);
}

void ProgramBuilder::add(const On &on, const std::vector<Collective> &bucket,
                         const std::vector<View> &views) {
  size_t first = tables.CollectiveRecords.size();
  tables.CollectiveRecords.insert(tables.CollectiveRecords.end(), bucket.begin(), bucket.end());
  append(on, Opcode::Collective, first, views);
}

bool ProgramBuilder::add(const On &on, Opcode opcode, const std::vector<View> &views) {
  auto add = [&](auto record) {
    constexpr bool isPlain = std::is_base_of_v<NoParameters, decltype(record)>;
    if constexpr (isPlain)
      this->add(on, record, views);
    return isPlain;
  };
  switch (opcode) {
#define WEFT_ADD_PLAIN(RECORD, NAME, VIEWS)                                                        \
  case Opcode::RECORD:                                                                             \
    return add(RECORD{});
    WEFT_COMMANDS(WEFT_ADD_PLAIN)
#undef WEFT_ADD_PLAIN
  }
  return false;
}

void ProgramBuilder::launch(const On &on, Id kernel, int64_t extent, int64_t grain,
                            const std::vector<View> &pointers,
                            const std::vector<ScalarValue> &scalars, uint32_t reads) {
  add(on, Launch{kernel, reads, extent, grain, values(scalars)}, pointers);
}

void ProgramBuilder::invoke(const On &on, Id routine, const std::vector<View> &blocks,
                            std::string_view label, uint32_t microbatch, const Ints &unset) {
  add(on, Invoke{routine, string(label), microbatch, ints(unset)}, blocks);
}

std::vector<uint8_t> ProgramBuilder::finish() const {
  SectionRecord records[kNumSections] = {};
  uint64_t end = alignUp(sizeof(ProgramHeader) + sizeof records, kSectionAlignment);
#define WEFT_SECTION(NAME, TYPE)                                                                   \
  records[uint32_t(Section::NAME)] = {end, tables.NAME.size(), uint32_t(sizeof(TYPE)), 0};         \
  end = alignUp(end + tables.NAME.size() * sizeof(TYPE), kSectionAlignment);
  WEFT_PROGRAM_SECTIONS(WEFT_SECTION)
#undef WEFT_SECTION
  std::vector<uint8_t> blob(end, 0);
  std::memcpy(blob.data() + sizeof(ProgramHeader), records, sizeof records);
#define WEFT_SECTION(NAME, TYPE)                                                                   \
  if (!tables.NAME.empty())                                                                        \
    std::memcpy(blob.data() + records[uint32_t(Section::NAME)].offset, tables.NAME.data(),         \
                tables.NAME.size() * sizeof(TYPE));
  WEFT_PROGRAM_SECTIONS(WEFT_SECTION)
#undef WEFT_SECTION
  ProgramHeader header{kProgramMagic, kProgramVersion, kNumSections, end, 0};
  header.checksum = hashBytes(blob.data() + sizeof header, blob.size() - sizeof header);
  std::memcpy(blob.data(), &header, sizeof header);
  return blob;
}
