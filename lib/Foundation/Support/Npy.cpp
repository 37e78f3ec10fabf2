// Parses the header of an .npy file and decodes what follows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Npy.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace weft;

static llvm::Error complain(llvm::StringRef path, const llvm::Twine &what) {
  return llvm::createStringError("'" + path + "' " + what);
}

/// The text after `key` in a header that is a Python dict literal.
static llvm::StringRef valueOf(llvm::StringRef header, llvm::StringRef key) {
  size_t at = header.find(("'" + key + "'").str());
  if (at == llvm::StringRef::npos)
    return "";
  llvm::StringRef rest = header.drop_front(at + key.size() + 2).ltrim();
  return rest.consume_front(":") ? rest.ltrim() : "";
}

static Type elementTypeOf(llvm::StringRef descriptor, MLIRContext *context) {
  Builder b(context);
  bool oneByte = descriptor.starts_with("|") || descriptor.starts_with("<");
  if (!oneByte)
    return Type();
  llvm::StringRef kind = descriptor.drop_front();
  if (kind == "V2")
    return b.getBF16Type();
  if (kind == "b1")
    return b.getI1Type();
  unsigned bytes = 0;
  if (kind.size() != 2 || kind.drop_front().getAsInteger(10, bytes) ||
      !llvm::is_contained({1u, 2u, 4u, 8u}, bytes))
    return Type();
  switch (kind.front()) {
  case 'i':
    return b.getIntegerType(8 * bytes);
  case 'u':
    return b.getIntegerType(8 * bytes, /*isSigned=*/false);
  case 'f':
    return bytes == 2   ? Type(b.getF16Type())
           : bytes == 4 ? Type(b.getF32Type())
           : bytes == 8 ? Type(b.getF64Type())
                        : Type();
  }
  return Type();
}

static bool parseShape(llvm::StringRef text, SmallVectorImpl<int64_t> &shape) {
  if (!text.consume_front("("))
    return false;
  SmallVector<llvm::StringRef> extents;
  text.take_until([](char c) { return c == ')'; }).split(extents, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef extent : extents) {
    int64_t value = 0;
    if (extent.trim().empty())
      continue;
    if (extent.trim().getAsInteger(10, value) || value < 0)
      return false;
    shape.push_back(value);
  }
  return true;
}

llvm::Expected<HostTensor> weft::readNpy(llvm::StringRef path, MLIRContext *context) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return complain(path, "cannot be read: " + file.getError().message());
  llvm::StringRef bytes = (*file)->getBuffer();
  if (bytes.size() < 12 || !bytes.starts_with("\x93NUMPY"))
    return complain(path, "is not an .npy file");
  bool wide = bytes[6] > 1;
  size_t length = wide ? llvm::support::endian::read32le(bytes.data() + 8)
                       : llvm::support::endian::read16le(bytes.data() + 8);
  size_t begin = wide ? 12 : 10;
  if (length > bytes.size() - begin)
    return complain(path, "ends within its header");
  llvm::StringRef header = bytes.substr(begin, length), data = bytes.drop_front(begin + length);
  llvm::StringRef descriptor = valueOf(header, "descr");
  descriptor =
      descriptor.drop_front(!descriptor.empty()).take_until([](char c) { return c == '\''; });
  Type element = elementTypeOf(descriptor, context);
  if (!element)
    return complain(path, "has elements of type '" + descriptor + "', which is not supported");
  if (!valueOf(header, "fortran_order").starts_with("False"))
    return complain(path, "is in Fortran order; save it in C order");
  SmallVector<int64_t> shape;
  if (!parseShape(valueOf(header, "shape"), shape))
    return complain(path, "has a damaged shape");
  std::optional<int64_t> size = elementBytes(element);
  for (int64_t extent : shape)
    size = size ? llvm::checkedMul(*size, extent) : size;
  if (!size || static_cast<uint64_t>(*size) != data.size())
    return complain(path, "holds " + llvm::Twine(data.size()) +
                              " bytes of elements, its header promises " +
                              (size ? llvm::Twine(*size).str() : std::string("more")));
  return decodeHostTensor(RankedTensorType::get(shape, element),
                          llvm::ArrayRef(data.data(), data.size()));
}
