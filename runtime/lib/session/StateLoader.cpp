// Reads states from their sources, transformed on the way.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session/StateLoader.h"

#include "base/Convert.h"

#include "weft/runtime/SourceBlocks.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

/// Maps the row-major index over `sizes` to an element below it.
struct IndexView {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;

  static IndexView rowMajor(std::vector<int64_t> sizes) {
    IndexView view;
    view.sizes = std::move(sizes);
    view.strides.assign(view.sizes.size(), 1);
    for (size_t i = view.sizes.size(); i-- > 1;)
      view.strides[i - 1] = view.strides[i] * view.sizes[i];
    return view;
  }
  bool isRowMajor() const {
    int64_t expected = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      if (sizes[i] != 1 && strides[i] != expected)
        return false;
      expected *= sizes[i];
    }
    return true;
  }
  int64_t at(int64_t index) const {
    int64_t result = offset;
    for (size_t i = sizes.size(); i-- > 0;) {
      result += index % sizes[i] * strides[i];
      index /= sizes[i];
    }
    return result;
  }
};

/// The bytes of a source, checked block by block when they are first read.
class SourceBytes {
public:
  static Status find(const ProgramView &p, const StatePiece &piece,
                     const std::string &modelDirectory, FileCache &files, SourceBytes &result) {
    if (piece.kind == SourceKind::Embedded) {
      result.data = p.Data().begin() + piece.byteOffset;
      return {}; // the blob's checksum covers them
    }
    std::string path(p.string(piece.path));
    uint64_t bytes = 0;
    WEFT_TRY(files.get(modelDirectory, path, piece.confined, result.data, bytes));
    result.path = FileCache::join(modelDirectory, path);
    if (piece.byteOffset + piece.byteLength > bytes)
      return Status::user("weights '" + result.path + "' have " + std::to_string(bytes) +
                          " bytes, expected at least " +
                          std::to_string(piece.byteOffset + piece.byteLength) +
                          "; the file is cut off or not the compiled one");
    result.data += piece.byteOffset;
    result.offset = piece.byteOffset;
    result.length = piece.byteLength;
    if (piece.hashes.count) {
      result.hashes = p.SourceHashes().slice(piece.hashes);
      result.claims = files.claims(&piece, piece.hashes.count);
    }
    return {};
  }

  const uint8_t *begin() const { return data; }

  /// Compares the hashes of the blocks that hold bytes [first, last], except of
  /// those that a rank of this process has compared or is about to: if they are
  /// wrong, the load fails there.
  Status check(uint64_t first, uint64_t last) const {
    if (hashes.empty())
      return {};
    for (uint64_t block = first / kSourceBlockBytes; block <= last / kSourceBlockBytes; ++block) {
      if (claims[block].load(std::memory_order_relaxed) ||
          claims[block].exchange(1, std::memory_order_relaxed))
        continue;
      if (hashSourceBlock(data, length, block) != hashes[block])
        return Status::user("the weights in '" + path + "' from byte " +
                            std::to_string(offset + block * kSourceBlockBytes) +
                            " on changed since the model was compiled; compile it again, or "
                            "give the folder of the files it was compiled with by --model-dir");
    }
    return {};
  }

private:
  const uint8_t *data = nullptr;
  uint64_t offset = 0, length = 0;
  std::string path;
  Table<uint64_t> hashes;
  FileCache::Claim *claims = nullptr;
};

/// A source behind its transforms: a stack of views (a reshape of a permuted
/// view starts a new one) and the casts.
class Source {
public:
  Source(const ProgramView &p, const StatePiece &piece, const State &state)
      : bytes(dtypeBytes(piece.dtype)) {
    types.push_back(piece.dtype);
    Table<int64_t> shape = p.ints(piece.sourceShape);
    levels.push_back(IndexView::rowMajor({shape.begin(), shape.end()}));
    for (const Transform &transform : p.Transforms().slice(piece.transforms))
      apply(transform, p.ints(transform.ints));
    if (types.back() != state.dtype)
      types.push_back(state.dtype);
    for (uint32_t d = 0; d < state.shape.count; ++d) {
      start.push_back(piece.start.count ? p.ints(piece.start)[d] : 0);
      whole &= start[d] == 0 && levels.back().sizes[d] == p.ints(state.shape)[d];
    }
  }

