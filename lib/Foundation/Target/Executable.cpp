// Links blob, kernels and runtime into one ELF executable.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Executable.h"

#include "weft/Support/OnInterrupt.h"
#include "weft/Target/NativeCode.h"
#include "weft/runtime/Seal.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <csignal>
#include <optional>

using namespace weft;

namespace {

/// A folder that is gone when the object is.
class ScratchDirectory {
public:
  llvm::Error make() {
    if (auto code = llvm::sys::fs::createUniqueDirectory("weft", path))
      return llvm::createStringError("cannot make a temporary folder: " + code.message());
    // Whoever still writes into it may need a second try.
    cleanup.emplace([this] {
      for (int tries = 0; tries < 10 && llvm::sys::fs::exists(path); ++tries)
        remove();
    });
    return llvm::Error::success();
  }
  ~ScratchDirectory() {
    if (!path.empty())
      remove();
  }
  std::string file(llvm::StringRef name) const {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, name);
    return full.str().str();
  }

private:
  void remove() { [[maybe_unused]] std::error_code left = llvm::sys::fs::remove_directories(path); }

  llvm::SmallString<128> path;
  std::optional<OnInterrupt> cleanup;
};

llvm::Error writeFile(const std::string &path, llvm::StringRef bytes) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (!code) {
    stream << bytes;
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (code)
    return llvm::createStringError("cannot write '" + path + "': " + code.message());
  return llvm::Error::success();
}

/// The program that links.
llvm::Expected<std::string> findLinker(llvm::StringRef wanted) {
  llvm::SmallVector<llvm::StringRef> names{"c++", "g++", "clang++-22", "clang++"};
  if (!wanted.empty())
    names = {wanted};
  for (llvm::StringRef name : names)
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
  return llvm::createStringError("no program to link with: looked for " + llvm::join(names, ", ") +
                                 " in PATH; install one (apt-get install g++)");
}

/// GNU ld has such sections behind all that the system touches before `main`. So what is cut off
/// there still starts, and says so.
constexpr const char *kLastSection = ".lrodata.weft";

/// What stands first in that section until `moveLoaderName` finds it, with zeros to its length.
constexpr llvm::StringLiteral kLoaderPlace = "weft: here the file shall name the system's loader";
constexpr size_t kLoaderPlaceBytes = 256;

/// The relocatable object that holds the blob and the kernel table, with the symbols of
/// runtime/include/weft/runtime/Program.h.
class TableObject {
public:
  TableObject() : module("weft", context) {
    word = llvm::Type::getInt64Ty(context);
    number = llvm::Type::getInt32Ty(context);
    pointer = llvm::PointerType::getUnqual(context);
  }

  llvm::Error open() {
    llvm::Expected<NativeCode> native = nativeCode();
    if (!native)
      return native.takeError();
    machine.reset(native->target->createTargetMachine(native->triple, "", "", llvm::TargetOptions(),
                                                      llvm::Reloc::PIC_));
    module.setTargetTriple(native->triple);
    module.setDataLayout(machine->createDataLayout());
    return llvm::Error::success();
  }

  /// The blob, and in front of it the place for the loader's name.
  void addBlob(llvm::ArrayRef<uint8_t> blob) {
    std::string place = kLoaderPlace.str();
    place.resize(kLoaderPlaceBytes);
    hidden(llvm::ConstantDataArray::getString(context, place, /*AddNull=*/false), 64)
        ->setSection(kLastSection);
    add("weft_program_blob", llvm::ConstantDataArray::get(context, blob), 64)
        ->setSection(kLastSection);
    add("weft_program_blob_size", llvm::ConstantInt::get(word, blob.size()), 8);
  }

  void addKernels(llvm::ArrayRef<ExecutableKernel> kernels) {
    auto *entry = llvm::StructType::get(pointer, pointer, pointer);
    std::vector<llvm::Constant *> entries;
    for (const ExecutableKernel &kernel : kernels)
      entries.push_back(llvm::ConstantStruct::get(
          entry, {text(kernel.symbol), functionOf(kernel), imageOf(kernel)}));
    add("weft_kernel_table",
        llvm::ConstantArray::get(llvm::ArrayType::get(entry, entries.size()), entries), 8);
    add("weft_kernel_count", llvm::ConstantInt::get(word, entries.size()), 8);
  }

  /// Where communicators are looked for.
  void addPluginDirectory(llvm::StringRef folder) {
    add("weft_plugin_directory", llvm::ConstantDataArray::getString(context, folder), 1);
  }

