// Puts global batches of samples into a program's inputs, one batch ahead.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_TRAINING_BATCHFEED_H
#define WEFT_RUNTIME_LIB_TRAINING_BATCHFEED_H

#include "base/Permutation.h"
#include "files/DataFile.h"
#include "session/Session.h"

#include <limits>

namespace weft::runtime {

/// The first dimension of every input that is fed counts the batch's samples.
/// Every rank reads the elements of its own shards and no others. A thread
/// reads and converts the next batch while a step runs; nothing is allocated
/// per batch. Batches are counted from 0, as they are begun.
class BatchFeed {
public:
  /// What is fed is known by its names: the integer input and its labels, as
  /// the executable's metadata tell. `ignored`: a label that does not count,
  /// beside -100; `allCount`: there is none. `vocabulary`: token ids are below
  /// it; `classes`: labels that count are; 0 = not known.
  struct Roles {
    std::string tokens, labels;
    int64_t ignored = -100;
    int64_t vocabulary = 0, classes = 0;
    bool allCount = false;
  };

  static Roles rolesOf(const ProgramView &program);

  BatchFeed(weft_session &session, const char *program, Roles roles);
  ~BatchFeed();
  BatchFeed(const BatchFeed &) = delete;

  /// Feeds input `name` from a .npy file.
  Status addArray(const std::string &name, const std::string &path);
  /// Feeds tokens and labels from a token file.
  Status addTokens(const std::string &spec);
  /// An input that keeps the value it was given before.
  void addConstant(const std::string &name) { constants.push_back(name); }
  /// Checks that every input is fed and that the files agree.
  Status finish();
  /// Keeps so many batches, the one that is being read included; before the first one is.
  void keep(unsigned batches);

  bool empty() const { return bindings.empty(); }
  int64_t batch() const { return batchSize; }
  int64_t samples() const { return numSamples; }
  bool holdsByteTokens() const;
  /// What is allowed but seldom meant, told before training.
  std::vector<std::string> doubts() const;
  /// Notes of a checkpoint say how many samples there are; what is to be told where they said
  /// otherwise.
  std::string noteSamples(std::map<std::string, std::string> &notes) const;
  /// Elements of the labels, or samples if there are none, in a batch.
  int64_t elementsPerBatch() const;

  void shuffle(uint64_t seed) { order = SampleOrder(samples(), true, seed); }

  /// Begins to read the batch at positions [position, position + batch()), of
  /// which those from `end` on are filled up with samples that do not count.
  void start(int64_t position, int64_t end = std::numeric_limits<int64_t>::max());
  /// Waits for the batch that was begun last.
  Status take();
  /// Puts batch `number`, which was taken and is kept, into a rank's inputs.
  Status put(RankContext &rank, int64_t number) const;
  /// The batch that was taken last, into those of all ranks.
  Status putAll() const;
  /// Whether batches can be filled up.
  bool canFillUp() const;
  /// Whether labels say what counts; else all batches count alike.
  bool countsLabels() const;
  /// Elements that count in the batch taken, of those that this process writes.
  double countedHere() const { return counted; }

private:
  struct Binding {
    const Port *port;
    const DataFile *file;
    DType fileType; // how the file's elements are read
    int64_t stride, offset, inner;
    bool isTokens, isLabels;
    bool holdsIds = false;     // of the vocabulary
    bool holdsClasses = false; // or labels that do not count
    // Whether the file can hold values that are not allowed: integers out of a range, or what is no
    // number.
    bool checked = false;
    int64_t low = 0;
    uint64_t high = 0;
    const char *limit = nullptr; // what they are not, if not of the dtype
  };
  struct Part {
    RankContext *rank;
    size_t binding;
    const ShardMap *map;
    std::vector<std::vector<char>> staging; // of each batch that is kept
  };

  Status findInput(const std::string &name, const Port *&port) const;
  Status bind(const Port &port, const DataFile &file, int64_t samples, int64_t stride,
              int64_t offset);
  Status checkTypes(Binding &binding) const;
  bool isSame(const Binding &a, const Binding &b, int64_t samples) const;
  std::string widthOfTokens(const Binding &binding, uint64_t value) const;
  /// Whether the values are allowed.
  Status check(const Binding &binding, int64_t sample, int64_t offset, int64_t count) const;
  /// All values of files that are read in no time, before training begins.
  Status checkSmallFiles();
  void released(int64_t bytes);
  void prepare();
  void fill(Part &part, const ShardMap::Run &run);
  void read(const Binding &binding, int64_t sample, int64_t offset, int64_t count, char *to);
  bool counts(DType type, const char *label) const;
  bool countsNone(const Binding &labels) const;
  void countLabels(const Part &part, const char *labels, int64_t count);

  weft_session &session;
  const ProgramView &p;
  std::string programName;
  const Program *program = nullptr;
  Roles roles;
  std::vector<std::unique_ptr<DataFile>> files;
  std::vector<Binding> bindings;
  std::vector<std::string> constants;
  std::vector<Part> parts;
  std::vector<int64_t> rows; // sample of each row of the batch, -1 = none
  int64_t batchSize = 0, numSamples = 0;
  unsigned kept = 1;
  SampleOrder order;
  // The batch in work.
  int64_t position = 0, end = 0, number = -1;
  Status status;
  double counting = 0, counted = 0;
  int64_t unreleased = 0; // bytes read since the files' pages were given back
  Worker worker;          // last, so that it ends first
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_TRAINING_BATCHFEED_H
