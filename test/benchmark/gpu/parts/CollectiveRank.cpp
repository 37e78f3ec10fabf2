// One rank of part f: a process of its own, which says what it found as lines
// on stdout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CollectiveRank.h"
#include "common/Device.h"
#include "common/Nccl.h"
#include "common/Random.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

namespace weft::gpukit {

std::string CollectiveCase::name(int world) const {
  unsigned long long bytes = count * (bf16 ? 2 : 4);
  return format("%d ranks %s %s %llu %s", world, toString(collective).c_str(),
                bf16 ? "bf16" : "f32", bytes < 1024 ? bytes : bytes >> 10,
                bytes < 1024 ? "B" : "KiB");
}

std::vector<CollectiveCase> collectiveCases(int world, uint64_t divisor) {
  std::vector<CollectiveCase> cases;
  constexpr uint64_t kib = 1024, mib = 1024 * kib;
  for (Collective collective : allCollectives)
    cases.push_back({collective, true, 64 * kib / 2});
  cases.push_back({Collective::allReduce, false, 64 * kib / 4});
  cases.push_back({Collective::reduceScatter, false, 64 * kib / 4});
  for (Collective collective : allCollectives)
    cases.push_back({collective, true, 16 * mib / 2});
  if (world == 2)
    for (Collective collective :
         {Collective::allReduce, Collective::allGather, Collective::reduceScatter})
      cases.push_back({collective, true, 128 * mib / 2});
  for (CollectiveCase &test : cases)
    test.count /= divisor;
  return cases;
}

std::string RankResult::line() const {
  return format("result\t%s\t%d\t%.9g\t%.9g\t%zu\t%zu\t%.9g\t%.9g\t%.9g\t%."
                "9g\t%.9g\t%zu\t%d",
                name.c_str(), check.ok, check.normError, check.elementError, check.compared,
                check.notFinite, times.median, times.p25, times.p75, times.min, times.max,
                times.samples, native);
}

std::optional<RankResult> RankResult::parse(const std::string &line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '\t');)
    fields.push_back(field);
  if (fields.size() != 14 || fields[0] != "result")
    return std::nullopt;
  auto number = [&](size_t i) { return std::strtod(fields[i].c_str(), nullptr); };
  RankResult result;
  result.name = fields[1];
  result.check = {fields[2] == "1", number(3), number(4), size_t(number(5)), size_t(number(6))};
  result.times = {size_t(number(12)), number(7), number(8), number(9), number(10), number(11)};
  result.native = fields[13] == "1";
  return result;
}

namespace {

/// Rank 0 writes the identity, renamed into place whole; the others wait for
/// it.
ncclUniqueId exchangeId(const Nccl &nccl, int rank, const std::string &idFile) {
  ncclUniqueId id = {};
  if (rank == 0) {
    NCCL_CALL(nccl, getUniqueId(&id));
    std::string half = idFile + ".half";
    {
      std::ofstream out(half, std::ios::binary);
      out.write(id.internal, sizeof(id.internal));
      if (!out)
        throw Failure("cannot write " + half);
    }
    if (std::rename(half.c_str(), idFile.c_str()) != 0)
      throw Failure("cannot write " + idFile);
    return id;
  }
  for (int tries = 0; tries < 600; ++tries) {
    std::ifstream in(idFile, std::ios::binary);
    if (in.read(id.internal, sizeof(id.internal)))
      return id;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw Failure("rank 0 gave no identity within 30 s");
}

/// All elements of a small result; of a large one the first and last of every
/// block and others at random.
std::vector<uint64_t> comparedPlaces(uint64_t received, uint64_t count) {
  std::vector<uint64_t> places;
  if (received <= 1 << 18) {
    for (uint64_t i = 0; i < received; ++i)
      places.push_back(i);
    return places;
  }
  for (uint64_t block = 0; block < received; block += count) {
    places.push_back(block);
    places.push_back(block + count - 1);
  }
  for (uint64_t i = 0; i < 1 << 16; ++i)
    places.push_back(mixBits(51, i) % received);
  return places;
}

RankResult measure(const Nccl &nccl, const CollectiveCase &test, const Ring &ring,
                   cudaStream_t stream) {
  auto [sent, received] =
      collectiveSizes(test.collective, ring.world, ring.rank, ring.root, test.count);
  Type type = test.bf16 ? Type::bf16 : Type::f32;
  // A rank that sends or receives nothing still passes a valid address.
  Buffer send(std::max<uint64_t>(sent, 1) * sizeOf(type)),
      receive(std::max<uint64_t>(received, 1) * sizeOf(type));
  poison(send, stream);
  poison(receive, stream);
  if (sent)
    fillNormal(send, type, sent, collectiveSeed + uint64_t(ring.rank), 1, stream);
  auto call = [&](size_t) {
    enqueue(nccl, test.collective, ring, send.as(), receive.as(), test.count, test.bf16, stream);
  };
  call(0);
  CUDA_CALL(cudaStreamSynchronize(stream));
  ncclResult_t asynchronous = ncclSuccess;
  NCCL_CALL(nccl, asyncError(nccl.comm, &asynchronous));
  nccl.check(asynchronous, "asynchronous error", __FILE__, __LINE__);

  RankResult result;
  result.name = test.name(ring.world);
  result.native = nccl.isNative(test.collective);
  if (received) {
    std::vector<uint64_t> places = comparedPlaces(received, test.count);
    std::vector<double> expected;
    for (uint64_t place : places)
      expected.push_back(collectiveAt(test.collective, ring.world, ring.rank, ring.root, test.count,
                                      place, test.bf16));
    result.check = compare(gather(receive, type, places, stream), expected,
                           collectiveTolerance(test.collective, ring.world, test.bf16));
    result.check.notFinite += countNotFinite(receive, type, received, stream);
    result.check.ok = result.check.ok && result.check.notFinite == 0;
  } else {
    result.check.ok = true; // Nothing to receive: the other ranks check this case.
  }
  // One call per sample: the number of calls must not depend on a rank's own
  // clock.
  result.times = timeOnDevice(stream, call, {minSamples, 2, 0});
  return result;
}

} // namespace

int runRank(int rank, int world, const std::string &idFile, uint64_t divisor) {
  auto say = [](const std::string &line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  try {
    if (std::string why = openDevice(); !why.empty()) {
      say("no-device\t" + why);
      return exitNoDevice;
    }
    Nccl nccl;
    int version = 0;
    NCCL_CALL(nccl, getVersion(&version));
    say(format("facts\t%d\t%s", version, nccl.library.path().c_str()));
    ncclUniqueId id = exchangeId(nccl, rank, idFile);
    NCCL_CALL(nccl, initRank(&nccl.comm, world, id, rank));
    say("joined");
    {
      Stream stream;
      // Not rank 0, so that a call which ignores its root is seen.
      Ring ring{world, rank, world - 1};
      for (const CollectiveCase &test : collectiveCases(world, divisor))
        say(measure(nccl, test, ring, stream).line());
    }
    NCCL_CALL(nccl, commDestroy(nccl.comm));
    say("done");
    return exitOk;
  } catch (const std::exception &error) {
    say(std::string("failed\t") + error.what());
    return exitFailed;
  }
}

} // namespace weft::gpukit