  void write(llvm::SmallVectorImpl<char> &object) {
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager passes;
    bool cannot =
        machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
    assert(!cannot && "LLVM writes objects for every machine that it runs on");
    (void)cannot;
    passes.run(module);
  }

private:
  llvm::GlobalVariable *add(llvm::StringRef name, llvm::Constant *value, unsigned alignment) {
    auto *global = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::ExternalLinkage, value, name);
    global->setAlignment(llvm::Align(alignment));
    return global;
  }
  llvm::GlobalVariable *hidden(llvm::Constant *value, unsigned alignment) {
    auto *global = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, value, "data");
    global->setAlignment(llvm::Align(alignment));
    return global;
  }
  /// Ends with a zero, which is no harm behind bytes.
  llvm::GlobalVariable *text(llvm::StringRef value, unsigned alignment = 1) {
    return hidden(llvm::ConstantDataArray::getString(context, value), alignment);
  }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(pointer); }

  llvm::Constant *functionOf(const ExecutableKernel &kernel) {
    if (kernel.object.empty())
      return null();
    auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                         {word, word, pointer, pointer}, false);
    return llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kernel.symbol, module);
  }
  llvm::Constant *imageOf(const ExecutableKernel &kernel) {
    if (kernel.objectHasImage)
      return new llvm::GlobalVariable(module, pointer, /*isConstant=*/true,
                                      llvm::GlobalValue::ExternalLinkage, nullptr,
                                      kernel.symbol + ".image");
    if (!kernel.device)
      return null();
    const DeviceCode &code = *kernel.device;
    auto image = [&](llvm::StringRef bytes, unsigned alignment) -> llvm::Constant * {
      if (bytes.empty())
        return null();
      llvm::GlobalVariable *global = text(bytes, alignment);
      global->setSection(kLastSection);
      return global;
    };
    // A driver reads headers of a binary in place.
    llvm::Constant *fields[] = {image(code.binary, 64),
                                image(code.text, 1),
                                text(code.chip),
                                llvm::ConstantInt::get(number, code.threads),
                                llvm::ConstantInt::get(number, code.alignment),
                                llvm::ConstantInt::get(number, code.takesTable)};
    return hidden(llvm::ConstantStruct::getAnon(context, fields), 8);
  }

  llvm::LLVMContext context;
  llvm::Module module;
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::Type *word, *number;
  llvm::PointerType *pointer;
};

} // namespace

/// All archives that are linked, the runtime's last: the others may need it.
static llvm::Expected<std::vector<std::string>> findArchives(const ExecutableParts &parts,
                                                             const LinkOptions &options) {
  llvm::SmallVector<llvm::StringRef> names(parts.archives.begin(), parts.archives.end());
  names.append(parts.devices.begin(), parts.devices.end());
  names.push_back("weft_runtime");
  std::vector<std::string> paths;
  for (llvm::StringRef name : names) {
    llvm::SmallString<128> full(options.runtimeDirectory);
    llvm::sys::path::append(full, "lib" + name + ".a");
    if (!llvm::sys::fs::exists(full))
      return llvm::createStringError("cannot find the runtime library '" + full.str() +
                                     "'; build the target '" + name +
                                     "' or say where it is with --runtime-dir");
    paths.push_back(full.str().str());
  }
  return paths;
}

/// The folder of the runtime as any other folder sees it.
static std::string pluginDirectory(const LinkOptions &options) {
  llvm::SmallString<128> folder(options.runtimeDirectory);
  if (!llvm::sys::fs::make_absolute(folder))
    llvm::sys::path::remove_dots(folder, /*remove_dot_dot=*/true);
  return folder.str().str();
}

llvm::SmallVector<ExecutableKernel, 0> weft::objectKernels(const KernelImages &images) {
  llvm::SmallVector<ExecutableKernel, 0> kernels;
  for (const KernelImage &image : images.kernels)
    kernels.push_back(
        {image.symbol, llvm::StringRef(image.bytes.data(), image.bytes.size()), false, {}});
  return kernels;
}

llvm::Error weft::checkLinker(const LinkOptions &options, const ExecutableParts &parts) {
  if (llvm::Error wrong = findLinker(options.linker).takeError())
    return wrong;
  return findArchives(parts, options).takeError();
}

/// As a line of a response file: whatever the name holds, it is one argument.
static std::string quoted(llvm::StringRef argument) {
  std::string line = "\"";
  for (char c : argument) {
    if (c == '"' || c == '\\')
      line += '\\';
    line += c;
  }
  return line + "\"\n";
}

/// Runs the linker in a process group of its own, which ends with us.
static llvm::Error runLinker(const std::string &linker, const ScratchDirectory &scratch) {
  std::string log = scratch.file("link.log"), responseArg = "@" + scratch.file("link.rsp"), message;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log),
                                                llvm::StringRef(log)};
  bool failed = false;
  llvm::sys::ProcessInfo started = llvm::sys::ExecuteNoWait(
      linker, {linker, responseArg}, std::nullopt, redirects, 0, &message, &failed,
      /*AffinityMask=*/nullptr, /*DetachProcess=*/true);
  int code = -1;
  if (!failed) {
    OnInterrupt stop([&] { ::kill(-started.Pid, SIGTERM); });
    code = llvm::sys::Wait(started, std::nullopt, &message).ReturnCode;
  }
  if (code == 0)
    return llvm::Error::success();
  std::string said;
  if (auto text = llvm::MemoryBuffer::getFile(log))
    for (llvm::StringRef line : llvm::split((*text)->getBuffer().rtrim(), '\n'))
      said += ("\n  " + line).str();
  return llvm::createStringError("'" + linker + "' failed with code " + std::to_string(code) +
                                 (message.empty() ? "" : ": " + message) + said);
}

