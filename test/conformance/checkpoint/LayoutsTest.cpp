// Every layout loads what every layout saved, bit for bit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: weft_checkpoint_layouts_test pairs|save|load DIR
//        mpirun -n N weft_checkpoint_layouts_test mpi DIR LAYOUT
// `pairs` does all ordered pairs in one process. The others work together: what
// `save` saves, each `mpi` loads and saves again, and `load` loads that.
#include "CheckpointModel.h"

#include "checkpoint/CheckpointBox.h"
#include "checkpoint/CheckpointFiles.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

int failures = 0;
int cases = 0;

void check(const std::string &what, const std::string &fault) {
  ++cases;
  if (fault.empty())
    return;
  ++failures;
  std::printf("FAILED: %s: %s\n", what.c_str(), fault.c_str());
}

CheckpointInfo infoOf(uint64_t version) {
  CheckpointInfo info;
  info.step = int64_t(version);
  info.samples = int64_t(version) * 32;
  info.seed = ~version;
  info.notes["shuffle"] = "\"7\"\n";
  return info;
}

std::string saveAs(ModelSession &model, const std::string &directory, uint64_t version) {
  model.fill(version);
  std::unique_ptr<CheckpointWriter> writer;
  CheckpointOptions options;
  options.blockBytes = version % 2 ? 4096 : 0;
  Status status = CheckpointWriter::open(model.session, directory, options, writer);
  if (!status.ok())
    return status.text();
  status = writer->save(infoOf(version));
  // What the next steps write must not reach the file.
  model.poison();
  if (status.ok())
    status = writer->finish();
  return status.text();
}

std::string loadAndCompare(ModelSession &model, const std::string &directory, uint64_t version) {
  model.poison();
  CheckpointInfo info;
  std::vector<std::string> warnings;
  Status status = loadCheckpoint(model.session, directory, {}, info, warnings);
  if (!status.ok())
    return status.text();
  CheckpointInfo expected = infoOf(version);
  if (info.step != expected.step || info.samples != expected.samples ||
      info.seed != expected.seed || info.notes != expected.notes)
    return "the numbers beside the tensors differ";
  if (!warnings.empty())
    return warnings[0];
  return model.compare(version);
}

/// Files hold every element once, and no rank much more than its share.
std::string checkBalance(const Layout &layout, const ProgramView &p) {
  std::vector<std::vector<CheckpointPiece>> plan = planCheckpoint(p);
  uint64_t total = 0, most = 0, largest = 0;
  for (const std::vector<CheckpointPiece> &pieces : plan) {
    uint64_t bytes = 0;
    for (const CheckpointPiece &piece : pieces) {
      bytes += piece.bytes;
      largest = std::max(largest, piece.bytes);
    }
    total += bytes;
    most = std::max(most, bytes);
  }
  uint64_t expected = 0;
  for (const State &state : p.States()) {
    uint64_t bytes = dtypeBytes(state.dtype);
    for (int64_t size : p.ints(state.shape))
      bytes *= uint64_t(size);
    expected += bytes;
  }
  if (total != expected)
    return std::to_string(total) + " bytes are written, not " + std::to_string(expected);
  if (layout.style == Style::Replicated && most > total / plan.size() + largest)
    return "one rank writes " + std::to_string(most) + " of " + std::to_string(total) + " bytes";
  return {};
}

std::string folderOf(const std::string &directory, const char *kind, size_t index) {
  return directory + "/" + kind + "-" + std::to_string(index);
}

/// The fixed layouts, and random ones after them in full volume.
std::vector<Layout> allLayouts() {
  std::vector<Layout> result = layouts();
  if (!std::getenv("WEFT_TEST_FULL"))
    return result;
  std::mt19937_64 random(2024);
  while (result.size() < 40) {
    std::vector<int64_t> mesh;
    for (int64_t left = 8; left > 1 && mesh.size() < 3;) {
      mesh.push_back(int64_t(random() % uint64_t(left)) + 1);
      left /= mesh.back();
    }
    result.push_back({"random " + std::to_string(result.size()), mesh, Style::Random, random()});
  }
  return result;
}

