// Writes the blob of the training sample: weft_training_sample_writer DP TP [PP] BLOB
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TrainingSample.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: %s DP TP [PP] BLOB\n", argv[0]);
    return 2;
  }
  weft::runtime::sample::TrainingSample sample(std::atoi(argv[1]), std::atoi(argv[2]),
                                               argc == 5 ? std::atoi(argv[3]) : 1);
  std::vector<uint8_t> blob = sample.make();
  std::ofstream(argv[argc - 1], std::ios::binary)
      .write(reinterpret_cast<const char *>(blob.data()), std::streamsize(blob.size()));
  return 0;
}