/// Has the system read the name of its loader at `place` of the file instead of at its beginning.
/// That is the first thing it reads, before it gives the process a new image. So it refuses a file
/// that is cut off before `place` ("Input/output error"), which would end in a signal otherwise:
/// what the loader needs would be missing.
static void moveLoaderName(llvm::MutableArrayRef<char> file, size_t place) {
  using namespace llvm::ELF;
  auto &header = *reinterpret_cast<Elf64_Ehdr *>(file.data());
  if (!header.checkMagic() || header.getFileClass() != ELFCLASS64)
    return;
  llvm::MutableArrayRef<Elf64_Phdr> segments(
      reinterpret_cast<Elf64_Phdr *>(file.data() + header.e_phoff), header.e_phnum);
  llvm::MutableArrayRef<Elf64_Shdr> sections(
      reinterpret_cast<Elf64_Shdr *>(file.data() + header.e_shoff), header.e_shnum);
  for (Elf64_Phdr &segment : segments) {
    if (segment.p_type != PT_INTERP || segment.p_filesz > kLoaderPlaceBytes)
      continue;
    llvm::MutableArrayRef<char> name = file.slice(place, kLoaderPlaceBytes);
    llvm::fill(name, 0);
    llvm::copy(file.slice(segment.p_offset, segment.p_filesz), name.begin());
    // `strip` and its kin go by sections.
    for (Elf64_Shdr &section : sections)
      if (section.sh_offset == segment.p_offset && section.sh_size == segment.p_filesz)
        section.sh_offset = place;
    segment.p_offset = place;
  }
}

/// Writes the linked file and the seal behind it.
static llvm::Error writeSealed(const std::string &linked, llvm::ArrayRef<uint8_t> program,
                               llvm::raw_ostream &out) {
  auto file = llvm::WritableMemoryBuffer::getFile(linked);
  if (!file)
    return llvm::createStringError("cannot read what was linked, '" + linked +
                                   "': " + file.getError().message());
  llvm::StringRef bytes = (*file)->MemoryBuffer::getBuffer();
  llvm::StringRef blob(reinterpret_cast<const char *>(program.data()), program.size());
  size_t offset = bytes.find(blob), place = bytes.take_front(offset).rfind(kLoaderPlace);
  if (offset == llvm::StringRef::npos || place == llvm::StringRef::npos)
    return llvm::createStringError(
        "the linked file does not hold the program as it is; is '--linker' one that packs?");
  moveLoaderName((*file)->getBuffer(), place);
  runtime::Seal seal = runtime::makeSeal(bytes.data(), bytes.size(), offset, blob.size());
  out << bytes << llvm::StringRef(reinterpret_cast<const char *>(&seal), sizeof seal);
  return llvm::Error::success();
}

static llvm::Error writeTable(const std::string &path, llvm::ArrayRef<uint8_t> blob,
                              const ExecutableParts &parts, const LinkOptions &options) {
  TableObject table;
  if (llvm::Error wrong = table.open())
    return wrong;
  table.addBlob(blob);
  table.addKernels(parts.kernels);
  table.addPluginDirectory(pluginDirectory(options));
  llvm::SmallVector<char> object;
  table.write(object);
  return writeFile(path, llvm::StringRef(object.data(), object.size()));
}

llvm::Error weft::linkExecutable(llvm::ArrayRef<uint8_t> blob, const ExecutableParts &parts,
                                 const LinkOptions &options, llvm::raw_ostream &out) {
  llvm::Expected<std::string> linker = findLinker(options.linker);
  if (!linker)
    return linker.takeError();
  auto libraries = findArchives(parts, options);
  if (!libraries)
    return libraries.takeError();
  ScratchDirectory scratch;
  if (llvm::Error wrong = scratch.make())
    return wrong;
  if (llvm::Error wrong = writeTable(scratch.file("table.o"), blob, parts, options))
    return wrong;
  // Names do not get into the output, so that its bytes do not depend on the scratch folder.
  std::vector<std::string> args{"-o", scratch.file("out"), scratch.file("table.o")};
  for (auto [i, kernel] : llvm::enumerate(parts.kernels)) {
    if (kernel.object.empty())
      continue;
    std::string file = scratch.file("kernel" + std::to_string(i) + ".o");
    if (llvm::Error wrong = writeFile(file, kernel.object))
      return wrong;
    args.push_back(file);
  }
  // Nothing in the runtime names a device of such a kind: it names itself when the program starts.
  for (llvm::StringRef device : parts.devices)
    args.push_back(("-Wl,-u," + device + "_device").str());
  args.insert(args.end(), libraries->begin(), libraries->end());
  for (const char *flag : {"-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,-z,noexecstack",
                           "-Wl,--export-dynamic-symbol=weft_*", "-s", "-pthread", "-ldl", "-lm"})
    args.push_back(flag);
  std::string response;
  for (const std::string &argument : args)
    response += quoted(argument);
  if (llvm::Error wrong = writeFile(scratch.file("link.rsp"), response))
    return wrong;
  if (llvm::Error wrong = runLinker(*linker, scratch))
    return wrong;
  return writeSealed(scratch.file("out"), blob, out);
}
