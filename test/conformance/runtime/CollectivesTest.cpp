// Conformance of a communicator: every collective, bit for bit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: weft_collectives_test inproc|mpi|tcp|nccl RANKS
//
// One executable program holds all cases as named programs. The expected values
// are computed here from the definition, reducing over members in order; every
// backend must give exactly these bits, so backends agree with each other. And what each rank
// sends and receives is what CollectiveFacts.h says, to the byte and the message. NCCL adds and
// multiplies f32 and f64 in an order of its own: of these the values count, and what a ring sends.
#include "Combine.h"
#include "NcclRules.h"

#include "weft/runtime/CollectiveFacts.h"
#include "weft/runtime/ProgramBuilder.h"

#include "base/Convert.h"
#include "session/Session.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>

using namespace weft::runtime;

namespace {

using Bytes = std::vector<uint8_t>;

/// One tensor of a command.
struct Case {
  std::string name;
  Collective params;
  std::vector<uint32_t> axes; // of the communicator
  int64_t sourceElements, destinationElements;
  Bytes input, expected; // [rank][elements]
};

class Suite {
public:
  explicit Suite(int64_t ranks) : ranks(ranks) {
    for (int64_t rest = ranks; rest > 1;) {
      int64_t size = rest == 8 ? 4 : 2; // 2; 2x2; 4x2
      sizes.push_back(size);
      axes.push_back(builder.addMeshAxis(std::string(1, char('a' + axes.size())), size));
      rest /= size;
    }
    builder.info().stageAxes = builder.axes({axes[0]});
    makeCases();
    for (int64_t stage = 0; stage < sizes[0]; ++stage)
      builder.addStage({arena, {}});
    blob = builder.finish();
  }

  int run(const char *comm) {
    if (std::string(comm) == "nccl")
      nccl = NcclRules{ranks};
    weft_options options;
    weft_options_init(&options);
    options.comm = comm;
    options.timeout_seconds = 60;
    weft_session *session = nullptr;
    weft_status status{};
    if (weft_open(blob.data(), blob.size(), nullptr, 0, &options, &session, &status) != 0)
      return fail("open", status.text, session);
    int wrong = 0;
    size_t buckets = 0;
    for (const std::vector<Case> &bucket : cases) {
      const char *program = bucket[0].name.c_str();
      buckets += bucket.size() > 1;
      // Twice: a second run must not see the first one's values.
      for (int repeat = 0; repeat < 2; ++repeat) {
        for (size_t i = 0; i < bucket.size(); ++i)
          if (weft_set_input(session, program, portName("in", i).c_str(), bucket[i].input.data(),
                             bucket[i].input.size(), &status) != 0)
            return fail(program, status.text, session);
        std::vector<Traffic> before = counted(*session, bucket[0]);
        if (weft_run(session, program, &status) != 0)
          return fail(program, status.text, session);
        wrong += compareTraffic(*session, bucket, before);
      }
      for (size_t i = 0; i < bucket.size(); ++i) {
        const Case &test = bucket[i];
        Bytes output(test.expected.size(), 0xab);
        if (weft_get_output(session, program, portName("out", i).c_str(), output.data(),
                            output.size(), &status) != 0)
          return fail(program, status.text, session);
        size_t row = test.expected.size() / size_t(ranks);
        int64_t first = weft_first_local_rank(session);
        for (int64_t r = first; r < first + weft_num_local_ranks(session); ++r)
          if (!isExpected(test, output.data() + r * row, test.expected.data() + r * row, row)) {
            std::fprintf(stderr, "rank %lld: %s, tensor %zu: other %s than expected\n",
                         static_cast<long long>(r), program, i,
                         nccl && nccl->isOfAnyOrder(test.params) ? "values" : "bits");
            ++wrong;
          }
      }
    }
    double worst = wrong;
    if (weft_reduce_max(session, wrong, &worst, &status) != 0)
      return fail("reduce_max", status.text, session);
    if (weft_first_local_rank(session) == 0)
      std::printf("%s on %lld ranks: %zu cases, %zu of them buckets, %s\n", comm,
                  static_cast<long long>(ranks), cases.size(), buckets,
                  worst > 0 ? "FAILED" : "all exact");
    weft_close(session);
    return worst > 0 ? 1 : cases.size() >= 100 && buckets >= 18 ? 0 : 2;
  }

private:
  int fail(const std::string &where, const char *text, weft_session *session) {
    std::fprintf(stderr, "%s: %s\n", where.c_str(), text);
    if (session)
      weft_abort_job(session, 1);
    return 1;
  }

