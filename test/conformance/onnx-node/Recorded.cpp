// Writes and reads recorded cases: fields in order, numbers of 8 bytes, lengths before bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Recorded.h"

#include <cstring>

using namespace weft::conformance;

namespace {

template <typename Archive, typename Kernel> bool kernelFields(Archive &&archive, Kernel &kernel) {
  return archive(kernel.name) && archive(kernel.binary) && archive(kernel.text) &&
         archive(kernel.chip) && archive(kernel.threads) && archive(kernel.alignment) &&
         archive(kernel.table);
}
template <typename Archive, typename Case> bool caseFields(Archive &&archive, Case &recorded) {
  return archive(recorded.name) && archive(recorded.why) && archive(recorded.ops) &&
         archive(recorded.blob) && archive(recorded.kernels) && archive(recorded.library) &&
         archive(recorded.inputs) && archive(recorded.outputs) && archive(recorded.units) &&
         archive(recorded.bounds);
}

struct Writer {
  std::string &file;

  bool operator()(uint64_t number) {
    file.append(reinterpret_cast<const char *>(&number), sizeof number);
    return true;
  }
  bool operator()(uint32_t number) { return (*this)(uint64_t(number)); }
  bool operator()(double number) {
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return (*this)(bits);
  }
  bool operator()(const std::string &text) {
    (*this)(text.size());
    file += text;
    return true;
  }
  bool operator()(const RecordedKernel &kernel) { return kernelFields(*this, kernel); }
  template <typename Item> bool operator()(const std::vector<Item> &items) {
    (*this)(items.size());
    for (const Item &item : items)
      (*this)(item);
    return true;
  }
};

struct Reader {
  std::string_view &file;

  bool operator()(uint64_t &number) {
    if (file.size() < sizeof number)
      return false;
    std::memcpy(&number, file.data(), sizeof number);
    file.remove_prefix(sizeof number);
    return true;
  }
  bool operator()(uint32_t &number) {
    uint64_t wide = 0;
    bool isThere = (*this)(wide);
    number = uint32_t(wide);
    return isThere;
  }
  bool operator()(double &number) {
    uint64_t bits = 0;
    bool isThere = (*this)(bits);
    std::memcpy(&number, &bits, sizeof bits);
    return isThere;
  }
  bool operator()(std::string &text) {
    uint64_t size = 0;
    if (!(*this)(size) || file.size() < size)
      return false;
    text = file.substr(0, size);
    file.remove_prefix(size);
    return true;
  }
  bool operator()(RecordedKernel &kernel) { return kernelFields(*this, kernel); }
  template <typename Item> bool operator()(std::vector<Item> &items) {
    uint64_t count = 0;
    bool isThere = (*this)(count);
    for (items.clear(); isThere && items.size() < count;)
      isThere = (*this)(items.emplace_back());
    return isThere;
  }
};

} // namespace

void weft::conformance::append(std::string &file, const RecordedCase &recorded) {
  caseFields(Writer{file}, recorded);
}

bool weft::conformance::take(std::string_view &file, RecordedCase &recorded) {
  return caseFields(Reader{file}, recorded);
}
