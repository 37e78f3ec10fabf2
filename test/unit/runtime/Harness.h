// Builds small programs, runs them and reads the results, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_RUNTIME_HARNESS_H
#define WEFT_TEST_UNIT_RUNTIME_HARNESS_H

#include "../../support/Distance.h"

#include "weft/runtime/ProgramBuilder.h"
#include "weft/runtime/Runtime.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace weft::runtime {

/// A program "p" whose buffers follow each other in the arena. Inputs and
/// outputs are ports; call the builder between `begin` and `finish`.
class Harness {
public:
  using Ints = ProgramBuilder::Ints;

  ProgramBuilder builder;
  uint64_t arena = 0;
  uint32_t stages = 1; // that have all ports
  std::vector<weft_kernel_entry> kernels;
  weft_options options;

  Harness() { weft_options_init(&options); }
  ~Harness() { weft_close(session); }

  Id buffer(const std::string &name, DType dtype, const Ints &shape,
            BufferClass kind = BufferClass::Activation) {
    uint64_t bytes = dtypeBytes(dtype);
    for (int64_t size : shape)
      bytes *= uint64_t(size);
    Id id = builder.addBuffer(name, kind, dtype, arena, bytes, shape);
    arena += (bytes + 63) / 64 * 64;
    return id;
  }
  /// Ports with a placement; the local shape follows from it on this mesh.
  Id input(const std::string &name, DType dtype, const Ints &local, const Ints &global,
           Id placement) {
    Id id = buffer(name, dtype, local, BufferClass::Input);
    pending.push_back({name, dtype, global, placement, id, true});
    return id;
  }
  Id output(const std::string &name, DType dtype, const Ints &local, const Ints &global,
            Id placement) {
    Id id = buffer(name, dtype, local, BufferClass::Output);
    pending.push_back({name, dtype, global, placement, id, false});
    return id;
  }
  Id input(const std::string &name, DType dtype, const Ints &shape) {
    return input(name, dtype, shape, shape, builder.addReplicated(shape));
  }
  Id output(const std::string &name, DType dtype, const Ints &shape) {
    return output(name, dtype, shape, shape, builder.addReplicated(shape));
  }

  void begin(uint32_t streams = 1, uint32_t events = 0) {
    std::vector<uint32_t> inputs, outputs;
    for (bool in : {true, false})
      for (const PortDesc &port : pending)
        if (port.input == in)
          (in ? inputs : outputs)
              .push_back(
                  builder.addPort(port.name, port.dtype, port.shape, port.placement,
                                  ProgramBuilder::HomeList::everywhere(port.buffer, stages)));
    builder.beginProgram("p", inputs, outputs);
    builder.beginBody(streams, events);
  }

  /// Closes the program and opens it; the status tells how that went.
  weft_status open() {
    builder.endBody();
    builder.endProgram();
    builder.addStage({arena, {}});
    blob = builder.finish();
    weft_status status{};
    weft_open(blob.data(), blob.size(), kernels.data(), kernels.size(), &options, &session,
              &status);
    if (status.code == 0)
      weft_load_state(session, &status);
    return status;
  }
  template <typename T> void set(const char *name, const std::vector<T> &values) {
    weft_status status{};
    ASSERT_EQ(weft_set_input(session, "p", name, values.data(), values.size() * sizeof(T), &status),
              0)
        << status.text;
  }
  weft_status run() {
    weft_status status{};
    weft_run(session, "p", &status);
    return status;
  }
  template <typename T> std::vector<T> get(const char *name, size_t count) {
    std::vector<T> values(count);
    weft_status status{};
    EXPECT_EQ(weft_get_output(session, "p", name, values.data(), count * sizeof(T), &status), 0)
        << status.text;
    return values;
  }

  weft_session *session = nullptr;

private:
  struct PortDesc {
    std::string name;
    DType dtype;
    Ints shape;
    Id placement, buffer;
    bool input;
  };
  std::vector<PortDesc> pending;
  std::vector<uint8_t> blob;
};

#define EXPECT_OK(call)                                                                            \
  do {                                                                                             \
    weft_status status_ = (call);                                                                  \
    EXPECT_EQ(status_.code, 0) << status_.text;                                                    \
  } while (false)
#define ASSERT_OK(call)                                                                            \
  do {                                                                                             \
    weft_status status_ = (call);                                                                  \
    ASSERT_EQ(status_.code, 0) << status_.text;                                                    \
  } while (false)

/// max |y - e| / max |e|, as the project's numerics rules define an error.
template <typename T>
double errorOf(const std::vector<T> &found, const std::vector<double> &exact) {
  test::Distance distance(test::Specials::AreWrong);
  for (size_t i = 0; i < exact.size(); ++i)
    distance.add(double(found[i]), exact[i]);
  return distance.relative();
}

/// Numbers in [-scale, scale]; of unsigned types those below zero count from the top.
template <typename T> std::vector<T> randomValues(size_t count, uint64_t seed, double scale = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> distribution(-scale, scale);
  std::vector<T> values(count);
  for (T &value : values) {
    double drawn = distribution(random);
    if constexpr (std::is_integral_v<T>)
      value = T(int64_t(drawn));
    else
      value = T(drawn);
  }
  return values;
}

} // namespace weft::runtime

#endif // WEFT_TEST_UNIT_RUNTIME_HARNESS_H
