// Binds data files to inputs and reads batches from them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/BatchFeed.h"

#include "base/Convert.h"
#include "files/InputFile.h"
#include "weft/runtime/Metadata.h"
#include "weft/runtime/Nearest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <type_traits>

using namespace weft::runtime;

namespace {

/// Pages of data files are given back after so many bytes of them came in, and
/// this is what one page fault may bring in (measured on Linux 6.18).
constexpr int64_t kReleaseBytes = 16 << 20;
constexpr int64_t kFaultAround = 2 << 20;
/// A file up to this size is checked before training begins.
constexpr int64_t kSmallFile = 64 << 20;

bool isInteger(DType type) { return !isFloat(type) && type != DType::Bool; }

int64_t leastOf(DType type) {
  return isSigned(type) ? -1 - int64_t((uint64_t(1) << (8 * dtypeBytes(type) - 1)) - 1) : 0;
}
uint64_t greatestOf(DType type) {
  return ~uint64_t(0) >> (64 - 8 * dtypeBytes(type) + isSigned(type));
}

int64_t elementsOf(const ProgramView &p, const Port &port) {
  int64_t count = 1;
  for (int64_t size : p.ints(port.shape))
    count *= size;
  return count;
}

} // namespace

BatchFeed::Roles BatchFeed::rolesOf(const ProgramView &p) {
  Roles found;
  found.tokens = metadataOf(p, metadata::kTrainTokens);
  found.labels = metadataOf(p, metadata::kTrainLabels);
  std::string ignored = metadataOf(p, metadata::kTrainIgnored);
  if (!ignored.empty())
    found.ignored = std::atoll(ignored.c_str());
  found.allCount = metadataOf(p, metadata::kTrainAllLabelsCount) == "1";
  found.classes = std::atoll(metadataOf(p, metadata::kTrainClasses).c_str());
  std::string logits = metadataOf(p, metadata::kGenerateLogits);
  for (const Program &program : p.Programs())
    for (const Port &port : p.Ports().slice(program.outputs))
      if (!logits.empty() && p.string(port.name) == logits && port.shape.count > 0)
        found.vocabulary = p.ints(port.shape)[port.shape.count - 1];
  // The loss says along which dim of the logits they are.
  if (found.classes > 0)
    found.vocabulary = found.classes;
  return found;
}

BatchFeed::BatchFeed(weft_session &session, const char *name, Roles roles)
    : session(session), p(session.view()), programName(name), roles(std::move(roles)) {
  for (const Program &entry : p.Programs())
    if (p.string(entry.name) == name)
      program = &entry;
}

BatchFeed::~BatchFeed() { worker.wait(); }

Status BatchFeed::findInput(const std::string &name, const Port *&port) const {
  if (!program)
    return Status::user("the executable has no program '" + programName +
                        "'; compile the model with --train");
  std::string known;
  std::vector<std::string> names;
  for (const Port &entry : p.Ports().slice(program->inputs)) {
    if (p.string(entry.name) == name) {
      port = &entry;
      return {};
    }
    names.emplace_back(p.string(entry.name));
    known += (known.empty() ? "'" : ", '") + names.back() + "'";
  }
  return {StatusCode::Usage, "program '" + programName + "' has no input '" + name + "'; it has " +
                                 (known.empty() ? "none" : known) + didYouMean(name, names)};
}

Status BatchFeed::addArray(const std::string &name, const std::string &path) {
  const Port *port = nullptr;
  WEFT_TRY(findInput(name, port));
  std::unique_ptr<DataFile> file;
  WEFT_TRY(DataFile::openArray(path, file));
  std::vector<int64_t> wanted = shapeOf(p, *port), found = file->shape();
  std::string where = "input '" + name + "' of program '" + programName + "'";
  if (wanted.empty())
    return Status::user(where +
                        " is a scalar and has no samples; give it with "
                        "--input " +
                        name + "=FILE.npy");
  if (found.size() != wanted.size() ||
      !std::equal(found.begin() + 1, found.end(), wanted.begin() + 1)) {
    std::string samples = "N";
    for (size_t d = 1; d < wanted.size(); ++d)
      samples += "x" + std::to_string(wanted[d]);
    return Status::user(where + " is " + shapeText(wanted) + ", so its data must be " + samples +
                        ", but '" + path + "' is " + shapeText(found));
  }
  int64_t inner = file->numElements() / found[0];
  files.push_back(std::move(file));
  return bind(*port, *files.back(), found[0], inner, 0);
}