  bool isExpected(const Case &test, const uint8_t *got, const uint8_t *expected,
                  size_t bytes) const {
    return nccl && nccl->isOfAnyOrder(test.params)
               ? nccl->areNear(test.params, got, expected, bytes)
               : std::equal(got, got + bytes, expected);
  }

  /// By the local ranks, over the communicator of a case.
  static std::vector<Traffic> counted(const weft_session &session, const Case &test) {
    std::vector<Traffic> result;
    for (const std::unique_ptr<RankContext> &rank : session.ranks)
      result.push_back(rank->trafficOver(test.params.communicator));
    return result;
  }

  /// How many local ranks sent or received something else in a run than they should.
  int compareTraffic(const weft_session &session, const std::vector<Case> &bucket,
                     const std::vector<Traffic> &before) const {
    std::vector<int64_t> axisSizes;
    for (uint32_t axis : bucket[0].axes)
      axisSizes.push_back(sizes[axis]);
    std::vector<CollectiveShape> shapes;
    for (const Case &test : bucket) {
      const Collective &c = test.params;
      shapes.push_back({c.outer, c.extent, c.inner, c.middle, c.otherExtent});
    }
    int64_t elementBytes = dtypeBytes(bucket[0].params.dtype);
    CollectiveKind kind = bucket[0].params.kind;
    std::vector<Traffic> expected = trafficOf(kind, axisSizes, shapes, elementBytes);
    if (nccl && nccl->hasIt(bucket[0].params)) {
      auto n = int64_t(expected.size());
      double operands = 0, results = 0;
      for (const Case &test : bucket) {
        operands += double(test.sourceElements * elementBytes);
        results += double(test.destinationElements * elementBytes);
      }
      auto ring = uint64_t(std::ceil(ringBytes(kind, n, operands, results)));
      Volume each{ring == 0 ? 0 : uint64_t(ringSteps(kind, n)), ring};
      expected.assign(expected.size(), {each, each});
    } else if (kind == CollectiveKind::Send) { // with its Recv
      std::vector<Traffic> back = trafficOf(CollectiveKind::Recv, axisSizes, shapes, elementBytes);
      for (size_t m = 0; m < back.size(); ++m)
        expected[m].received = back[m].received;
    }
    std::vector<Traffic> after = counted(session, bucket[0]);
    int wrong = 0;
    for (size_t r = 0; r < after.size(); ++r) {
      int64_t rank = session.firstRank + int64_t(r), me = 0;
      members(rank, bucket[0].axes, me);
      const Traffic &due = expected[size_t(me)];
      Volume sent = after[r].sent - before[r].sent;
      Volume received = after[r].received - before[r].received;
      if (sent == due.sent && received == due.received)
        continue;
      ++wrong;
      std::fprintf(stderr, "rank %lld: %s: %s, expected %s\n", static_cast<long long>(rank),
                   bucket[0].name.c_str(), text({sent, received}).c_str(), text(due).c_str());
    }
    return wrong;
  }

  static std::string text(const Traffic &traffic) {
    auto part = [](const Volume &volume) {
      return std::to_string(volume.bytes) + " bytes in " + std::to_string(volume.messages);
    };
    return part(traffic.sent) + " sent, " + part(traffic.received) + " received";
  }

