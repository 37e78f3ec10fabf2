// Writes the inputs of a BERT encoder for real sentences as .npy files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WordPiece.h"

#include <cstdio>
#include <fstream>

namespace {

bool writeNpy(const std::string &path, size_t rows, size_t columns,
              const std::vector<int64_t> &values) {
  std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  // Magic (8 bytes), length (2) and header together fill a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\1' << '\0' << char(header.size() & 255) << char(header.size() >> 8)
       << header;
  file.write(reinterpret_cast<const char *>(values.data()),
             std::streamsize(values.size() * sizeof(int64_t)));
  file.close();
  if (!file)
    std::fprintf(stderr, "error: cannot write '%s'\n", path.c_str());
  return bool(file);
}

} // namespace

int main(int argc, char **argv) {
  size_t seq = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (argc < 5 || seq < 3 || seq > 1 << 20) {
    std::fprintf(stderr, "usage: weft-wordpiece vocab.txt SEQ DIR SENTENCE...\n"
                         "writes DIR/{input_ids,attention_mask,"
                         "token_type_ids}.npy of shape (sentences, SEQ >= 3)\n");
    return 2;
  }
  std::ifstream vocabulary(argv[1]);
  weft::WordPiece tokenizer(vocabulary);
  if (!vocabulary.eof() || !tokenizer.fault().empty()) {
    std::fprintf(stderr, "error: '%s': %s\n", argv[1],
                 tokenizer.fault().empty() ? "cannot be read" : tokenizer.fault().c_str());
    return 1;
  }
  size_t rows = size_t(argc - 4);
  std::vector<int64_t> ids, mask;
  for (int i = 4; i < argc; ++i) {
    std::vector<int64_t> row = tokenizer.encode(argv[i], seq);
    mask.insert(mask.end(), row.size(), 1);
    row.resize(seq);
    ids.insert(ids.end(), row.begin(), row.end());
    mask.resize(ids.size());
  }
  std::string folder = std::string(argv[3]) + "/";
  bool written =
      writeNpy(folder + "input_ids.npy", rows, seq, ids) &&
      writeNpy(folder + "attention_mask.npy", rows, seq, mask) &&
      writeNpy(folder + "token_type_ids.npy", rows, seq, std::vector<int64_t>(rows * seq));
  return written ? 0 : 1;
}
