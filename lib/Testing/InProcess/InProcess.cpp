// A compiled program in this process, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Testing/InProcess/InProcess.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Testing/InProcess/KernelLoader.h"
#include "weft/runtime/Runtime.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace weft;
using namespace weft::emit;

std::vector<char> emit::encodeHostTensor(const HostTensor &tensor) {
  unsigned bits = tensor.elementType.getIntOrFloatBitWidth();
  int64_t bytes = elementBytes(tensor.elementType);
  std::vector<char> result(tensor.size() * bytes);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    uint64_t word;
    if (auto type = dyn_cast<FloatType>(tensor.elementType)) {
      APFloat value(tensor.reals[i]);
      bool lost;
      value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
      word = value.bitcastToAPInt().getZExtValue();
    } else {
      word = uint64_t(tensor.integers[i]) & (bits == 64 ? ~0ull : (1ull << bits) - 1);
    }
    std::memcpy(result.data() + i * bytes, &word, bytes);
  }
  return result;
}

struct InProcessProgram::Impl {
  Artifact artifact;
  std::vector<uint64_t> blob; // aligned
  cpu::KernelLoader loader;
  std::vector<weft_kernel_entry> kernels;
  runtime::ProgramView view;
  weft_session *session = nullptr;
};

InProcessProgram::InProcessProgram() : impl(std::make_unique<Impl>()) {}
InProcessProgram::~InProcessProgram() {
  if (impl->session)
    weft_close(impl->session);
}

int64_t InProcessProgram::numRanks() const { return impl->view.numRanks(); }

std::unique_ptr<InProcessProgram> InProcessProgram::open(Artifact artifact, std::string &error) {
  std::unique_ptr<InProcessProgram> program(new InProcessProgram);
  Impl &impl = *program->impl;
  impl.artifact = std::move(artifact);
  if (failed(impl.loader.add(impl.artifact.images.kernels, error)))
    return nullptr;
  for (const KernelImage &kernel : impl.artifact.images.kernels)
    impl.kernels.push_back({kernel.symbol.c_str(), impl.loader.find(kernel.symbol)});
  size_t bytes = impl.artifact.blob.size();
  impl.blob.resize((bytes + 7) / 8);
  std::memcpy(impl.blob.data(), impl.artifact.blob.data(), bytes);
  runtime::Status status = runtime::ProgramView::open(impl.blob.data(), bytes, impl.view);
  if (!status.ok()) {
    error = status.text();
    return nullptr;
  }
  weft_options options;
  weft_options_init(&options);
  options.threads_per_rank = 1;
  options.timeout_seconds = 60;
  weft_status result;
  if (weft_open(impl.blob.data(), bytes, impl.kernels.data(), impl.kernels.size(), &options,
                &impl.session, &result) ||
      weft_load_state(impl.session, &result)) {
    error = result.text;
    return nullptr;
  }
  return program;
}

bool InProcessProgram::run(ArrayRef<HostTensor> inputs, ArrayRef<RankedTensorType> outputTypes,
                           std::vector<HostTensor> &outputs, std::string &error) {
  return run(impl->view.string(impl->view.Programs()[0].name), inputs, outputTypes, outputs, error);
}

bool InProcessProgram::getState(llvm::StringRef name, RankedTensorType type, HostTensor &value,
                                std::string &error) {
  weft_status status;
  std::vector<char> bytes(bytesOf(type));
  if (weft_get_state(impl->session, name.str().c_str(), bytes.data(), bytes.size(), &status)) {
    error = status.text;
    return false;
  }
  value = decodeHostTensor(type, bytes);
  return true;
}

bool InProcessProgram::run(llvm::StringRef programName, ArrayRef<HostTensor> inputs,
                           ArrayRef<RankedTensorType> outputTypes, std::vector<HostTensor> &outputs,
                           std::string &error) {
  weft_status status;
  auto fail = [&] {
    error = status.text;
    return false;
  };
  std::string name = programName.str();
  auto named = [&](const runtime::Program &program) {
    return impl->view.string(program.name) == name;
  };
  const runtime::Program *found = llvm::find_if(impl->view.Programs(), named);
  if (found == impl->view.Programs().end()) {
    error = "there is no program '" + name + "'";
    return false;
  }
  const runtime::Program &program = *found;
  auto ports = [&](runtime::Range range) { return impl->view.Ports().slice(range); };
  if (program.inputs.count != inputs.size() || program.outputs.count != outputTypes.size()) {
    error = "the program has " + std::to_string(program.inputs.count) + " inputs and " +
            std::to_string(program.outputs.count) + " outputs";
    return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string port(impl->view.string(ports(program.inputs)[i].name));
    std::vector<char> bytes = encodeHostTensor(inputs[i]);
    if (weft_set_input(impl->session, name.c_str(), port.c_str(), bytes.data(), bytes.size(),
                       &status))
      return fail();
  }
  if (weft_run(impl->session, name.c_str(), &status))
    return fail();
  outputs.clear();
  for (size_t i = 0; i < outputTypes.size(); ++i) {
    std::string port(impl->view.string(ports(program.outputs)[i].name));
    RankedTensorType type = outputTypes[i];
    std::vector<char> bytes(bytesOf(type));
    if (weft_get_output(impl->session, name.c_str(), port.c_str(), bytes.data(), bytes.size(),
                        &status))
      return fail();
    outputs.push_back(decodeHostTensor(type, bytes));
  }
  return true;
}