  int64_t coordinate(int64_t rank, uint32_t axis) const {
    for (size_t i = sizes.size(); i-- > axis + 1;)
      rank /= sizes[i];
    return rank % sizes[axis];
  }
  /// The ranks that talk to `rank`, in member order, and its place among them.
  std::vector<int64_t> members(int64_t rank, const std::vector<uint32_t> &over, int64_t &me) const {
    std::vector<int64_t> result;
    int64_t count = 1;
    for (uint32_t axis : over)
      count *= sizes[axis];
    for (int64_t m = 0; m < count; ++m) {
      std::vector<int64_t> at(sizes.size());
      for (uint32_t axis = 0; axis < sizes.size(); ++axis)
        at[axis] = coordinate(rank, axis);
      int64_t rest = m;
      for (size_t i = over.size(); i-- > 0; rest /= sizes[over[i]])
        at[over[i]] = rest % sizes[over[i]];
      int64_t process = 0;
      for (uint32_t axis = 0; axis < sizes.size(); ++axis)
        process = process * sizes[axis] + at[axis];
      if (process == rank)
        me = m;
      result.push_back(process);
    }
    return result;
  }
  /// [start, end) of member m's shard; extents by ceiling division per level.
  std::pair<int64_t, int64_t> shard(int64_t extent, int64_t m, const std::vector<uint32_t> &over,
                                    int64_t *whole = nullptr) const {
    int64_t count = 1;
    for (uint32_t axis : over)
      count *= sizes[axis];
    int64_t start = 0, end = extent, local = extent;
    for (uint32_t axis : over) {
      count /= sizes[axis];
      local = (local + sizes[axis] - 1) / sizes[axis];
      start = std::min(end, start + m / count * local);
      end = std::min(end, start + local);
      m %= count;
    }
    if (whole)
      *whole = local;
    return {start, end};
  }

  Bytes randomInput(DType type, int64_t elements) {
    std::vector<double> values(size_t(elements * ranks), 0.0);
    std::uniform_real_distribution<double> real(-3, 3);
    for (double &value : values)
      value = type == DType::Bool ? double(random() % 3 != 0)
              : unsigned(type) <= unsigned(DType::F16)
                  ? real(random)
                  : double(int64_t(random() % 200) - (type == DType::U8 ? 0 : 100));
    if (elements >= 4)
      addSpecials(type, elements, values);
    Bytes bytes(values.size() * dtypeBytes(type));
    convertElements(DType::F64, values.data(), type, bytes.data(), int64_t(values.size()));
    return bytes;
  }

  /// A NaN and an infinity of a first member and a NaN of a last one; and sums
  /// just above the middle of two numbers of `type`, which fall on the middle if
  /// they are rounded to less than their own precision before.
  void addSpecials(DType type, int64_t elements, std::vector<double> &values) {
    int mantissa = type == DType::BF16 ? 8 : type == DType::F16 ? 11 : type == DType::F32 ? 24 : 0;
    if (mantissa == 0)
      return;
    double least = std::ldexp(1, type == DType::F16 ? -24 : -60);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      double *row = values.data() + rank * elements;
      int64_t quarter = rank * 4 / ranks;
      row[0] = quarter == 0 ? std::nan("") : row[0];
      row[1] = quarter == 0 ? HUGE_VAL : row[1];
      row[2] = rank == ranks - 1 ? std::nan("") : row[2];
      row[3] = quarter == 0 ? 1 : quarter == 1 ? std::ldexp(1, -mantissa) : least;
    }
  }

