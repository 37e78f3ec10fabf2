// Part g: kernels that mlir-opt made from mlir/*.mlir, loaded as cubins,
// checked and timed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/Device.h"
#include "common/Gemm.h"

#include <cuda.h>
#include <filesystem>

using namespace weft::gpukit;

namespace {

/// Side of every matrix, as in the .mlir files.
constexpr int64_t size = 4096;

class Module {
public:
  explicit Module(const std::string &file) {
    CUDA_CALL(
        cudaLibraryLoadFromFile(&library, file.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  }
  ~Module() { cudaLibraryUnload(library); }
  Module(const Module &) = delete;

  const void *kernel(const char *name) const {
    cudaKernel_t found = nullptr;
    CUDA_CALL(cudaLibraryGetKernel(&found, library, name));
    return reinterpret_cast<const void *>(found);
  }

private:
  cudaLibrary_t library = nullptr;
};

/// A tensor map of a row-major bf16 matrix read in boxes of `rows` by
/// `columns`, in device memory.
Buffer tensorMap(const Buffer &matrix, uint32_t rows, uint32_t columns, cudaStream_t stream) {
  decltype(&cuTensorMapEncodeTiled) encode = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  CUDA_CALL(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled",
                                             reinterpret_cast<void **>(&encode), 12000,
                                             cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || !encode)
    throw Failure("the driver has no cuTensorMapEncodeTiled");
  alignas(64) CUtensorMap map = {};
  const cuuint64_t extents[] = {cuuint64_t(size), cuuint64_t(size)};
  const cuuint64_t strides[] = {cuuint64_t(size) * 2}; // bytes, of all dimensions but the innermost
  const cuuint32_t box[] = {columns, rows};
  const cuuint32_t steps[] = {1, 1};
  CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, matrix.as(), extents, strides,
                           box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                           CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw Failure(format("cuTensorMapEncodeTiled: error %d", int(result)));
  Buffer device(sizeof(map));
  CUDA_CALL(cudaMemcpyAsync(device.as(), &map, sizeof(map), cudaMemcpyHostToDevice, stream));
  CUDA_CALL(cudaStreamSynchronize(stream));
  return device;
}

struct Launch {
  std::string file, kernel;
  dim3 grid;
  unsigned sharedBytes;
  bool usesTensorMaps;
  /// D = A B where set, D = A B^T otherwise, all row-major.
  bool plainB;
};

Json measure(const Launch &launch, const std::string &folder, cudaStream_t stream) {
  Module module(folder + "/" + launch.file);
  const void *kernel = module.kernel(launch.kernel.c_str());
  if (launch.sharedBytes)
    CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   int(launch.sharedBytes)));

  // D^T column-major is D row-major: the reference's A is B here, and the other
  // way round.
  LtForm form = {size, size, size, !launch.plainB, false, size, size, size, size};
  GemmData data = gemmData(form, Type::bf16);
  uint64_t elements = uint64_t(size) * uint64_t(size);
  Buffer a(elements * 2), b(elements * 2), d(elements * 4);
  fillNormal(b, Type::bf16, elements, data.seedA, data.sigmaA, stream);
  fillNormal(a, Type::bf16, elements, data.seedB, data.sigmaB, stream);
  poison(d, stream);
  Buffer mapA, mapB;
  void *first = a.as(), *second = b.as(), *third = d.as();
  if (launch.usesTensorMaps) {
    mapA = tensorMap(a, 128, 64, stream);
    mapB = tensorMap(b, 64, 64, stream);
    first = mapA.as();
    second = mapB.as();
  }
  void *arguments[] = {&first, &second, &third};
  auto run = [&](size_t) {
    CUDA_CALL(
        cudaLaunchKernel(kernel, launch.grid, dim3(128), arguments, launch.sharedBytes, stream));
  };
  run(0);
  CUDA_CALL(cudaStreamSynchronize(stream));
  std::vector<uint64_t> places = samplePlaces(form, 4096, 23);
  std::vector<double> reference;
  for (uint64_t place : places)
    reference.push_back(referenceAt(form, data, Epilogue::none, int64_t(place % uint64_t(size)),
                                    int64_t(place / uint64_t(size))));
  // The matrix units add bf16 products with a few bits less than fp32.
  Check check = compare(gather(d, Type::f32, places, stream), reference, {1e-3, 1e-2});
  check.notFinite += countNotFinite(d, Type::f32, elements, stream);
  check.ok = check.ok && check.notFinite == 0;
  Stats times = timeOnDevice(stream, run);
  Json entry = result(times, 2e-3 * double(size) * double(size) * double(size), "TFLOP/s", check);
  entry["cubin"] = launch.file;
  return entry;
}

} // namespace

int main(int argc, char **argv) {
  Report report("g", "kernels made by mlir-opt", option(argc, argv, "json", ""));
  if (std::string why = openDevice(); !why.empty())
    return report.finishNoDevice(why);
  try {
    report.facts()["device"] = describeDevice();
    std::string folder = option(argc, argv, "kernels", "");
    if (folder.empty())
      folder = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kernels").string();
    int major = 0;
    CUDA_CALL(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    Stream stream;
    std::string chip = major == 9 ? "sm_90a" : "sm_80";
    unsigned tiles = unsigned(size);
    report.attempt("mma.sync bf16 4096^3", [&] {
      if (major != 8 && major != 9)
        throw Failure("no cubin for this device; the kit holds sm_80 and sm_90a");
      return measure({"mma_sync." + chip + ".cubin", "mma_sync", dim3(tiles / 32, tiles / 16), 0,
                      false, false},
                     folder, stream);
    });
    report.attempt("TMA and wgmma bf16 4096^3", [&] {
      if (major != 9)
        throw Failure("wgmma exists on sm_90 alone");
      return measure(
          {"wgmma.sm_90a.cubin", "wgmma", dim3(tiles / 128, tiles / 128), 34816, true, true},
          folder, stream);
    });
  } catch (const std::exception &error) {
    return report.finishFailed(error.what());
  }
  return report.finish();
}