Status BatchFeed::addTokens(const std::string &spec) {
  if (roles.tokens.empty() || roles.labels.empty())
    return {StatusCode::Usage, "the executable names no token input with labels of the same "
                               "shape; feed its inputs with --data NAME=FILE.npy"};
  const Port *tokens = nullptr, *labels = nullptr;
  WEFT_TRY(findInput(roles.tokens, tokens));
  WEFT_TRY(findInput(roles.labels, labels));
  std::unique_ptr<DataFile> file;
  WEFT_TRY(DataFile::openTokens(spec, file));
  std::vector<int64_t> shape = shapeOf(p, *tokens);
  if (shape.size() != 2 || shape != shapeOf(p, *labels))
    return Status::user("token files feed inputs of batch x sequence, but '" + roles.tokens +
                        "' is " + shapeText(shape) + " and '" + roles.labels + "' is " +
                        shapeText(shapeOf(p, *labels)));
  int64_t sequence = shape[1];
  if (sequence < 1 || file->numElements() <= sequence)
    return Status::user("token file '" + file->path() + "' has " +
                        std::to_string(file->numElements()) +
                        " tokens; one sample of sequence length " + std::to_string(sequence) +
                        " needs " + std::to_string(sequence + 1));
  int64_t samples = (file->numElements() - 1) / sequence;
  files.push_back(std::move(file));
  WEFT_TRY(bind(*tokens, *files.back(), samples, sequence, 0));
  return bind(*labels, *files.back(), samples, sequence, 1);
}

Status BatchFeed::bind(const Port &port, const DataFile &file, int64_t samples, int64_t stride,
                       int64_t offset) {
  std::string name(p.string(port.name));
  // The files of --data were held against it before; which inputs a token file feeds is known here.
  if (std::find(constants.begin(), constants.end(), name) != constants.end())
    return {StatusCode::Usage, "'" + name +
                                   "' is given by --input, one value for all steps, and by batches "
                                   "from '" +
                                   file.path() + "'; give it once"};
  for (const Binding &other : bindings)
    if (other.port == &port)
      return {StatusCode::Usage, "input '" + name + "' is fed twice, from '" + other.file->path() +
                                     "' and '" + file.path() + "'"};
  int64_t batch = p.ints(port.shape)[0];
  if (bindings.empty()) {
    batchSize = batch;
    numSamples = samples;
  }
  std::string first = bindings.empty() ? "" : std::string(p.string(bindings[0].port->name));
  if (batch != batchSize || batch < 1)
    return Status::user("input '" + name + "' takes " + std::to_string(batch) +
                        " samples a step, input '" + first + "' " + std::to_string(batchSize) +
                        "; give one of them with --input");
  if (samples != numSamples)
    return Status::user("'" + file.path() + "' has " + std::to_string(samples) + " samples, '" +
                        bindings[0].file->path() + "' " + std::to_string(numSamples) +
                        "; data files are read side by side");
  Binding binding{&port,
                  &file,
                  file.dtype(),
                  stride,
                  offset,
                  elementsOf(p, port) / batch,
                  name == roles.tokens,
                  name == roles.labels};
  bool fromTokens = file.shape().empty();
  binding.holdsIds = fromTokens || binding.isTokens;
  binding.holdsClasses = !fromTokens && binding.isLabels;
  WEFT_TRY(checkTypes(binding));
  bindings.push_back(binding);
  return {};
}