  /// One element reduced over members in order, as the header promises.
  void reduceElement(const Case &test, const std::vector<int64_t> &group, int64_t element,
                     uint8_t *to) const {
    DType type = test.params.dtype, acc = test.params.accumulator;
    int64_t bytes = dtypeBytes(type);
    auto at = [&](size_t m) {
      return test.input.data() + (group[m] * test.sourceElements + element) * bytes;
    };
    auto fold = [&](auto zero, DType accType) {
      decltype(zero) sum = zero;
      convertElements(type, at(0), accType, &sum, 1);
      for (size_t m = 1; m < group.size(); ++m) {
        decltype(zero) next = zero;
        convertElements(type, at(m), accType, &next, 1);
        sum = combine(test.params.reduction, sum, next);
      }
      if (accType == DType::F64 && dtypeBytes(type) == 2)
        sum = decltype(zero)(nearestHalf(double(sum), type));
      convertElements(accType, &sum, type, to, 1);
    };
    if (acc == DType::F64)
      fold(double(), DType::F64);
    else if (acc == DType::F32 || acc == DType::BF16 || acc == DType::F16)
      fold(float(), DType::F32);
    else if (type == DType::Bool)
      fold(uint8_t(), DType::U8);
    else if (type == DType::I8)
      fold(int8_t(), DType::I8);
    else if (type == DType::U8)
      fold(uint8_t(), DType::U8);
    else if (type == DType::I32)
      fold(int32_t(), DType::I32);
    else
      fold(int64_t(), DType::I64);
  }

