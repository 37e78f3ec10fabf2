// weft-data: makes training data of other formats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Idx.h"

#include <cstdio>
#include <cstdlib>

using namespace weft;
using runtime::Status;
using runtime::StatusCode;

namespace {

constexpr const char *kUsage =
    R"(usage: weft-data --idx-to-npy FILE -o FILE.npy [--scale S] [--sample-shape AxBxC]

Turns an IDX file (MNIST and its relatives; unpack it first, '-' is stdin) into
data for --data of weft-run.
  --scale S             values times S, as f32; without it integers, as i64
  --sample-shape AxBxC  shape of one sample, if not the file's
)";

Status parse(int argc, char **argv, data::IdxOptions &options) {
  auto usage = [](const std::string &what) {
    return Status(StatusCode::Usage, what + "; --help shows what there is");
  };
  for (int i = 1; i < argc; i += 2) {
    std::string flag = argv[i];
    if (i + 1 == argc)
      return usage(flag + " wants a value");
    std::string value = argv[i + 1];
    char *end = nullptr;
    if (flag == "--idx-to-npy") {
      options.input = value;
    } else if (flag == "-o") {
      options.output = value;
    } else if (flag == "--scale") {
      options.scale = std::strtod(value.c_str(), &end);
      if (value.empty() || *end != 0 || options.scale == 0)
        return usage("--scale wants a number that is not 0");
    } else if (flag == "--sample-shape") {
      const char *at = value.c_str();
      do {
        options.sampleShape.push_back(std::strtoll(at, &end, 10));
        if (end == at || options.sampleShape.back() < 1 ||
            (*end != 0 && *end != 'x'))
          return usage("--sample-shape wants sizes like 28x28");
        at = end + 1;
      } while (*end == 'x');
    } else {
      return usage("there is no flag '" + flag + "'");
    }
  }
  if (options.input.empty() || options.output.empty())
    return usage("--idx-to-npy FILE and -o FILE.npy are needed");
  return {};
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  data::IdxOptions options;
  Status status = parse(argc, argv, options);
  if (status.ok())
    status = data::idxToNpy(options);
  if (!status.ok())
    std::fprintf(stderr, "weft-data: error: %s\n", status.text().c_str());
  return int(status.code());
}