Status BatchFeed::checkTypes(Binding &b) const {
  DType to = b.port->dtype;
  // bfloat16 has no name in .npy files.
  if (b.fileType == DType::U16 && to == DType::BF16)
    b.fileType = DType::BF16;
  DType from = b.fileType;
  bool integers = isInteger(from) && isInteger(to);
  if (from != to && !integers && !(isFloat(from) && isFloat(to)))
    return Status::user("input '" + std::string(p.string(b.port->name)) + "' of program '" +
                        programName + "' is " + dtypeName(to) + ", but '" + b.file->path() +
                        "' is " + dtypeName(from) + "; convert the file");
  b.checked = isFloat(from);
  if (!integers)
    return {};
  b.low = leastOf(to);
  b.high = greatestOf(to);
  // Tokens of a file become labels, too. The logits of other ids may be of anything, as of tags.
  bool fromTokens = b.file->shape().empty();
  int64_t vocabulary = rowsOf(p, p.string(b.port->name)).value_or(0);
  if (fromTokens && roles.vocabulary > 0)
    vocabulary = vocabulary > 0 ? std::min(vocabulary, roles.vocabulary) : roles.vocabulary;
  if (b.holdsIds && vocabulary > 0) {
    b.low = 0;
    b.high = std::min(b.high, uint64_t(vocabulary - 1));
    b.limit = "a token of the vocabulary";
  } else if (b.holdsClasses && roles.classes > 0) {
    b.low = 0;
    b.high = std::min(b.high, uint64_t(roles.classes - 1));
    b.limit = "a class";
  } else if (std::optional<int64_t> rows = rowsOf(p, p.string(b.port->name))) {
    b.low = std::max(b.low, -*rows);
    b.high = std::min(b.high, uint64_t(*rows - 1));
    b.limit = "an index of what the model looks up";
  }
  b.checked = leastOf(from) < b.low || greatestOf(from) > b.high;
  return {};
}

Status BatchFeed::finish() {
  if (!program)
    return Status::user("the executable has no program '" + programName +
                        "'; compile the model with --train");
  std::string missing;
  for (const Port &port : p.Ports().slice(program->inputs)) {
    std::string name(p.string(port.name));
    bool fed = std::find(constants.begin(), constants.end(), name) != constants.end();
    for (const Binding &binding : bindings)
      fed |= binding.port == &port;
    if (!fed)
      missing += (missing.empty() ? "'" : ", '") + name + "'";
  }
  if (!missing.empty())
    return {StatusCode::Usage, "nothing feeds " + missing + " of program '" + programName +
                                   "'; add --data NAME=FILE.npy" +
                                   (roles.tokens.empty() ? "" : ", --data-tokens FILE") +
                                   ", or --input NAME=FILE.npy for a value that stays"};
  if (bindings.empty())
    return {};
  WEFT_TRY(checkSmallFiles());
  order = SampleOrder(uint64_t(numSamples), false, 0);
  rows.resize(size_t(batchSize));
  for (std::unique_ptr<RankContext> &rank : session.ranks)
    for (size_t i = 0; i < bindings.size(); ++i) {
      const Port &port = *bindings[i].port;
      if (!rank->holds(port))
        continue;
      const ShardMap &map = rank->map(port.placement);
      parts.push_back({rank.get(), i, &map, {}});
    }
  keep(1);
  return {};
}

void BatchFeed::keep(unsigned batches) {
  kept = batches;
  for (Part &part : parts)
    part.staging.assign(kept, std::vector<char>(size_t(part.map->numLocal()) *
                                                dtypeBytes(bindings[part.binding].port->dtype)));
}

/// Whether two files give a batch the same numbers.
bool BatchFeed::isSame(const Binding &a, const Binding &b, int64_t samples) const {
  if (a.inner != b.inner || !isInteger(a.fileType) || !isInteger(b.fileType))
    return false;
  auto value = [](const Binding &binding, int64_t element) {
    int64_t result = 0;
    convertElements(binding.fileType, binding.file->at(element), DType::I64, &result, 1);
    return result;
  };
  bool differs = false;
  int64_t first = value(a, a.offset);
  for (int64_t sample = 0; sample < samples; ++sample)
    for (int64_t i = 0; i < a.inner; ++i) {
      int64_t x = value(a, sample * a.stride + a.offset + i);
      if (x != value(b, sample * b.stride + b.offset + i))
        return false;
      differs |= x != first;
    }
  // Nothing follows from what is the same everywhere.
  return differs;
}

std::vector<std::string> BatchFeed::doubts() const {
  std::vector<std::string> found;
  if (numSamples > 0 && numSamples < batchSize)
    found.push_back("the data has " + std::to_string(numSamples) + " samples for a batch of " +
                    std::to_string(batchSize) + ": every batch holds some of them more than once");
  for (const Binding &labels : bindings)
    if (countsNone(labels))
      found.push_back("no label in '" + labels.file->path() +
                      "' counts: the loss is that of nothing, 0");
  for (const Binding &labels : bindings)
    for (const Binding &other : bindings)
      if (labels.isLabels && !other.isLabels &&
          isSame(labels, other, std::min(numSamples, batchSize)))
        found.push_back("the labels in '" + labels.file->path() + "' are the input '" +
                        std::string(p.string(other.port->name)) +
                        "' itself, position by position: a model that copies its input has "
                        "loss 0; to learn the next token give the tokens that come after, "
                        "or use --data-tokens");
  return found;
}

