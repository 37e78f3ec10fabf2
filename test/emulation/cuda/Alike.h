// Whether what the runtime declares of a library's function is what the library's header does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_EMULATION_CUDA_ALIKE_H
#define WEFT_TEST_EMULATION_CUDA_ALIKE_H

/// As many parameters, each of the size of theirs, whatever the types are called.
template <typename Result, typename... Theirs, typename OurResult, typename... Ours>
constexpr bool isAlike(Result (*)(Theirs...), OurResult (*)(Ours...)) {
  if constexpr (sizeof...(Theirs) != sizeof...(Ours))
    return false;
  else
    return sizeof(Result) == sizeof(OurResult) && ((sizeof(Theirs) == sizeof(Ours)) && ...);
}

/// Of `FIELD`, a function pointer of a table, and a function of the header.
#define WEFT_EXPECT_ALIKE(FIELD, FUNCTION)                                                         \
  static_assert(                                                                                   \
      isAlike(static_cast<decltype(&FUNCTION)>(nullptr), static_cast<decltype(FIELD)>(nullptr)))

#endif // WEFT_TEST_EMULATION_CUDA_ALIKE_H
