// What loading converts, refuses and leaves alone; what saving says of failures.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckpointModel.h"
#include "checkpoint/CheckpointManifest.h"
#include "files/Safetensors.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace weft::runtime;
using namespace weft::runtime::test;
namespace fs = std::filesystem;

namespace {

const Layout kOne{"one rank", {1}, Style::Replicated, 0};
const Layout kTwo{"dp=2, sharded", {2}, Style::Sharded, 0};

class Checkpoint : public ::testing::Test {
protected:
  Checkpoint() {
    folder = (fs::temp_directory_path() / "weft-checkpoint-XXXXXX").string();
    if (!mkdtemp(folder.data()))
      folder.clear();
  }
  ~Checkpoint() override { fs::remove_all(folder); }

  void save(const std::vector<Tensor> &tensors, int64_t step = 1) {
    ModelSession model(kTwo, tensors);
    model.fill(uint64_t(step));
    std::unique_ptr<CheckpointWriter> writer;
    Status status = CheckpointWriter::open(model.session, folder, {}, writer);
    ASSERT_TRUE(status.ok()) << status.text();
    CheckpointInfo info;
    info.step = step;
    status = writer->save(info);
    ASSERT_TRUE(status.ok()) << status.text();
    status = writer->finish();
    ASSERT_TRUE(status.ok()) << status.text();
  }
  std::string load(ModelSession &model, const LoadOptions &options = {}) {
    model.poison();
    warnings.clear();
    return loadCheckpoint(model.session, folder, options, info, warnings).text();
  }