std::string BatchFeed::noteSamples(std::map<std::string, std::string> &notes) const {
  std::string &note = notes["samples of --data"], now = std::to_string(numSamples), had = note;
  note = now;
  if (had.empty() || had == now)
    return "";
  return "the data has " + now + " samples, where the checkpoint was made it had " + had +
         ": they are dealt anew from here on, so that within this epoch some may come twice and "
         "others not; to go on exactly give the same data";
}

bool BatchFeed::holdsByteTokens() const {
  for (const Binding &binding : bindings)
    if (binding.isTokens && binding.file->holdsBytes())
      return true;
  return false;
}

int64_t BatchFeed::elementsPerBatch() const {
  for (const Binding &binding : bindings)
    if (binding.isLabels)
      return batchSize * binding.inner;
  return batchSize;
}

bool BatchFeed::countsLabels() const {
  for (const Binding &binding : bindings)
    if (binding.isLabels)
      return true;
  return false;
}

bool BatchFeed::canFillUp() const {
  for (const Binding &binding : bindings)
    if (binding.isLabels && isSigned(binding.port->dtype))
      return !roles.allCount;
  return false;
}

void BatchFeed::start(int64_t first, int64_t last) {
  position = first;
  end = last;
  ++number;
  worker.post([](void *self) { static_cast<BatchFeed *>(self)->prepare(); }, this);
}

void BatchFeed::prepare() {
  status = {};
  counting = 0;
  for (int64_t row = 0; row < batchSize; ++row)
    rows[size_t(row)] = position + row < end ? int64_t(order(uint64_t(position + row))) : -1;
  for (Part &part : parts)
    part.map->forEachRun([&](const ShardMap::Run &run) { fill(part, run); });
}

/// One run of a shard may cover several rows of the batch, or a part of one.
void BatchFeed::fill(Part &part, const ShardMap::Run &run) {
  const Binding &b = bindings[part.binding];
  DType type = b.port->dtype;
  unsigned bytes = dtypeBytes(type);
  for (int64_t done = 0; done < run.count && status.ok();) {
    int64_t global = run.global + done;
    int64_t offset = global % b.inner;
    int64_t count = std::min(run.count - done, b.inner - offset);
    int64_t sample = rows[size_t(global / b.inner)];
    char *to = part.staging[size_t(number) % kept].data() + (run.local + done) * bytes;
    if (sample >= 0) {
      read(b, sample, offset, count, to);
    } else if (b.isLabels && isSigned(type)) {
      int64_t ignored = -100;
      for (int64_t i = 0; i < count; ++i)
        convertElements(DType::I64, &ignored, type, to + i * bytes, 1);
    } else {
      std::fill_n(to, count * bytes, char(0));
    }
    if (b.isLabels && part.rank->writes(*b.port))
      countLabels(part, to, sample >= 0 ? count : 0);
    done += count;
  }
}

/// A token file that is read in another width has any numbers: which one it may be of.
std::string BatchFeed::widthOfTokens(const Binding &b, uint64_t value) const {
  if (!b.holdsIds || !b.file->shape().empty() || b.file->holdsBytes())
    return "";
  constexpr uint64_t kHalf = 0xFFFF;
  bool isOfHalves =
      dtypeBytes(b.fileType) == 4 && (value & kHalf) <= b.high && (value >> 16 & kHalf) <= b.high;
  std::string width = isOfHalves ? "u16" : "byte";
  return "; is it a file of " + std::string(isOfHalves ? "u16" : "bytes") + "? Then say '" +
         b.file->path() + ":" + width + "'";
}