  const std::vector<int64_t> &box() const { return levels.back().sizes; }
  const std::vector<int64_t> &boxStart() const { return start; }
  bool coversState() const { return whole; }
  bool isContiguous() const { return levels.size() == 1 && levels[0].isRowMajor(); }
  int64_t contiguousOffset() const { return levels[0].offset; }

  /// Source element of the box's row-major index.
  int64_t element(int64_t index) const {
    for (size_t level = levels.size(); level-- > 0;)
      index = levels[level].at(index);
    return index;
  }
  /// Elements of one row are this far apart, where that is constant.
  bool rowStride(int64_t &stride) const {
    stride = levels[0].strides.empty() ? 1 : levels[0].strides.back();
    return levels.size() == 1;
  }

  /// Converts `count` source elements from `first` on, `stride` apart.
  Status read(const SourceBytes &data, int64_t first, int64_t stride, int64_t count,
              char *target) const {
    int64_t last = first + stride * (count - 1);
    WEFT_TRY(data.check(uint64_t(std::min(first, last)) * bytes,
                        uint64_t(std::max(first, last)) * bytes + bytes - 1));
    const uint8_t *from = data.begin() + first * int64_t(bytes);
    if (stride == 1 && types.size() == 1 && types[0] != DType::Bool) {
      std::memcpy(target, from, size_t(count) * bytes);
      return {};
    }
    constexpr int64_t kBlock = 512;
    alignas(16) char buffers[2][kBlock * 8];
    for (int64_t at = 0; at < count; at += kBlock) {
      int64_t n = std::min(kBlock, count - at);
      unsigned current = 0;
      gatherElements(from + at * stride * int64_t(bytes), stride, buffers[current], n, bytes);
      for (size_t i = 1; i < types.size(); ++i, current ^= 1)
        convertElements(types[i - 1], buffers[current], types[i], buffers[current ^ 1], n);
      unsigned out = dtypeBytes(types.back());
      std::memcpy(target + at * out, buffers[current], size_t(n) * out);
    }
    return {};
  }

private:
  void apply(const Transform &transform, Table<int64_t> ints) {
    IndexView &top = levels.back();
    size_t rank = top.sizes.size();
    switch (transform.kind) {
    case TransformKind::Cast:
      if (transform.dtype != types.back())
        types.push_back(transform.dtype);
      return;
    case TransformKind::Transpose: {
      IndexView next = top;
      for (size_t i = 0; i < rank; ++i) {
        next.sizes[i] = top.sizes[ints[i]];
        next.strides[i] = top.strides[ints[i]];
      }
      top = next;
      return;
    }
    case TransformKind::Reshape: {
      IndexView next = IndexView::rowMajor({ints.begin(), ints.end()});
      if (top.isRowMajor()) {
        next.offset = top.offset;
        top = next;
      } else {
        levels.push_back(next);
      }
      return;
    }
    case TransformKind::Broadcast:
      for (size_t i = 0; i < rank; ++i)
        if (top.sizes[i] != ints[i]) {
          top.sizes[i] = ints[i];
          top.strides[i] = 0;
        }
      return;
    case TransformKind::Slice:
      for (size_t i = 0; i < rank; ++i) {
        if (ints[rank + i] > 0)
          top.offset += ints[i] * top.strides[i];
        top.sizes[i] = ints[rank + i];
        if (ints[rank + i] > 1) // else any step is sound, and none is made
          top.strides[i] *= ints[2 * rank + i];
      }
      return;
    }
  }