  std::string folder;
  CheckpointInfo info;
  std::vector<std::string> warnings;
};

TEST_F(Checkpoint, TakesTheMasterCopyWhereTheParameterIsRounded) {
  save({{"w", DType::BF16, {{5}}}, {"w#master", DType::F32, {{5}}}});
  ModelSession both(kTwo, {{"w", DType::BF16, {{5}}}, {"w#master", DType::F32, {{5}}}});
  EXPECT_EQ(load(both), "");
  EXPECT_EQ(both.compare(1), "");
  ModelSession full(kOne, {{"w", DType::F32, {{5}}}});
  EXPECT_EQ(load(full), "");
  EXPECT_EQ(full.compare(1), "");
  ModelSession half(kOne, {{"w", DType::F16, {{5}}}});
  EXPECT_EQ(load(half), "");
  EXPECT_EQ(half.compare(1), "");
}

TEST_F(Checkpoint, PrefersTheMasterCopyToTheRoundedParameter) {
  // A value that bf16 cannot hold, in the master copy only.
  std::vector<Tensor> tensors{{"w", DType::BF16, {{1}}}, {"w#master", DType::F32, {{1}}}};
  ModelSession model(kOne, tensors);
  const ProgramView &p = model.session->view();
  float exact = 1.00001f;
  uint16_t rounded = 0x3f80;
  RankContext &rank = *model.session->ranks[0];
  ASSERT_TRUE(rank.device().upload(rank.buffer(p.States()[0]).offset, &rounded, 2).ok());
  ASSERT_TRUE(rank.device().upload(rank.buffer(p.States()[1]).offset, &exact, 4).ok());
  std::unique_ptr<CheckpointWriter> writer;
  ASSERT_TRUE(CheckpointWriter::open(model.session, folder, {}, writer).ok());
  ASSERT_TRUE(writer->save({}).ok());
  ASSERT_TRUE(writer->finish().ok());
  ModelSession full(kOne, {{"w", DType::F32, {{1}}}});
  EXPECT_EQ(load(full), "");
  float found = 0;
  EXPECT_EQ(weft_get_state(full.session, "w", &found, 4, nullptr), 0);
  EXPECT_EQ(found, exact);
}

TEST_F(Checkpoint, MakesMissingMasterCopiesOfParameters) {
  save({{"w", DType::F32, {{5}}}});
  ModelSession model(kTwo, {{"w", DType::BF16, {{5}}}, {"w#master", DType::F32, {{5}}}});
  EXPECT_EQ(load(model), "");
  EXPECT_EQ(model.compare(1), "");
}

TEST_F(Checkpoint, ListsAllThatDoesNotFitAndChangesNothing) {
  save({{"a", DType::F32, {{5}}},
        {"b", DType::F32, {{5}}},
        {"c", DType::I32, {{5}}},
        {"more", DType::F32, {{2}, {3}}}});
  ModelSession model(kOne, {{"a", DType::F32, {{5}}},
                            {"b", DType::F32, {{6}}},
                            {"c", DType::F32, {{5}}},
                            {"none", DType::F32, {{1}}},
                            {"none#exp_avg", DType::F32, {{1}}}});
  std::string text = load(model);
  for (const char *part :
       {"'b' is 6 f32 in this executable, 5 f32 in the checkpoint",
        "'c' is 5 f32 in this executable, 5 i32 in the checkpoint", "'none' (1 f32) is missing",
        "'none#exp_avg' (1 f32) is missing", "'more' (2x3 f32) is not a state of this executable"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_EQ(text.find("'a'"), std::string::npos) << text;
  uint32_t bits = 0;
  float values[5];
  EXPECT_EQ(weft_get_state(model.session, "a", values, sizeof values, nullptr), 0);
  std::memcpy(&bits, values, 4);
  EXPECT_EQ(bits, 0xa5a5a5a5u);
}

TEST_F(Checkpoint, InferenceIgnoresOptimizerState) {
  std::vector<Tensor> trained{
      {"w", DType::F32, {{5}}}, {"w#exp_avg", DType::F32, {{5}}}, {"weft.step", DType::I64, {}}};
  save(trained);
  ModelSession inference(kOne, {{"w", DType::F32, {{5}}}});
  EXPECT_EQ(load(inference), "");
  EXPECT_EQ(inference.compare(1), "");
  // Another optimizer must not drop it silently.
  ModelSession other(
      kOne,
      {{"w", DType::F32, {{5}}}, {"w#sum", DType::F32, {{5}}}, {"weft.step", DType::I64, {}}});
  std::string text = load(other);
  EXPECT_NE(text.find("'w#sum' (5 f32) is missing"), std::string::npos) << text;
  EXPECT_NE(text.find("'w#exp_avg' (5 f32) is not a state"), std::string::npos) << text;
  // Unless only the parameters are wanted: the others keep their values.
  LoadOptions options;
  options.parametersOnly = true;
  info.step = 77;
  EXPECT_EQ(load(other, options), "");
  EXPECT_EQ(info.step, 77);
  EXPECT_NE(other.compare(1).find("'w#sum'"), std::string::npos);
  uint32_t bits = 0;
  float values[5];
  EXPECT_EQ(weft_get_state(other.session, "w#sum", values, sizeof values, nullptr), 0);
  std::memcpy(&bits, values, 4);
  EXPECT_EQ(bits, 0xa5a5a5a5u);
}

TEST_F(Checkpoint, ConstantsAreTheExecutablesOwn) {
  save({{"w", DType::F32, {{5}}}, {"constant.0", DType::F32, {{3}}, true}});
  ModelSession model(kOne, {{"constant.0", DType::I8, {{4}}, true},
                            {"constant.1", DType::I8, {{2}}, true},
                            {"w", DType::F32, {{5}}}});
  EXPECT_EQ(load(model), "");
  // They were poisoned, so loading has put them back.
  char bytes[4];
  EXPECT_EQ(weft_get_state(model.session, "constant.0", bytes, 4, nullptr), 0);
  EXPECT_EQ(std::string(bytes, 4), "\7\7\7\7");
  std::ifstream manifest(folder + "/step-00000001/manifest.json");
  std::string text((std::istreambuf_iterator<char>(manifest)), {});
  EXPECT_EQ(text.find("constant"), std::string::npos);
}

TEST_F(Checkpoint, AStepThatIsAskedForIsTheOneThatLoads) {
  std::vector<Tensor> tensors{{"w", DType::F32, {{5}}}};
  save(tensors, 3);
  save(tensors, 5);
  ModelSession model(kOne, tensors);
  EXPECT_EQ(load(model), "");
  EXPECT_EQ(info.step, 5);
  LoadOptions options;
  options.step = 3;
  EXPECT_EQ(load(model, options), "");
  EXPECT_EQ(model.compare(3), "");
  options.step = 4;
  EXPECT_EQ(load(model, options),
            "there is no checkpoint of step 4 in '" + folder + "'; it has those of 5, 3");
  // One folder may be named as well.
  std::string whole = folder;
  folder += "/step-00000003";
  EXPECT_EQ(load(model), "");
  EXPECT_EQ(model.compare(3), "");
  folder = whole + "/nothing";
  EXPECT_NE(load(model).find("there is no checkpoint folder"), std::string::npos);
  folder = whole;
}

TEST_F(Checkpoint, NewestMeansSavedLast) {
  std::vector<Tensor> tensors{{"w", DType::F32, {{5}}}};
  save(tensors, 10);
  save(tensors, 4); // training went back
  ModelSession model(kOne, tensors);
  EXPECT_EQ(load(model), "");
  EXPECT_EQ(info.step, 4);
  std::ifstream latest(folder + "/latest");
  std::string name;
  latest >> name;
  EXPECT_EQ(name, "step-00000004");
}

TEST_F(Checkpoint, FailuresOfAWriteAreToldAtTheNextSaveAndTheEnd) {
  std::vector<Tensor> tensors{{"w", DType::F32, {{5}}}};
  ModelSession model(kTwo, tensors);
  bool full = true;
  CheckpointOptions options;
  options.hook = [&](const char *operation, const std::string &path) {
    return full && std::strcmp(operation, "write") == 0 ? ENOSPC : 0;
  };
  std::unique_ptr<CheckpointWriter> writer;
  ASSERT_TRUE(CheckpointWriter::open(model.session, folder, options, writer).ok());
  model.fill(1);
  info.step = 1;
  EXPECT_TRUE(writer->save(info).ok());
  info.step = 2;
  std::string text = writer->save(info).text();
  for (const char *part : {"checkpoint of step 1: ", "safetensors' cannot be written: ",
                           "No space left on device", "there is no complete checkpoint yet"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  text = writer->finish().text();
  EXPECT_NE(text.find("checkpoint of step 2: "), std::string::npos) << text;
  full = false;
  info.step = 3;
  EXPECT_TRUE(writer->save(info).ok());
  EXPECT_TRUE(writer->finish().ok());
  EXPECT_EQ(writer->lastCommitted(), folder + "/step-00000003");
  full = true;
  info.step = 4;
  EXPECT_TRUE(writer->save(info).ok());
  text = writer->finish().text();
  EXPECT_NE(text.find("the last complete one is '" + folder + "/step-00000003'"), std::string::npos)
      << text;
  EXPECT_EQ(load(model), "");
  EXPECT_EQ(info.step, 3);
  // A folder that vanishes, as a mount does, is not made anew elsewhere.
  full = false;
  fs::remove_all(folder);
  text = writer->save(info).text();
  EXPECT_NE(text.find("has vanished"), std::string::npos) << text;
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(Checkpoint, OneJobSavesInAFolder) {
  ModelSession model(kOne, {{"w", DType::F32, {{5}}}});
  std::unique_ptr<CheckpointWriter> writer, second;
  ASSERT_TRUE(CheckpointWriter::open(model.session, folder, {}, writer).ok());
  std::string text = CheckpointWriter::open(model.session, folder, {}, second).text();
  EXPECT_NE(text.find("another job saves its checkpoints"), std::string::npos) << text;
  EXPECT_NE(text.find("(rank 0 is pid " + std::to_string(getpid()) + " on "), std::string::npos)
      << text;
  writer.reset();
  EXPECT_TRUE(CheckpointWriter::open(model.session, folder, {}, second).ok());
  second.reset();
  std::ofstream(folder + "/file") << "x";
  text = CheckpointWriter::open(model.session, folder + "/file", {}, second).text();
  EXPECT_NE(text.find("cannot be made: File exists"), std::string::npos) << text;
}

TEST_F(Checkpoint, AFolderWithFilesOfOthersStays) {
  ModelSession model(kOne, {{"w", DType::F32, {{5}}}});
  CheckpointOptions options;
  options.keep = 1;
  std::unique_ptr<CheckpointWriter> writer;
  ASSERT_TRUE(CheckpointWriter::open(model.session, folder, options, writer).ok());
  CheckpointInfo info;
  for (info.step = 1; info.step <= 3; ++info.step) {
    ASSERT_TRUE(writer->save(info).ok());
    Status status = writer->finish();
    ASSERT_TRUE(status.ok()) << status.text();
    if (info.step == 1)
      std::ofstream(folder + "/step-00000001/exported.onnx") << "x";
  }
  EXPECT_TRUE(fs::exists(folder + "/step-00000001/exported.onnx"));
  EXPECT_TRUE(fs::exists(folder + "/step-00000001/manifest.json"));
  EXPECT_FALSE(fs::exists(folder + "/step-00000002"));
  writer.reset();
  EXPECT_TRUE(CheckpointWriter::open(model.session, folder, options, writer).ok());
}

TEST_F(Checkpoint, BoxesLocateWhatTheyHold) {
  // Against plain enumeration, for boxes with gaps in every dimension.
  for (uint64_t seed = 0; seed < 500; ++seed) {
    uint64_t bits = seed * 0x9e3779b97f4a7c15ull;
    CheckpointBox box;
    for (unsigned d = 0; d < seed % 4; ++d, bits = bits >> 9) {
      int64_t extent = int64_t(bits % 5) + 1;
      int64_t size = int64_t(bits / 5 % uint64_t(extent)) + 1;
      box.view.push_back(extent);
      box.size.push_back(size);
      box.start.push_back(int64_t(bits / 25 % uint64_t(extent - size + 1)));
    }
    int64_t total = box.numGlobal(), local = 0;
    std::vector<int64_t> expected; // -1 = outside
    for (int64_t g = 0; g < total; ++g) {
      int64_t rest = g;
      bool inside = true;
      for (size_t d = box.view.size(); d-- > 0; rest /= box.view[d]) {
        int64_t i = rest % box.view[d];
        inside &= i >= box.start[d] && i < box.start[d] + box.size[d];
      }
      expected.push_back(inside ? local++ : -1);
    }
    ASSERT_EQ(local, box.count());
    for (int64_t g = 0; g < total; ++g) {
      CheckpointBox::Place place = box.locate(g);
      ASSERT_EQ(place.inside, expected[size_t(g)] >= 0);
      ASSERT_GE(place.count, 1);
      ASSERT_LE(g + place.count, total);
      for (int64_t i = 0; i < place.count; ++i)
        ASSERT_EQ(expected[size_t(g + i)], place.inside ? place.local + i : -1) << "seed " << seed;
    }
  }
}

TEST_F(Checkpoint, JsonTextIsUtf8) {
  EXPECT_TRUE(isUtf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82"));
  for (const char *bad :
       {"\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff"})
    EXPECT_FALSE(isUtf8(bad)) << bad;
  EXPECT_EQ(quoteJson("a\"\\\n\xc3\xa9"), "\"a\\\"\\\\\\u000a\xc3\xa9\"");
}

/// One of two files, one of which was not written, and one tensor.
CheckpointManifest sampleManifest() {
  CheckpointManifest manifest;
  manifest.info.step = 12;
  manifest.info.seed = ~uint64_t(0);
  manifest.info.notes["a\"b"] = "\n";
  manifest.mesh = {{"dp", 2}};
  manifest.blockBytes = 4096;
  manifest.files = {{100, {1}}, {0, {}}};
  CheckpointManifest::Box box;
  box.view = {3, 4};
  box.start = {0, 0};
  box.size = {3, 4};
  box.offset = 4;
  manifest.tensors = {{"t", DType::F64, true, {12}, {box}}};
  return manifest;
}

TEST_F(Checkpoint, ManifestsComeBackAsWritten) {
  CheckpointManifest manifest = sampleManifest(), found;
  std::string text = writeManifest(manifest);
  Status status = parseManifest(text, found);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(writeManifest(found), text);
  // No single bit may change unseen.
  for (size_t i = 0; i < text.size() * 8; ++i) {
    std::string flipped = text;
    flipped[i / 8] = char(flipped[i / 8] ^ (1 << i % 8));
    EXPECT_FALSE(parseManifest(flipped, found).ok()) << "bit " << i;
  }
}

/// Each edit of the text, with a checksum that is right again, is told for what it is.
TEST_F(Checkpoint, EditedManifestsAreTold) {
  std::string text = writeManifest(sampleManifest());
  std::string body = text.substr(text.find('\n') + 1);
  auto fault = [](const std::string &rest) {
    char line[64];
    std::snprintf(line, sizeof line, "{\"weft_checkpoint\":1,\"hash\":\"%016llx\",\n",
                  static_cast<unsigned long long>(hashBytes(rest.data(), rest.size())));
    CheckpointManifest found;
    return parseManifest(line + rest, found).text();
  };
  EXPECT_EQ(fault(body), "");
  EXPECT_EQ(fault(body.substr(0, body.size() - 2)), "the manifest is not JSON");
  EXPECT_EQ(fault("\"step\":" + std::string(100, '[') + "}"), "the manifest is nested too deeply");
  struct Edit {
    const char *from, *to, *told;
  };
  std::string dims = "\"shape\":[12";
  for (int i = 0; i < 100; ++i)
    dims += ",1";
  for (const Edit &edit : {
           Edit{"\"step\":12", "\"steps\":12", "top level lacks 'step'"},
           Edit{"\"step\":12", "\"step\":-1",
                "top level has a 'step' that is no number of at least 0"},
           Edit{"\"step\":12", "\"step\":9007199254740993",
                "top level has a 'step' of 9007199254740993, above 9007199254740992"},
           Edit{"\"samples\":0", "\"samples\":9223372036854775807",
                "top level has a 'samples' of 9223372036854775807, above 9007199254740992"},
           Edit{"\"ordinal\":0", "\"ordinal\":9223372036854775807",
                "top level has a 'ordinal' of 9223372036854775807, above 9007199254740992"},
           Edit{"\"seed\":18446744073709551615", "\"seed\":\"1\"",
                "top level has no number 'seed'"},
           Edit{"\"model\":\"\"", "\"model\":1", "top level has no string 'model'"},
           Edit{"\"block_bytes\":4096", "\"block_bytes\":1",
                "top level has a strange 'block_bytes'"},
           Edit{"\"notes\":{", "\"notes\":[],\"x\":{", "top level has strange 'notes'"},
           Edit{"\"notes\":{", "\"notes\":{\"n\":1,", "top level has a note that is not a string"},
           Edit{"\"mesh\":[", "\"mesh\":[1,", "mesh is not an object"},
           Edit{"\"mesh\":[", "\"mesh\":1,\"x\":[", "top level has no list 'mesh'"},
           Edit{"\"bytes\":100", "\"bytes\":10000",
                "file 0 has another number of checksums than blocks"},
           Edit{"\"hashes\":\"0000", "\"hashes\":\"000X",
                "file 0 has a checksum that is not hexadecimal"},
           Edit{"\"F64\"", "\"F7\"", "tensor 0 has the unknown dtype \"F7\""},
           Edit{"\"optimizer\"", "\"other\"", "tensor 0 has the unknown class \"other\""},
           Edit{"\"shape\":[12", dims.c_str(), "tensor 0 has too many values in 'shape'"},
           Edit{"\"shape\":[12", "\"shape\":[9223372036854775807", "tensor 0 is too large"},
           Edit{"\"view\":[3,4]", "\"view\":[3,5]",
                "box 0 of tensor \"t\" is not of the tensor's shape"},
           Edit{"\"start\":[0,0]", "\"start\":[1,0]",
                "box 0 of tensor \"t\" reaches outside the tensor"},
           Edit{"\"file\":0", "\"file\":2",
                "box 0 of tensor \"t\" is in a file that is not listed"},
           Edit{"\"offset\":4,", "\"offset\":40,",
                "box 0 of tensor \"t\" reaches outside its file"},
           Edit{"\"size\":[3,4]", "\"size\":[3,2]",
                "tensor 0 (\"t\") has 12 elements, its boxes 6"},
       }) {
    std::string edited = body;
    size_t at = edited.find(edit.from);
    ASSERT_NE(at, edited.npos) << edit.from;
    EXPECT_EQ(fault(edited.replace(at, std::strlen(edit.from), edit.to)),
              std::string("the manifest's ") + edit.told)
        << edit.to;
  }
}

} // namespace
