// Reads tensors of one checkpoint, every byte checked.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint/CheckpointReader.h"

#include "base/Convert.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::runtime;

CheckpointReader::~CheckpointReader() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status CheckpointReader::open(uint32_t file) {
  if (file == current)
    return {};
  if (descriptor >= 0)
    ::close(descriptor);
  current = kNone;
  currentBlock = ~uint64_t(0);
  name = checkpointFileName(file);
  // Read, not mapped: a file that shrinks must not become a signal.
  descriptor = ::open((path + "/" + name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return Status::user("file '" + name + "' cannot be read: " + std::strerror(errno));
  struct stat info;
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) ||
      uint64_t(info.st_size) != manifest.files[file].bytes)
    return Status::user("file '" + name + "' has another size than it had");
  current = file;
  return {};
}

Status CheckpointReader::fill(uint64_t block) {
  const CheckpointManifest::File &file = manifest.files[current];
  uint64_t begin = block * manifest.blockBytes;
  uint64_t count = std::min(manifest.blockBytes, file.bytes - begin);
  buffer.resize(size_t(std::min(manifest.blockBytes, file.bytes)));
  currentBlock = ~uint64_t(0);
  for (uint64_t done = 0; done < count;) {
    ssize_t n = ::pread(descriptor, buffer.data() + done, count - done, off_t(begin + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return Status::user("file '" + name + "' cannot be read at byte " +
                          std::to_string(begin + done) + ": " +
                          (n < 0 ? std::strerror(errno) : "it has become shorter"));
    done += uint64_t(n);
  }
  if (hashBytes(buffer.data(), count) != file.hashes[block])
    return Status::user("bytes " + std::to_string(begin) + " to " + std::to_string(begin + count) +
                        " of file '" + name + "' do not match their checksum");
  currentBlock = block;
  return {};
}

Status CheckpointReader::read(uint32_t file, uint64_t offset, uint64_t bytes, char *target) {
  WEFT_TRY(open(file));
  while (bytes > 0) {
    uint64_t block = offset / manifest.blockBytes;
    if (block != currentBlock)
      WEFT_TRY(fill(block));
    uint64_t at = offset % manifest.blockBytes;
    uint64_t count = std::min(bytes, manifest.blockBytes - at);
    std::memcpy(target, buffer.data() + at, count);
    target += count;
    offset += count;
    bytes -= count;
  }
  return {};
}

Status CheckpointReader::check(uint32_t file) {
  if (manifest.files[file].bytes == 0)
    return {};
  WEFT_TRY(open(file));
  for (uint64_t block = 0; block < manifest.files[file].hashes.size(); ++block)
    WEFT_TRY(fill(block));
  return {};
}

bool WantedElements::mark(int64_t begin, int64_t end) {
  for (int64_t word = begin / 64; word * 64 < end; ++word) {
    int64_t from = std::max(begin - word * 64, int64_t(0));
    int64_t to = std::min(end - word * 64, int64_t(64));
    uint64_t bits =
        (to == 64 ? ~uint64_t(0) : (uint64_t(1) << to) - 1) & ~((uint64_t(1) << from) - 1);
    if (seen[size_t(word)] & bits)
      return false;
    seen[size_t(word)] |= bits;
  }
  count += end - begin;
  return true;
}

Status WantedElements::take(CheckpointReader &reader, const CheckpointManifest::Box &box,
                            int64_t global, int64_t local, int64_t wanted) {
  uint64_t from = dtypeBytes(tensor.dtype), to = dtypeBytes(dtype);
  for (int64_t done = 0; done < wanted;) {
    CheckpointBox::Place place = box.locate(global + done);
    int64_t n = std::min(place.count, wanted - done);
    int64_t at = local + done;
    done += n;
    if (!place.inside)
      continue;
    if (!mark(at, at + n))
      return Status::user("boxes of tensor '" + tensor.name + "' overlap");
    uint64_t offset = box.offset + uint64_t(place.local) * from;
    if (dtype == tensor.dtype) {
      WEFT_TRY(reader.read(box.file, offset, uint64_t(n) * from, target + at * int64_t(to)));
      continue;
    }
    alignas(8) char block[8192];
    for (int64_t i = 0, some; i < n; i += some) {
      some = std::min(n - i, int64_t(sizeof block / from));
      WEFT_TRY(reader.read(box.file, offset + uint64_t(i) * from, uint64_t(some) * from, block));
      convertElements(tensor.dtype, block, dtype, target + (at + i) * int64_t(to), some);
    }
  }
  return {};
}