  unsigned bytes; // of a source element
  std::vector<DType> types;
  std::vector<IndexView> levels;
  std::vector<int64_t> start;
  bool whole = true;
};

/// Copies what `piece` gives to one run of the state, row by row.
Status loadRun(const Source &source, const SourceBytes &data, const std::vector<int64_t> &shape,
               const ShardMap::Run &run, unsigned outBytes, char *target) {
  if (source.coversState() && source.isContiguous())
    return source.read(data, source.contiguousOffset() + run.global, 1, run.count,
                       target + run.local * outBytes);
  size_t rank = shape.size();
  int64_t row = rank ? shape[rank - 1] : 1;
  const std::vector<int64_t> &box = source.box(), &start = source.boxStart();
  for (int64_t done = 0; done < run.count;) {
    int64_t global = run.global + done;
    int64_t column = global % row;
    int64_t count = std::min(run.count - done, row - column);
    // Where the row lies in the box, all dimensions but the last.
    int64_t rest = global / row, index = 0, scale = 1;
    bool inside = true;
    for (size_t d = rank; d-- > 1;) {
      int64_t coordinate = rest % shape[d - 1] - start[d - 1];
      rest /= shape[d - 1];
      inside &= coordinate >= 0 && coordinate < box[d - 1];
      index += coordinate * scale;
      scale *= box[d - 1];
    }
    int64_t boxRow = rank ? box[rank - 1] : 1;
    int64_t first = rank ? std::max(column, start[rank - 1]) : 0;
    int64_t last = rank ? std::min(column + count, start[rank - 1] + boxRow) : 1;
    if (inside && first < last) {
      char *to = target + (run.local + done + first - column) * outBytes;
      int64_t at = index * boxRow + first - (rank ? start[rank - 1] : 0);
      int64_t stride;
      if (source.rowStride(stride)) {
        WEFT_TRY(source.read(data, source.element(at), stride, last - first, to));
      } else {
        for (int64_t i = 0; i < last - first; ++i)
          WEFT_TRY(source.read(data, source.element(at + i), 1, 1, to + i * outBytes));
      }
    }
    done += count;
  }
  return {};
}

} // namespace

/// A large tensor's pages are given back while it is read.
static constexpr uint64_t kReleaseBytes = 8 << 20;

Status weft::runtime::loadState(const ProgramView &p, const State &state, const ShardMap &map,
                                const std::string &modelDirectory, FileCache &files, char *target) {
  unsigned bytes = dtypeBytes(state.dtype);
  Table<StatePiece> pieces = p.StatePieces().slice(state.pieces);
  bool covered = false;
  for (const StatePiece &piece : pieces)
    covered |= Source(p, piece, state).coversState();
  if (!covered || map.numValid() != map.numLocal())
    std::memset(target, 0, size_t(map.numLocal()) * bytes);
  for (const StatePiece &piece : pieces) {
    std::string where = "parameter '" + std::string(p.string(state.name)) + "'";
    SourceBytes data;
    WEFT_TRY(SourceBytes::find(p, piece, modelDirectory, files, data).prefix(where));
    Source source(p, piece, state);
    // A part is read as soon as its block was hashed, out of the cache.
    int64_t released = 0, most = int64_t(kReleaseBytes / bytes),
            part = int64_t(kSourceBlockBytes / bytes);
    Status status;
    map.forEachRun([&](ShardMap::Run run) {
      while (run.count > 0 && status.ok()) {
        ShardMap::Run first = run;
        first.count = std::min(run.count, part);
        status = loadRun(source, data, map.globalShape(), first, bytes, target);
        run.global += first.count;
        run.local += first.count;
        run.count -= first.count;
        // What lies between the runs of a shard may be mapped, too.
        if (run.global - released < most)
          continue;
        released = run.global;
        files.release();
      }
    });
    WEFT_TRY(status.prefix(where));
  }
  return {};
}
