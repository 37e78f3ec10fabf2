// cuBLASLt, opened at run time, and one matrix product planned with it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CublasLt.h"

#include <algorithm>
#include <cmath>

namespace weft::gpukit {

CublasLt::CublasLt() : library({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {
  library.load(create, "cublasLtCreate");
  library.load(destroy, "cublasLtDestroy");
  library.load(getVersion, "cublasLtGetVersion");
  library.load(statusString, "cublasLtGetStatusString");
  library.load(matmul, "cublasLtMatmul");
  library.load(getHeuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.load(descCreate, "cublasLtMatmulDescCreate");
  library.load(descDestroy, "cublasLtMatmulDescDestroy");
  library.load(descSet, "cublasLtMatmulDescSetAttribute");
  library.load(layoutCreate, "cublasLtMatrixLayoutCreate");
  library.load(layoutDestroy, "cublasLtMatrixLayoutDestroy");
  library.load(preferenceCreate, "cublasLtMatmulPreferenceCreate");
  library.load(preferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  library.load(preferenceSet, "cublasLtMatmulPreferenceSetAttribute");
  check(create(&handle), "cublasLtCreate", __FILE__, __LINE__);
}

CublasLt::~CublasLt() { destroy(handle); }

void CublasLt::check(cublasStatus_t status, const char *call, const char *file, int line) const {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Failure(
        format("%s at %s:%d: %s (%d)", call, file, line, statusString(status), int(status)));
}

Precision precisionBf16() { return {Type::bf16, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F}; }
Precision precisionTf32() {
  return {Type::f32, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F};
}
Precision precisionF32() { return {Type::f32, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F}; }
Precision precisionF64() { return {Type::f64, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F}; }

namespace {

constexpr size_t workspaceBytes = 32u << 20;

cublasLtEpilogue_t ltEpilogue(Epilogue epilogue) {
  switch (epilogue) {
  case Epilogue::none:
    return CUBLASLT_EPILOGUE_DEFAULT;
  case Epilogue::bias:
    return CUBLASLT_EPILOGUE_BIAS;
  case Epilogue::geluAuxBias:
    return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  case Epilogue::dgelu:
    return CUBLASLT_EPILOGUE_DGELU;
  case Epilogue::dgeluBiasGrad:
    return CUBLASLT_EPILOGUE_DGELU_BGRAD;
  case Epilogue::weightBiasGrad:
    return CUBLASLT_EPILOGUE_BGRADB;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

bool usesAux(Epilogue epilogue) {
  return epilogue == Epilogue::geluAuxBias || epilogue == Epilogue::dgelu ||
         epilogue == Epilogue::dgeluBiasGrad;
}
bool usesVector(Epilogue epilogue) {
  return epilogue != Epilogue::none && epilogue != Epilogue::dgelu;
}
bool vectorIsOutput(Epilogue epilogue) {
  return epilogue == Epilogue::dgeluBiasGrad || epilogue == Epilogue::weightBiasGrad;
}

} // namespace

GemmPlan::GemmPlan(const CublasLt &lt, const GemmShape &shape, Precision precision,
                   cudaStream_t stream)
    : lt(lt), shape(shape), precision(precision), stream(stream), form(ltForm(shape)),
      data(gemmData(form, precision.type)), workspace(workspaceBytes) {
  size_t element = sizeOf(precision.type);
  size_t bytes = (form.elementsA() + form.elementsB() + form.elementsD()) * element;
  // Runs rotate over so many sets that what one run leaves in L2 is gone when
  // its set comes round again.
  size_t wanted = std::clamp<size_t>(4 * l2Bytes() / bytes + 1, 1, 16);
  for (size_t set = 0; set < wanted; ++set) {
    operandsA.emplace_back(form.elementsA() * element);
    operandsB.emplace_back(form.elementsB() * element);
    outputs.emplace_back(form.elementsD() * element);
    fillNormal(operandsA.back(), precision.type, form.elementsA(), data.seedA, data.sigmaA, stream);
    fillNormal(operandsB.back(), precision.type, form.elementsB(), data.seedB, data.sigmaB, stream);
    poison(outputs.back(), stream);
  }

  LT_CALL(lt, descCreate(&desc, precision.computeType, precision.scaleType));
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
    LT_CALL(lt, descSet(desc, attribute, &value, sizeof(value)));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, form.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, form.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, ltEpilogue(shape.epilogue));
  if (usesVector(shape.epilogue)) {
    uint64_t length = uint64_t(form.biasLength(shape.epilogue));
    vector = Buffer(length * element);
    if (vectorIsOutput(shape.epilogue))
      poison(vector, stream);
    else
      fillNormal(vector, precision.type, length, data.seedBias, data.sigmaBias, stream);
    const void *pointer = vector.as();
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, precision.dataType);
  }
  if (usesAux(shape.epilogue)) {
    aux = Buffer(form.elementsD() * element);
    if (shape.epilogue == Epilogue::geluAuxBias)
      poison(aux, stream);
    else
      fillNormal(aux, precision.type, form.elementsD(), data.seedAux, data.sigmaAux, stream);
    void *pointer = aux.as();
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, pointer);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(form.m));
  }
  LT_CALL(lt, layoutCreate(&layoutA, precision.dataType, uint64_t(form.rowsA), uint64_t(form.colsA),
                           form.rowsA));
  LT_CALL(lt, layoutCreate(&layoutB, precision.dataType, uint64_t(form.rowsB), uint64_t(form.colsB),
                           form.rowsB));
  LT_CALL(lt,
          layoutCreate(&layoutD, precision.dataType, uint64_t(form.m), uint64_t(form.n), form.m));
}

GemmPlan::~GemmPlan() {
  cudaStreamSynchronize(stream); // The buffers below may still be in use.
  if (layoutD)
    lt.layoutDestroy(layoutD);
  if (layoutB)
    lt.layoutDestroy(layoutB);
  if (layoutA)
    lt.layoutDestroy(layoutA);
  if (desc)
    lt.descDestroy(desc);
}

std::vector<cublasLtMatmulHeuristicResult_t> GemmPlan::heuristics(int count) {
  cublasLtMatmulPreference_t preference = nullptr;
  LT_CALL(lt, preferenceCreate(&preference));
  size_t limit = workspace.bytes();
  cublasStatus_t status =
      lt.preferenceSet(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof(limit));
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(count));
  int found = 0;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = lt.getHeuristic(lt.handle, desc, layoutA, layoutB, layoutD, layoutD, preference, count,
                             results.data(), &found);
  lt.preferenceDestroy(preference);
  lt.check(status, "cublasLtMatmulAlgoGetHeuristic", __FILE__, __LINE__);
  results.resize(static_cast<size_t>(std::max(found, 0)));
  results.erase(
      std::remove_if(results.begin(), results.end(),
                     [](const auto &result) { return result.state != CUBLAS_STATUS_SUCCESS; }),
      results.end());
  if (results.empty())
    throw Failure("cuBLASLt offers no algorithm");
  return results;
}

void GemmPlan::run(const cublasLtMatmulAlgo_t &algorithm, size_t index) {
  size_t set = index % outputs.size();
  // Large enough for either scale type: alpha 1, beta 0.
  double one64 = 1, zero64 = 0;
  float one32 = 1, zero32 = 0;
  bool wide = precision.scaleType == CUDA_R_64F;
  const void *alpha = wide ? static_cast<const void *>(&one64) : &one32;
  const void *beta = wide ? static_cast<const void *>(&zero64) : &zero32;
  void *d = outputs[set].as();
  LT_CALL(lt, matmul(lt.handle, desc, alpha, operandsA[set].as(), layoutA, operandsB[set].as(),
                     layoutB, beta, d, layoutD, d, layoutD, &algorithm, workspace.as(),
                     workspace.bytes(), stream));
}

Check GemmPlan::checkOnce(const cublasLtMatmulAlgo_t &algorithm, Tolerance tolerance,
                          size_t samples) {
  poison(outputs[0], stream);
  if (vectorIsOutput(shape.epilogue))
    poison(vector, stream);
  if (shape.epilogue == Epilogue::geluAuxBias)
    poison(aux, stream);
  run(algorithm, 0);

  std::vector<uint64_t> places = samplePlaces(form, samples, 17);
  std::vector<double> reference(places.size()), referenceAux(places.size());
  for (size_t i = 0; i < places.size(); ++i)
    reference[i] = referenceAt(form, data, shape.epilogue, int64_t(places[i] % uint64_t(form.m)),
                               int64_t(places[i] / uint64_t(form.m)), &referenceAux[i]);
  Check check = compare(gather(outputs[0], precision.type, places, stream), reference, tolerance);
  // Every element must have been written, not the compared ones alone.
  check.notFinite += countNotFinite(outputs[0], precision.type, form.elementsD(), stream);

  auto also = [&](const Check &other) { check = both(check, other); };
  if (shape.epilogue == Epilogue::geluAuxBias) {
    also(compare(gather(aux, precision.type, places, stream), referenceAux, tolerance));
    check.notFinite += countNotFinite(aux, precision.type, form.elementsD(), stream);
  }
  if (vectorIsOutput(shape.epilogue)) {
    int64_t length = form.biasLength(shape.epilogue);
    std::vector<uint64_t> indexes;
    std::vector<double> sums;
    for (int64_t index : {int64_t(0), length / 3, length / 2, length - 1}) {
      indexes.push_back(uint64_t(index));
      if (shape.epilogue == Epilogue::weightBiasGrad) {
        sums.push_back(referenceBiasGradAt(form, data, index));
      } else {
        // The sum of a row of D, whose elements were compared above: over all T
        // on the CPU it would take minutes.
        std::vector<uint64_t> row;
        for (int64_t col = 0; col < form.n; ++col)
          row.push_back(uint64_t(index + col * form.m));
        double sum = 0;
        for (double value : gather(outputs[0], precision.type, row, stream))
          sum += value;
        sums.push_back(sum);
      }
    }
    // A sum of n values rounded to bf16 is off by their roundings' root mean
    // square; its own is the larger part.
    also(compare(gather(vector, precision.type, indexes, stream), sums,
                 {4 * tolerance.norm, 4 * tolerance.element}));
    check.notFinite += countNotFinite(vector, precision.type, uint64_t(length), stream);
  }
  check.ok = check.ok && check.notFinite == 0;
  return check;
}

Tuned tuneGemm(GemmPlan &plan, cudaStream_t stream, int candidates, Tolerance tolerance,
               size_t samples) {
  auto found = plan.heuristics(candidates);
  Tuned tuned;
  tuned.tried = found.size();
  auto time = [&](const cublasLtMatmulAlgo_t &algorithm, Timing timing) {
    return timeOnDevice(stream, [&](size_t i) { plan.run(algorithm, i); }, timing);
  };
  Check firstCheck = plan.checkOnce(found.front().algo, tolerance, samples);
  if (!firstCheck.ok)
    throw Failure(format("the first heuristic is wrong: norm error %.3g, "
                         "element error %.3g, %zu not finite",
                         firstCheck.normError, firstCheck.elementError, firstCheck.notFinite));
  // A quick pass ranks the candidates; the winner is then timed like the first
  // one.
  double least = INFINITY;
  for (size_t i = 0; i < found.size(); ++i) {
    try {
      double median = time(found[i].algo, {7, 1, 0}).median;
      ++tuned.usable;
      if (median < least) {
        least = median;
        tuned.bestIndex = i;
      }
    } catch (const Failure &) {
      if (i == 0)
        throw; // Others may be refused for their workspace or launch; the first
               // must run.
    }
  }
  tuned.first = time(found.front().algo, {});
  tuned.best = tuned.bestIndex == 0 ? tuned.first : time(found[tuned.bestIndex].algo, {});
  tuned.check = plan.checkOnce(found[tuned.bestIndex].algo, tolerance, samples);
  return tuned;
}

} // namespace weft::gpukit