Status BatchFeed::check(const Binding &b, int64_t sample, int64_t offset, int64_t count) const {
  Status result;
  const char *from = b.file->at(sample * b.stride + b.offset + offset);
  withType(b.fileType, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < count; ++i) {
        T found = elementAt<T>(from, i);
        bool below = std::is_signed_v<T> && int64_t(found) < b.low;
        bool above = (std::is_unsigned_v<T> || int64_t(found) > 0) && uint64_t(found) > b.high;
        if (!below && !above)
          continue;
        // What does not count must still be what it is where the input is narrower.
        auto value = int64_t(found);
        bool isHeld =
            below ? value >= leastOf(b.port->dtype) : uint64_t(found) <= greatestOf(b.port->dtype);
        if (b.holdsClasses && isHeld && (value == -100 || value == roles.ignored))
          continue;
        std::string limit =
            b.limit ? std::string("not ") + b.limit + ": these are 0 to " + std::to_string(b.high)
                    : std::string("out of range for ") + dtypeName(b.port->dtype);
        result = Status::user("'" + b.file->path() + "', sample " + std::to_string(sample) +
                              ", element " + std::to_string(offset + b.offset + i) + ": " +
                              std::to_string(found) + " is " + limit + " (input '" +
                              std::string(p.string(b.port->name)) + "')" +
                              widthOfTokens(b, uint64_t(found)));
        return;
      }
    } else if constexpr (!std::is_same_v<T, Boolean>) {
      for (int64_t i = 0; i < count && result.ok(); ++i)
        if (std::isnan(double(elementAt<T>(from, i))))
          result = Status::user("'" + b.file->path() + "', sample " + std::to_string(sample) +
                                ", element " + std::to_string(offset + b.offset + i) +
                                " is nan, no number for input '" +
                                std::string(p.string(b.port->name)) + "'");
    }
  });
  return result;
}

Status BatchFeed::checkSmallFiles() {
  for (const Binding &b : bindings) {
    int64_t bytes = numSamples * b.inner * dtypeBytes(b.fileType);
    for (int64_t s = 0; b.checked && bytes <= kSmallFile && s < numSamples; ++s) {
      WEFT_TRY(check(b, s, 0, b.inner));
      released(b.inner * dtypeBytes(b.fileType));
    }
  }
  return {};
}

/// So many bytes were read, and the pages around them.
void BatchFeed::released(int64_t bytes) {
  unreleased += bytes;
  if (unreleased < kReleaseBytes)
    return;
  unreleased = 0;
  for (const std::unique_ptr<DataFile> &file : files)
    file->release();
}

void BatchFeed::read(const Binding &b, int64_t sample, int64_t offset, int64_t count, char *to) {
  if (b.checked)
    status = check(b, sample, offset, count);
  if (status.ok())
    convertElements(b.fileType, b.file->at(sample * b.stride + b.offset + offset), b.port->dtype,
                    to, count);
  released(count * dtypeBytes(b.fileType) + kFaultAround);
}

bool BatchFeed::counts(DType type, const char *at) const {
  int64_t label = 0;
  convertElements(type, at, DType::I64, &label, 1);
  return label != -100 && label != roles.ignored;
}

/// Of a small file.
bool BatchFeed::countsNone(const Binding &b) const {
  int64_t bytes = numSamples * b.inner * dtypeBytes(b.fileType);
  if (!b.isLabels || roles.allCount || !isInteger(b.fileType) || bytes > kSmallFile)
    return false;
  for (int64_t sample = 0; sample < numSamples; ++sample)
    for (int64_t i = 0; i < b.inner; ++i)
      if (counts(b.fileType, b.file->at(sample * b.stride + b.offset + i)))
        return false;
  return numSamples > 0;
}

void BatchFeed::countLabels(const Part &part, const char *labels, int64_t count) {
  DType type = bindings[part.binding].port->dtype;
  if (!isInteger(type) || roles.allCount) {
    counting += double(count);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    counting += counts(type, labels + i * dtypeBytes(type));
}

Status BatchFeed::take() {
  worker.wait();
  counted = counting;
  return status;
}

Status BatchFeed::put(RankContext &rank, int64_t batch) const {
  for (const Part &part : parts) {
    const std::vector<char> &staging = part.staging[size_t(batch) % kept];
    if (part.rank == &rank)
      WEFT_TRY(rank.device().upload(rank.buffer(*bindings[part.binding].port).offset,
                                    staging.data(), staging.size()));
  }
  return {};
}

Status BatchFeed::putAll() const {
  for (std::unique_ptr<RankContext> &rank : session.ranks)
    WEFT_TRY(put(*rank, number));
  return {};
}
