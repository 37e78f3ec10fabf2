// Opens a file once, sees what it is, and checks its seal and its program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/ExecutableFile.h"

#include "weft/runtime/Processor.h"
#include "weft/runtime/Seal.h"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

bool startsWith(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}
bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// A protobuf that begins as models do: with their version, then a known field.
bool looksLikeOnnx(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 0x40 &&
         (bytes[2] & 7) == 2;
}

bool looksLikeMlir(std::string_view bytes) {
  if (startsWith(bytes, "ML\xefR"))
    return true;
  size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == bytes.npos)
    return false;
  bytes.remove_prefix(first);
  for (const char *word : {"module", "builtin.module", "func.func", "onnx.", "#", "!", "// "})
    if (startsWith(bytes, word) && !startsWith(bytes, "#!"))
      return true;
  return false;
}

/// What a file is that is no executable program at all.
Status describe(const std::string &path, std::string_view bytes) {
  std::string compile = "; compile it first: weft-compile " + path + " -o OUT";
  std::string name = "'" + path + "' ";
  const char *made = "; weft-compile MODEL.onnx -o OUT makes an executable";
  if (bytes.empty())
    return Status::user(name + "is empty" + made);
  if (startsWith(bytes, "#!"))
    return Status::user(name + "is a script, which weft-run does not run" + made);
  if (endsWith(path, ".onnx") || looksLikeOnnx(bytes))
    return Status::user(name + "is an ONNX model" + compile);
  if (endsWith(path, ".mlir") || looksLikeMlir(bytes))
    return Status::user(name + "is a program as MLIR" + compile);
  return Status::user(name + "is no executable" + made);
}

} // namespace

ExecutableFile::~ExecutableFile() {
  if (mapping)
    munmap(mapping, bytes);
  if (file >= 0)
    close(file);
}

Status ExecutableFile::map(const std::string &path) {
  // A pipe must not keep us waiting, nor a device be touched.
  file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  struct stat info{};
  if (file < 0 || fstat(file, &info) != 0)
    return Status::user("'" + path + "' cannot be run: " + std::strerror(errno) +
                        "; weft-compile MODEL.onnx -o OUT makes one");
  if (S_ISDIR(info.st_mode))
    return Status::user("'" + path + "' is a folder; name the executable in it");
  if (!S_ISREG(info.st_mode))
    return Status::user("'" + path + "' is not a regular file");
  bytes = uint64_t(info.st_size);
  if (bytes == 0)
    return describe(path, {});
  void *memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED)
    return Status::user("'" + path + "' cannot be mapped: " + std::strerror(errno));
  mapping = memory;
  return {};
}

Status ExecutableFile::open(const std::string &path, ExecutableFile &result) {
  WEFT_TRY(result.map(path));
  std::string_view content(static_cast<const char *>(result.mapping), result.bytes);
  if (!startsWith(content, ELFMAG))
    return describe(path, content);
  Seal seal;
  Status sealed = checkSeal(content.data(), content.size(), seal);
  if (!sealed.ok()) {
    // The runtime in every executable holds this name.
    bool isOurs = content.find("weft_program_blob") != content.npos ||
                  content.find("WEFTPROG") != content.npos;
    if (!isOurs)
      return Status::user("'" + path +
                          "' is a program, but not one that weft-compile "
                          "made; start it by itself");
    return Status::user("'" + path + "' " + sealed.text());
  }
  // Sections are as aligned in the file as in memory, unless a linker packs.
  const char *blob = content.data() + seal.blobOffset;
  WEFT_TRY(ProgramView::open(blob, seal.blobBytes, result.view).prefix("'" + path + "'"));
  if (access(path.c_str(), X_OK) != 0)
    return Status::user("'" + path + "' cannot be run: " + std::strerror(errno) +
                        "; chmod +x allows it");
  return {};
}

Status ExecutableFile::checkOwn() {
  ExecutableFile self;
  WEFT_TRY(self.map("/proc/self/exe"));
  Seal seal;
  Status sealed = checkSeal(static_cast<const char *>(self.mapping), self.bytes, seal);
  return sealed.ok() ? sealed : Status::user("this executable " + sealed.text());
}

Status weft::runtime::checkProcessor(const ProgramView &program) {
  std::string missing = missingFeatures(program.string(program.info().features));
  if (missing.empty())
    return {};
  std::string level = processorLevel();
  return Status::user("the executable was compiled for processor '" +
                      std::string(program.string(program.info().processor)) +
                      "', and this machine's lacks " + missing +
                      "; run it on such a machine, or compile it with --processor " +
                      (level.empty() ? "native on this one" : level));
}
