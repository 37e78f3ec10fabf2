// Reads a slice of a file and decodes it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Testing/Interpreter/StateSource.h"
#include "weft/Interfaces/TensorTypes.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;

FailureOr<HostTensor> weft::readSource(nn::SourceAttr source, RankedTensorType type,
                                       llvm::StringRef folder,
                                       llvm::function_ref<InFlightDiagnostic()> emitError) {
  if (source.getFile().empty()) {
    emitError() << "has no bytes; the model was made without weights";
    return failure();
  }
  llvm::SmallString<128> path(source.getFile());
  if (llvm::sys::path::is_relative(path)) {
    path = folder;
    llvm::sys::path::append(path, source.getFile());
  }
  int64_t expected = bytesOf(type);
  if (source.getLength() != expected) {
    emitError() << "holds " << source.getLength() << " bytes, its type " << type << " needs "
                << expected;
    return failure();
  }
  auto bytes = llvm::MemoryBuffer::getFileSlice(path, source.getLength(), source.getOffset());
  if (!bytes) {
    emitError() << "cannot read '" << path << "': " << bytes.getError().message();
    return failure();
  }
  return decodeHostTensor(type,
                          llvm::ArrayRef((*bytes)->getBufferStart(), (*bytes)->getBufferSize()));
}