void saveAll(const std::string &directory, const std::vector<Layout> &list) {
  for (size_t i = 0; i < list.size(); ++i) {
    ModelSession model(list[i], modelTensors());
    check(list[i].name + " opens", model.error);
    check(list[i].name + " writes its share", checkBalance(list[i], model.session->view()));
    check(list[i].name + " saves", saveAs(model, folderOf(directory, "inproc", i), i + 1));
  }
}

void loadAll(const std::string &directory, const char *kind, const std::vector<Layout> &from,
             const std::vector<Layout> &to) {
  for (const Layout &layout : to) {
    ModelSession model(layout, modelTensors());
    check(layout.name + " opens", model.error);
    for (size_t i = 0; i < from.size(); ++i)
      if (isDirectory(folderOf(directory, kind, i)))
        check(layout.name + " loads " + kind + " " + from[i].name,
              loadAndCompare(model, folderOf(directory, kind, i), i + 1));
  }
}

/// A shard that many ranks hold is cut between them if it is large.
void cutShards(const std::string &directory) {
  std::vector<Tensor> tensors{{"huge", DType::F32, {{1}, {3, 7}, {155555}}},
                              {"small", DType::F32, {{5}}}};
  Layout four{"dp=4, replicated", {4}, Style::Replicated, 0};
  Layout odd{"tp=3, factors", {3}, Style::Factors, 0};
  {
    ModelSession model(four, tensors);
    check("large tensors balance", checkBalance(four, model.session->view()));
    size_t pieces = 0;
    for (const auto &rank : planCheckpoint(model.session->view()))
      pieces += rank.size();
    check("large tensors are cut", pieces > 3 ? "" : std::to_string(pieces) + " pieces");
    check("large tensors save", saveAs(model, directory + "/cut", 1));
    check("large tensors load", loadAndCompare(model, directory + "/cut", 1));
  }
  ModelSession model(odd, tensors);
  check("large tensors load on " + odd.name, loadAndCompare(model, directory + "/cut", 1));
}

/// A failure of one process is one of all, and the next save goes on.
std::string failOnOneRank(ModelSession &model, const std::string &directory) {
  bool full = model.session->firstRank == 1;
  CheckpointOptions options;
  options.hook = [&](const char *operation, const std::string &) {
    return full && std::strcmp(operation, "write") == 0 ? ENOSPC : 0;
  };
  std::unique_ptr<CheckpointWriter> writer;
  Status status = CheckpointWriter::open(model.session, directory, options, writer);
  if (!status.ok())
    return status.text();
  model.fill(1);
  status = writer->save(infoOf(1));
  if (!status.ok())
    return "save: " + status.text();
  std::string text = writer->finish().text();
  if (text.find("rank 1: ") == std::string::npos || text.find("No space left") == std::string::npos)
    return "rank 1 fails with: " + text;
  full = false;
  model.fill(2);
  status = writer->save(infoOf(2));
  if (status.ok())
    status = writer->finish();
  return status.ok() ? loadAndCompare(model, directory, 2) : status.text();
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  std::string mode = argv[1], directory = argv[2];
  std::vector<Layout> list = layouts();
  int least = 10;
  if (mode == "pairs") {
    list = allLayouts();
    saveAll(directory, list);
    loadAll(directory, "inproc", list, list);
    cutShards(directory);
    least = 150;
  } else if (mode == "save") {
    saveAll(directory, list);
  } else if (mode == "load") {
    loadAll(directory, "mpi", list, list);
    least = 64;
  } else if (mode == "mpi" && argc == 4) {
    size_t index = size_t(std::atoi(argv[3]));
    ModelSession model(list[index], modelTensors(), "mpi");
    check(list[index].name + " opens", model.error);
    if (!model.error.empty())
      return 1;
    for (size_t i = 0; i < list.size(); ++i)
      check(list[index].name + " loads " + list[i].name,
            loadAndCompare(model, folderOf(directory, "inproc", i), i + 1));
    std::string folder = folderOf(directory, "mpi", index);
    check(list[index].name + " saves", saveAs(model, folder, index + 1));
    check("a full disk on rank 1", failOnOneRank(model, folder + "-full"));
    check(list[index].name + " loads its own", loadAndCompare(model, folder, index + 1));
  } else {
    return 2;
  }
  std::printf("%s: %d cases, %d failures\n", mode.c_str(), cases, failures);
  if (cases < least) {
    std::printf("FAILED: expected at least %d cases\n", least);
    return 1;
  }
  return failures != 0;
}
