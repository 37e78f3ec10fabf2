// Kernels as the compiler would make them, written by hand: accesses are told before they are done.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_RUNTIME_EMULATOR_KERNELS_H
#define WEFT_TEST_UNIT_RUNTIME_EMULATOR_KERNELS_H

#include "Emulator.h"

#include <string>
#include <vector>

namespace weft::emulator::test {

inline int32_t load(weft_emulated_thread *thread, void *buffer, int64_t index) {
  int32_t *at = static_cast<int32_t *>(buffer) + index;
  weft_emulator_access(thread, at, 4, 4, WEFT_ACCESS_READ);
  return *at;
}

inline void store(weft_emulated_thread *thread, void *buffer, int64_t index, int32_t value) {
  int32_t *at = static_cast<int32_t *>(buffer) + index;
  weft_emulator_access(thread, at, 4, 4, WEFT_ACCESS_WRITE);
  *at = value;
}

inline void add(weft_emulated_thread *thread, void *buffer, int64_t index, int32_t value) {
  int32_t *at = static_cast<int32_t *>(buffer) + index;
  weft_emulator_access(thread, at, 4, 4, WEFT_ACCESS_ATOMIC);
  *at += value;
}

/// A launch of code over one buffer of `elements` i32, with another of `shared` per block.
struct Launcher {
  int64_t blocks = 2, threads = 64, elements = 128, shared = 64;

  /// The first error of the launch, empty without one; `data` is the buffer.
  std::string run(weft_emulated_code code, std::vector<int32_t> &data, Order order = Order::Random,
                  uint64_t seed = 1) const {
    static std::string error;
    error.clear();
    setOrder(order, seed);
    setErrorHandler([](const char *sentence) { error = sentence; });
    data.resize(size_t(elements));
    weft_emulated_buffer buffers[] = {{elements * 4, 4, 4}, {shared * 4, 4, 4}};
    weft_emulated_kernel kernel{"k", code, blocks, threads, 1, 1, buffers};
    void *arguments[] = {data.data()};
    weft_emulator_launch(&kernel, 0, blocks, arguments);
    setErrorHandler(nullptr);
    return error;
  }
};

inline constexpr Order kOrders[] = {Order::Forward, Order::Backward, Order::Warps, Order::Random,
                                    Order::Preempted};

} // namespace weft::emulator::test

#endif // WEFT_TEST_UNIT_RUNTIME_EMULATOR_KERNELS_H
