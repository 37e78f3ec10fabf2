// Maps the files that states come from and hashes them block by block.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/Sources.h"

#include "dialects/rt/IR/Rt.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Support/ConfinedFile.h"
#include "weft/runtime/SourceBlocks.h"

#include "mlir/IR/Threading.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::emit;

bool emit::isInFile(rt::PieceAttr piece) {
  return !piece.getData() && piece.getFile() && !piece.getFile().empty();
}

SmallVector<rt::StateOp> emit::statesOf(ModuleOp module) {
  SmallVector<rt::StateOp> states;
  for (ModuleOp stage : rt::stageModulesOf(module))
    llvm::append_range(states, stage.getOps<rt::StateOp>());
  return states;
}

llvm::Expected<const SourceFiles::Mapping &> SourceFiles::open(StringRef name) {
  std::unique_ptr<Mapping> &mapping = files[name];
  if (mapping)
    return *mapping;
  // What the user named may be a link; what it names itself is its folder's.
  SmallString<256> folder(directory), file(name);
  if (llvm::sys::path::is_absolute(name) || name == modelName) {
    SmallString<256> full(name);
    if (llvm::sys::path::is_relative(full)) {
      full = directory;
      llvm::sys::path::append(full, name);
    }
    SmallString<256> real;
    if (std::error_code code = llvm::sys::fs::real_path(full, real))
      return llvm::createStringError("'" + full.str() + "': " + code.message());
    folder = llvm::sys::path::parent_path(real);
    file = llvm::sys::path::filename(real);
  }
  ConfinedFile opened;
  if (llvm::Error wrong = opened.open(folder, file))
    return llvm::createStringError("'" + name + "' in '" + folder.str() +
                                   "': " + llvm::toString(std::move(wrong)));
  std::error_code code;
  if (opened.getSize() == 0)
    code = std::make_error_code(std::errc::no_message_available);
  else
    mapping = std::make_unique<Mapping>(opened.getDescriptor(), Mapping::readonly, opened.getSize(),
                                        0, code);
  if (!code)
    return *mapping;
  mapping.reset();
  return llvm::createStringError("'" + name + "' is empty or cannot be mapped");
}

llvm::Expected<ArrayRef<char>> SourceFiles::bytesOf(rt::PieceAttr piece) {
  auto file = open(piece.getFile().getValue());
  if (!file)
    return file.takeError();
  auto type = cast<RankedTensorType>(piece.getType());
  uint64_t bytes = weft::bytesOf(type);
  uint64_t begin = piece.getOffset();
  if (begin > file->size() || bytes > file->size() - begin)
    return llvm::createStringError("they end after the end of '" + piece.getFile().getValue() +
                                   "'");
  return ArrayRef<char>(file->const_data() + begin, bytes);
}

llvm::Error emit::hashSources(ModuleOp module, SourceFiles &files, SourceHashes &hashes) {
  struct Block {
    ArrayRef<char> source;
    uint64_t number;
    uint64_t *hash;
  };
  std::vector<std::pair<rt::PieceAttr, ArrayRef<char>>> sources;
  for (rt::StateOp state : statesOf(module))
    for (auto piece : state.getPieces().getAsRange<rt::PieceAttr>()) {
      if (!isInFile(piece) || !hashes.try_emplace(piece).second)
        continue;
      auto bytes = files.bytesOf(piece);
      if (!bytes)
        return llvm::createStringError("the weights of '" + state.getSymName() +
                                       "' cannot be read: " + llvm::toString(bytes.takeError()));
      sources.push_back({piece, *bytes});
    }
  // No entry is added any more, so that the vectors stay where they are.
  std::vector<Block> blocks;
  for (auto &[piece, bytes] : sources) {
    std::vector<uint64_t> &ofPiece = hashes[piece];
    ofPiece.resize(runtime::numSourceBlocks(bytes.size()));
    for (auto [number, hash] : llvm::enumerate(ofPiece))
      blocks.push_back({bytes, number, &hash});
  }
  parallelForEach(module.getContext(), blocks, [](const Block &block) {
    *block.hash = runtime::hashSourceBlock(block.source.data(), block.source.size(), block.number);
  });
  return llvm::Error::success();
}
