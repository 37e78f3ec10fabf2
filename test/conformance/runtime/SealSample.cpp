// Seals an executable that CMake linked, as weft-compile does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Seal.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

using namespace weft::runtime;

static std::string contentOf(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s EXECUTABLE BLOB\n", argv[0]);
    return 2;
  }
  std::string content = contentOf(argv[1]), blob = contentOf(argv[2]);
  size_t offset = blob.empty() ? content.npos : content.find(blob);
  if (offset == content.npos)
    return 1;
  Seal seal = makeSeal(content.data(), content.size(), offset, blob.size());
  std::ofstream file(argv[1], std::ios::binary | std::ios::app);
  file.write(reinterpret_cast<const char *>(&seal), sizeof seal);
  return file.flush() ? 0 : 1;
}
