// Bundles the bytes that states refer to into one file beside the executable.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "weft/Driver/Driver.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;

bool weft::driver::copyWeights(ModuleOp module, const std::string &modelDirectory, const std::string &path,
                               std::string &error) {
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  if (code) {
    error = "cannot write '" + path + "': " + code.message();
    return false;
  }
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files;
  Builder builder(module.getContext());
  StringAttr bundle = builder.getStringAttr(llvm::sys::path::filename(path));
  for (auto state : module.getOps<rt::StateOp>()) {
    SmallVector<Attribute> pieces;
    for (auto piece : state.getPieces().getAsRange<rt::PieceAttr>()) {
      if (piece.getData() || !piece.getFile() || piece.getFile().empty()) {
        pieces.push_back(piece);
        continue;
      }
      SmallString<256> source(piece.getFile().getValue());
      if (llvm::sys::path::is_relative(source)) {
        source = modelDirectory;
        llvm::sys::path::append(source, piece.getFile().getValue());
      }
      std::unique_ptr<llvm::MemoryBuffer> &file = files[source];
      if (!file) {
        auto opened = llvm::MemoryBuffer::getFile(source, false, /*RequiresNullTerminator=*/false);
        if (!opened) {
          error = "cannot read the weights of '" + state.getSymName().str() + "' from '" + source.str().str() +
                  "': " + opened.getError().message();
          return false;
        }
        file = std::move(*opened);
      }
      auto type = cast<RankedTensorType>(piece.getType());
      uint64_t bytes = type.getNumElements() * std::max(1u, type.getElementTypeBitWidth() / 8);
      uint64_t begin = piece.getOffset();
      if (begin > file->getBufferSize() || bytes > file->getBufferSize() - begin) {
        error = "the weights of '" + state.getSymName().str() + "' end after the end of '" + source.str().str() + "'";
        return false;
      }
      out.write_zeros(llvm::alignTo(out.tell(), 64) - out.tell());
      int64_t offset = out.tell();
      out << file->getBuffer().substr(begin, bytes);
      pieces.push_back(rt::PieceAttr::get(builder.getContext(), piece.getType(), bundle, offset, piece.getHash(),
                                          ElementsAttr(), piece.getStart()));
    }
    state.setPiecesAttr(builder.getArrayAttr(pieces));
  }
  out.close();
  if (out.has_error()) {
    error = "cannot write '" + path + "': " + out.error().message();
    out.clear_error();
    return false;
  }
  return true;
}
