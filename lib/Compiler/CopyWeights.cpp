// Bundles the bytes that states refer to into one file beside the executable.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CopyWeights.h"

#include "dialects/rt/IR/Rt.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;

llvm::Error weft::copyWeights(ModuleOp module, emit::SourceFiles &sources,
                              emit::SourceHashes &hashes, const std::string &path,
                              OutputFile &file) {
  if (llvm::Error wrong = file.open(path))
    return wrong;
  llvm::raw_pwrite_stream &out = file.os();
  Builder builder(module.getContext());
  StringAttr bundle = builder.getStringAttr(llvm::sys::path::filename(path));
  llvm::DenseMap<Attribute, Attribute> copies; // of what several stages hold there is one
  for (rt::StateOp state : emit::statesOf(module)) {
    SmallVector<Attribute> pieces;
    for (auto piece : state.getPieces().getAsRange<rt::PieceAttr>()) {
      if (!emit::isInFile(piece)) {
        pieces.push_back(piece);
        continue;
      }
      Attribute &copy = copies[piece];
      if (copy) {
        pieces.push_back(copy);
        continue;
      }
      auto bytes = sources.bytesOf(piece);
      if (!bytes)
        return bytes.takeError();
      out.write_zeros(llvm::alignTo(out.tell(), 64) - out.tell());
      int64_t offset = out.tell();
      out << StringRef(bytes->data(), bytes->size());
      auto moved = rt::PieceAttr::get(builder.getContext(), piece.getType(), bundle, offset,
                                      piece.getHash(), ElementsAttr(), piece.getStart());
      std::vector<uint64_t> ofPiece = hashes.lookup(piece);
      hashes[moved] = std::move(ofPiece);
      copy = moved;
      pieces.push_back(moved);
    }
    state.setPiecesAttr(builder.getArrayAttr(pieces));
  }
  return llvm::Error::success();
}
