// Names of the format's enumerators, sizes, and the blob's container checks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Program.h"

#include "program/ProgramVerifier.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace weft::runtime;

unsigned weft::runtime::dtypeBytes(DType type) {
  switch (type) {
  case DType::F64:
  case DType::I64:
  case DType::U64:
    return 8;
  case DType::F32:
  case DType::I32:
  case DType::U32:
    return 4;
  case DType::BF16:
  case DType::F16:
  case DType::I16:
  case DType::U16:
    return 2;
  case DType::I8:
  case DType::U8:
  case DType::Bool:
    return 1;
  }
  return 0;
}

const char *weft::runtime::dtypeName(DType type) {
  static constexpr const char *names[kNumDTypes] = {
      "f64", "f32", "bf16", "f16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"};
  return unsigned(type) < kNumDTypes ? names[unsigned(type)] : "?";
}

const char *weft::runtime::bufferClassName(BufferClass value) {
  static constexpr const char *names[kNumBufferClasses] = {
      "parameter",     "input",     "output",   "activation",
      "communication", "workspace", "gradient", "optimizer"};
  return unsigned(value) < kNumBufferClasses ? names[unsigned(value)] : "?";
}

const char *weft::runtime::opcodeName(Opcode value) {
  return unsigned(value) < kNumOpcodes ? kCommandTable[unsigned(value)].name : "?";
}

unsigned weft::runtime::opcodeNamed(std::string_view name) {
  unsigned opcode = 0;
  while (opcode < kNumOpcodes && name != kCommandTable[opcode].name)
    ++opcode;
  return opcode;
}

ViewRoles weft::runtime::viewRoles(Opcode value) {
  ViewRoles roles;
  bool begins = true;
  for (const char *at = kCommandTable[unsigned(value)].views; *at; ++at) {
    if (begins) {
      roles.isList |= *at == '*';
      roles.written |= uint32_t(*at == '>') << roles.most;
      roles.least += *at != '?';
      ++roles.most;
    }
    begins = *at == ' ';
  }
  return roles;
}

bool weft::runtime::writesView(const ProgramView &program, const Command &command, uint32_t view) {
  if (command.opcode == Opcode::Launch)
    return view >= program.record<Launch>(command).reads;
  if (command.opcode == Opcode::Invoke)
    return view >= program.Routines()[program.record<Invoke>(command).routine].reads;
  if (command.opcode == Opcode::Collective) {
    CollectiveKind kind = program.record<Collective>(command).kind;
    return kind == CollectiveKind::Recv || (kind != CollectiveKind::Send && view % 2 == 1);
  }
  return viewRoles(command.opcode).written >> view & 1;
}

const char *weft::runtime::collectiveKindName(CollectiveKind value) {
  static constexpr const char *names[kNumCollectiveKinds] = {
      "all_gather", "all_reduce", "reduce_scatter", "all_to_all", "send", "recv"};
  return unsigned(value) < kNumCollectiveKinds ? names[unsigned(value)] : "?";
}

uint64_t weft::runtime::hashBytes(const void *data, size_t bytes) {
  return XXH3_64bits(data, bytes);
}

Status ProgramView::open(const void *blob, uint64_t bytes, ProgramView &view) {
  auto corrupt = [](const std::string &what) {
    return Status::user("the executable program is corrupt: " + what + "; compile the model again");
  };
  if (!blob || bytes < sizeof(ProgramHeader))
    return corrupt("it has " + std::to_string(bytes) + " bytes, less than its header");
  if (reinterpret_cast<uintptr_t>(blob) % 8 != 0)
    return Status::internal("the program blob is not aligned to 8 bytes");
  ProgramHeader header;
  std::memcpy(&header, blob, sizeof header);
  if (header.magic != kProgramMagic)
    return corrupt("it does not start with the mark of a Weft program");
  if (header.version != kProgramVersion || header.sections != kNumSections)
    return Status::user("the executable program has format version " +
                        std::to_string(header.version) + " with " +
                        std::to_string(header.sections) + " sections, this runtime reads version " +
                        std::to_string(kProgramVersion) + " with " + std::to_string(kNumSections) +
                        "; compile the model again");
  if (header.bytes != bytes)
    return corrupt("its header says " + std::to_string(header.bytes) + " bytes, there are " +
                   std::to_string(bytes));
  const auto *base = static_cast<const uint8_t *>(blob);
  if (hashBytes(base + sizeof header, bytes - sizeof header) != header.checksum)
    return corrupt("its checksum does not match its content");
  const auto *records = reinterpret_cast<const SectionRecord *>(base + sizeof header);
  uint64_t least = sizeof header + sizeof(SectionRecord) * kNumSections;
  if (bytes < least)
    return corrupt("its section directory is cut off");
  auto checkSection = [&](Section section, const char *name, size_t recordBytes) -> Status {
    const SectionRecord &r = records[uint32_t(section)];
    if (r.recordBytes != recordBytes)
      return corrupt(std::string("records of section ") + name + " have " +
                     std::to_string(r.recordBytes) + " bytes, expected " +
                     std::to_string(recordBytes));
    if (r.offset % kSectionAlignment != 0 || r.offset < least || r.offset > bytes ||
        r.count > (bytes - r.offset) / recordBytes ||
        (r.count >= kNone && section != Section::Data))
      return corrupt(std::string("section ") + name + " lies outside of it");
    return {};
  };
#define WEFT_SECTION(NAME, TYPE) WEFT_TRY(checkSection(Section::NAME, #NAME, sizeof(TYPE)));
  WEFT_PROGRAM_SECTIONS(WEFT_SECTION)
#undef WEFT_SECTION
  ProgramView result;
  result.base = base;
  result.sections = records;
  Status status = verifyProgram(result);
  if (!status.ok())
    return corrupt(status.text());
  view = result;
  return {};
}

int64_t ProgramView::numRanks() const {
  int64_t ranks = 1;
  for (const MeshAxis &axis : MeshAxes())
    ranks *= axis.size;
  return ranks;
}