  void expect(Case &test) {
    const Collective &c = test.params;
    int64_t bytes = dtypeBytes(c.dtype);
    test.expected.assign(size_t(ranks * test.destinationElements * bytes), 0);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t me = 0;
      std::vector<int64_t> group = members(rank, test.axes, me);
      uint8_t *row = test.expected.data() + rank * test.destinationElements * bytes;
      auto input = [&](int64_t m, int64_t element) {
        return test.input.data() + (group[size_t(m)] * test.sourceElements + element) * bytes;
      };
      auto put = [&](int64_t element, const uint8_t *from) {
        std::memcpy(row + element * bytes, from, size_t(bytes));
      };
      int64_t local = 0, n = int64_t(group.size());
      auto mine = shard(c.extent, me, test.axes, &local);
      for (int64_t i = 0; c.kind == CollectiveKind::ReduceScatter && i < test.destinationElements;
           ++i)
        put(i, reinterpret_cast<const uint8_t *>(&c.padBits));
      for (int64_t o = 0; o < c.outer; ++o)
        for (int64_t x = 0; x < c.inner; ++x)
          switch (c.kind) {
          case CollectiveKind::AllGather:
            for (int64_t m = 0; m < n; ++m) {
              auto [start, end] = shard(c.extent, m, test.axes);
              for (int64_t i = start; i < end; ++i)
                put((o * c.extent + i) * c.inner + x,
                    input(m, (o * local + i - start) * c.inner + x));
            }
            break;
          case CollectiveKind::AllReduce:
            for (int64_t i = 0; i < c.extent; ++i) {
              int64_t element = (o * c.extent + i) * c.inner + x;
              reduceElement(test, group, element, row + element * bytes);
            }
            break;
          case CollectiveKind::ReduceScatter:
            for (int64_t i = mine.first; i < mine.second; ++i)
              reduceElement(test, group, (o * c.extent + i) * c.inner + x,
                            row + ((o * local + i - mine.first) * c.inner + x) * bytes);
            break;
          case CollectiveKind::AllToAll:
            allToAll(test, o, x, me, n, input, put);
            break;
          case CollectiveKind::Send: // with its Recv: a ring
          case CollectiveKind::Recv: {
            int64_t from = ((me - c.peer) % n + n) % n;
            for (int64_t i = 0; i < c.extent; ++i) {
              int64_t element = (o * c.extent + i) * c.inner + x;
              put(element, input(from, element));
            }
            break;
          }
          }
    }
  }

  template <typename Input, typename Put>
  void allToAll(const Case &test, int64_t o, int64_t x, int64_t me, int64_t n, Input input,
                Put put) const {
    const Collective &c = test.params;
    int64_t local = 0, other = 0;
    auto mine = shard(c.extent, me, test.axes, &local);
    shard(c.otherExtent, me, test.axes, &other);
    for (int64_t m = 0; m < n; ++m) {
      auto theirs = shard(c.otherExtent, m, test.axes);
      for (int64_t a = mine.first; a < mine.second; ++a)
        for (int64_t mid = 0; mid < c.middle; ++mid)
          for (int64_t b = theirs.first; b < theirs.second; ++b) {
            int64_t la = a - mine.first, lb = b - theirs.first;
            int64_t from = c.gatherFirst ? (((o * other + lb) * c.middle + mid) * c.extent + a)
                                         : (((o * c.extent + a) * c.middle + mid) * other + lb);
            int64_t to = c.gatherFirst ? (((o * c.otherExtent + b) * c.middle + mid) * local + la)
                                       : (((o * local + la) * c.middle + mid) * c.otherExtent + b);
            put(to * c.inner + x, input(m, from * c.inner + x));
          }
    }
  }

  void add(CollectiveKind kind, const std::vector<uint32_t> &over, DType dtype, DType accumulator,
           Reduction reduction, const std::vector<int64_t> &geometry, int64_t peer = 0,
           bool gatherFirst = false, bool inPlace = false) {
    cases.push_back({make(kind, over, dtype, accumulator, reduction, geometry, peer, gatherFirst)});
    emit(cases.back(), inPlace);
  }

  /// One command that moves tensors of all these shapes.
  void addBucket(CollectiveKind kind, const std::vector<uint32_t> &over, DType dtype,
                 const std::vector<std::vector<int64_t>> &shapes, bool inPlace = false) {
    std::vector<Case> bucket;
    for (const std::vector<int64_t> &shape : shapes)
      bucket.push_back(make(kind, over, dtype, dtype, Reduction::Sum, shape));
    cases.push_back(std::move(bucket));
    emit(cases.back(), inPlace);
  }

  Case make(CollectiveKind kind, const std::vector<uint32_t> &over, DType dtype, DType accumulator,
            Reduction reduction, const std::vector<int64_t> &geometry, int64_t peer = 0,
            bool gatherFirst = false) {
    Case test;
    Collective &c = test.params;
    c = {};
    c.kind = kind;
    c.reduction = reduction;
    c.dtype = dtype;
    c.accumulator = accumulator;
    c.communicator = builder.addCommunicator(over);
    c.peer = peer;
    c.gatherFirst = gatherFirst;
    c.outer = geometry[0], c.extent = geometry[1], c.inner = geometry[2];
    c.middle = geometry.size() > 3 ? geometry[3] : 1;
    c.otherExtent = geometry.size() > 3 ? geometry[4] : 1;
    c.padBits = kind == CollectiveKind::ReduceScatter ? 0x01 : 0;
    test.axes = over;
    int64_t local = 0, other = 0;
    shard(c.extent, 0, over, &local);
    shard(c.otherExtent, 0, over, &other);
    int64_t whole = c.outer * c.extent * c.inner;
    int64_t part = c.outer * local * c.inner;
    test.sourceElements = kind == CollectiveKind::AllGather  ? part
                          : kind == CollectiveKind::AllToAll ? whole * c.middle * other
                                                             : whole;
    test.destinationElements = kind == CollectiveKind::AllGather       ? whole
                               : kind == CollectiveKind::ReduceScatter ? part
                               : kind == CollectiveKind::AllToAll ? part * c.middle * c.otherExtent
                                                                  : whole;
    test.name = std::to_string(cases.size()) + " " + collectiveKindName(kind) + " " +
                dtypeName(dtype) + " over";
    for (uint32_t axis : over)
      test.name += " " + std::string(1, char('a' + axis));
    for (int64_t value : geometry)
      test.name += " " + std::to_string(value);
    test.input = randomInput(dtype, test.sourceElements);
    expect(test);
    return test;
  }

  static std::string portName(const char *base, size_t i) {
    return i == 0 ? base : base + std::to_string(i);
  }

  Id port(const std::string &name, BufferClass kind, DType dtype, int64_t elements, Id &buffer) {
    uint64_t bytes = uint64_t(elements) * dtypeBytes(dtype);
    buffer = builder.addBuffer(name, kind, dtype, arena, bytes, {1, elements});
    arena += (bytes + 63) / 64 * 64;
    Id placement = builder.addPlacement({{{ranks, axes}}, {{elements, {}}}});
    return builder.addPort(name, dtype, {ranks, elements}, placement,
                           ProgramBuilder::HomeList::everywhere(buffer, uint32_t(sizes[0])));
  }

  void emit(const std::vector<Case> &bucket, bool inPlace) {
    const Case &test = bucket[0];
    std::vector<Id> sources, destinations, in, out;
    for (size_t i = 0; i < bucket.size(); ++i) {
      Id buffer;
      in.push_back(port(portName("in", i), BufferClass::Input, bucket[i].params.dtype,
                        bucket[i].sourceElements, buffer));
      sources.push_back(buffer);
    }
    for (size_t i = 0; i < bucket.size(); ++i) {
      Id buffer;
      out.push_back(port(portName("out", i), BufferClass::Output, bucket[i].params.dtype,
                         bucket[i].destinationElements, buffer));
      destinations.push_back(buffer);
    }
    builder.beginProgram(test.name, in, out);
    unsigned stream = cases.size() % 2; // half of them beside stream 0
    for (int64_t stage = 0; stage < sizes[0]; ++stage) {
      builder.beginBody(2, 2);
      if (test.params.kind == CollectiveKind::Send) {
        sendAndReceive(test, stage, stream, sources[0], destinations[0]);
      } else {
        std::vector<Collective> params;
        std::vector<View> views;
        for (size_t i = 0; i < bucket.size(); ++i) {
          if (inPlace)
            builder.add({}, Copy{}, {builder.view(sources[i]), builder.view(destinations[i])});
          params.push_back(bucket[i].params);
          views.push_back(builder.view(inPlace ? destinations[i] : sources[i]));
          views.push_back(builder.view(destinations[i]));
        }
        builder.add({0}, EventRecord{1}, {});
        builder.add({stream}, EventWait{1}, {});
        builder.add({stream, test.name}, params, views);
      }
      builder.add({stream}, EventRecord{0}, {});
      builder.add({0}, EventWait{0}, {});
      builder.endBody();
    }
    builder.endProgram();
  }

  // A ring along axis a by rendezvous: even stages send first, odd ones
  // receive.
  void sendAndReceive(const Case &test, int64_t stage, unsigned stream, Id source, Id destination) {
    int64_t n = sizes[0];
    Collective send = test.params, recv = test.params;
    send.peer = (stage + 1) % n;
    recv.kind = CollectiveKind::Recv;
    recv.peer = -1;
    recv.peerRelative = 1;
    for (bool first : {true, false})
      if (first == (stage % 2 == 0))
        builder.add({stream, "send"}, send, {builder.view(source)});
      else
        builder.add({stream, "recv"}, recv, {builder.view(destination)});
  }

  void makeCases() {
    using K = CollectiveKind;
    using R = Reduction;
    const DType f32 = DType::F32, i32 = DType::I32;
    std::vector<std::vector<uint32_t>> groups = {{0}};
    if (sizes.size() > 1)
      groups = {{0}, {1}, {0, 1}, {1, 0}};
    const std::vector<std::vector<int64_t>> shapes = {{1, 7, 1}, {1, 8, 3},  {3, 5, 2},
                                                      {2, 1, 4}, {1, 10, 1}, {2, 3001, 3}};
    const std::vector<std::vector<int64_t>> boxes = {
        {1, 4, 1, 1, 4}, {2, 5, 3, 2, 7}, {1, 8, 2, 3, 3}, {1, 1, 1, 1, 9}};
    for (const auto &over : groups) {
      for (const auto &shape : shapes) {
        for (K kind : {K::AllGather, K::AllReduce, K::ReduceScatter})
          for (DType type : {f32, i32})
            add(kind, over, type, type, R::Sum, shape);
        add(K::AllReduce, over, f32, f32, R::Sum, shape, 0, false, true);
      }
      for (const auto &box : boxes)
        for (bool gatherFirst : {false, true})
          add(K::AllToAll, over, f32, f32, R::Sum, box, 0, gatherFirst);
    }
    add(K::Send, {0}, f32, f32, R::Sum, {1, 12, 1}, 1);
    add(K::Send, {0}, f32, f32, R::Sum, {1, 60000, 1}, 1);
    struct Typed {
      DType type, accumulator;
    };
    const Typed types[] = {
        {DType::F64, DType::F64}, {f32, DType::F64},         {DType::BF16, f32},
        {DType::F16, f32},        {DType::BF16, DType::F64}, {DType::F16, DType::F64},
        {DType::I8, DType::I8},   {DType::U8, DType::U8},    {DType::I64, DType::I64}};
    for (const auto &over : groups)
      for (const Typed &typed : types)
        for (R reduction : {R::Sum, R::Product, R::Max, R::Min})
          for (K kind : {K::AllReduce, K::ReduceScatter})
            add(kind, over, typed.type, typed.accumulator, reduction, {2, 9, 1});
    // To be added in the order of members, which ours always do.
    for (const auto &over : groups)
      for (DType type : {f32, DType::F64})
        for (R reduction : {R::Sum, R::Product})
          for (K kind : {K::AllReduce, K::ReduceScatter}) {
            cases.push_back({make(kind, over, type, type, reduction, {2, 9, 3})});
            cases.back()[0].params.inOrder = 1;
            emit(cases.back(), false);
          }
    for (R reduction : {R::And, R::Or})
      for (DType type : {DType::Bool, DType::U8, DType::I32})
        add(K::AllReduce, groups.back(), type, type, reduction, {1, 33, 1});
    for (DType type : {DType::Bool, DType::F16, DType::U8, DType::F64})
      add(K::AllGather, groups.back(), type, type, R::Sum, {2, 5, 3});
    // Buckets: many shapes, empty tensors, small and large ones, one whose
    // chunks end inside of tensors.
    const std::vector<std::vector<std::vector<int64_t>>> buckets = {
        shapes,
        {{1, 1, 1}, {1, 3, 1}},
        {{1, 5, 1}, {1, 0, 4}, {1, 9, 700}, {1, 2, 1}},
        {{1, 4001, 1}, {3, 700, 2}, {1, 16, 16}}};
    for (const auto &over : groups)
      for (const auto &bucket : buckets) {
        for (K kind : {K::AllGather, K::AllReduce, K::ReduceScatter})
          addBucket(kind, over, f32, bucket);
        addBucket(K::AllReduce, over, f32, bucket, true);
      }
    // Several rounds, the last ones with other tensors than the first.
    addBucket(K::AllReduce, {0}, f32, {{1, 1500, 800}, {1, 7, 1}, {1, 2000, 1000}});
    addBucket(K::AllReduce, groups.back(), DType::BF16, shapes);
    addBucket(K::ReduceScatter, groups.back(), DType::F64, shapes);
  }

  int64_t ranks;
  std::optional<NcclRules> nccl; // null: collectives are ours
  std::vector<int64_t> sizes;
  std::vector<uint32_t> axes;
  ProgramBuilder builder;
  uint64_t arena = 0;
  std::vector<std::vector<Case>> cases; // one command each
  std::vector<uint8_t> blob;
  std::mt19937_64 random{42};
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s inproc|mpi|tcp|nccl RANKS\n", argv[0]);
    return 2;
  }
  return Suite(std::atoi(argv[2])).run(argv[1]);
}
