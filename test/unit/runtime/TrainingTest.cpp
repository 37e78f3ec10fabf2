// Order of samples, batches on every layout, and a training loop that is quiet.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "../../conformance/runtime/TrainingSample.h"
#include "base/Philox.h"
#include "training/BatchFeed.h"
#include "training/Replicas.h"
#include "training/StepLimit.h"

#include "weft/runtime/Training.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace weft::runtime;

/// Allocations of this process through C++ (Allocations.cpp).
long countAllocations();

namespace {

using sample::kBatch;
using sample::kSequence;
using sample::TrainingSample;

TEST(StepLimit, FollowsTheSlowestStep) {
  StepLimit limit;
  for (int64_t step = 0; step < StepLimit::kSteps; ++step) {
    EXPECT_EQ(limit.seconds(), 600) << step;
    limit.took(0.01);
  }
  EXPECT_EQ(limit.seconds(), 30);
  limit.took(1.5);
  EXPECT_EQ(limit.seconds(), 30);
  limit.took(4);
  EXPECT_EQ(limit.seconds(), 80);
  limit.took(0.01); // one that was slow may be again
  EXPECT_EQ(limit.seconds(), 80);
  limit.took(1000);
  EXPECT_EQ(limit.seconds(), 600);
}

TEST(Replicas, NameThoseThatAreFewer) {
  int64_t compared = 0;
  auto differenceIn = [&](std::vector<Replicas::Print> prints, std::vector<std::string> states) {
    return Replicas::differenceIn(prints, states, compared);
  };
  // Four ranks: 'w' on all of them, 'm' in halves that two hold each, 's' on the last one alone.
  std::vector<Replicas::Print> prints = {{1, 10}, {2, 20}, {0, 0}, {1, 10}, {3, 30}, {0, 0},
                                         {1, 10}, {2, 20}, {0, 0}, {1, 10}, {3, 30}, {4, 40}};
  EXPECT_EQ(differenceIn(prints, {"w", "m", "s"}), "");
  EXPECT_EQ(compared, 2);
  prints[3].bytes = 11;
  EXPECT_EQ(
      differenceIn(prints, {"w", "m", "s"}),
      "replicas of state 'w' differ: rank 1 has other bytes than rank 0, rank 2, rank 3 (1 of "
      "2 states that several ranks hold differ)");
  // Of as many the first is taken to be right.
  prints[3].bytes = 10;
  prints[1].bytes = 21;
  EXPECT_EQ(differenceIn(prints, {"w", "m", "s"}),
            "replicas of state 'm' differ: rank 2 has other bytes than rank 0 (1 of 2 states that "
            "several ranks hold differ)");
  prints[0].bytes = 12;
  prints[9].bytes = 13;
  EXPECT_EQ(differenceIn(prints, {"w", "m", "s"}),
            "replicas of state 'w' differ: rank 0, rank 3 have other bytes than rank 1, rank 2 (2 "
            "of 2 states that several ranks hold differ)");
  EXPECT_EQ(differenceIn({{1, 1}, {2, 2}}, {"w"}), "");
  EXPECT_EQ(compared, 0);
}

TEST(Waited, CountsLittleOfALongPause) {
  Waited waited;
  std::this_thread::sleep_for(std::chrono::milliseconds(1600));
  EXPECT_EQ(waited.seconds(), 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GE(waited.seconds(), 1.02);
}

// The published known answers of Philox4x32-10.
TEST(Order, PhiloxIsPhilox) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t all = 0xffffffff;
  EXPECT_EQ(philox({all, all, all, all}, {all, all}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Order, EveryShuffleIsABijection) {
  std::mt19937_64 random(11);
  std::vector<uint64_t> sizes;
  for (uint64_t size = 1; size <= 300; ++size)
    sizes.push_back(size);
  for (int i = 0; i < 40; ++i)
    sizes.push_back(1 + random() % 50000);
  for (uint64_t size : sizes) {
    Permutation permutation(size, random(), random());
    std::vector<bool> seen(size);
    for (uint64_t i = 0; i < size; ++i) {
      uint64_t sample = permutation(i);
      ASSERT_LT(sample, size);
      ASSERT_FALSE(seen[sample]) << size;
      seen[sample] = true;
    }
  }
  // Sizes that cannot be walked through: in range, and no two alike.
  for (uint64_t size : {uint64_t(1) << 40, (uint64_t(1) << 62) + 12345}) {
    Permutation permutation(size, 3, 4);
    std::vector<uint64_t> samples;
    for (uint64_t i = 0; i < 20000; ++i)
      samples.push_back(permutation(size - 1 - i));
    std::sort(samples.begin(), samples.end());
    EXPECT_LT(samples.back(), size);
    EXPECT_EQ(std::unique(samples.begin(), samples.end()), samples.end());
  }
}

// Every sample is as likely at every place; 5 standard deviations of slack.
TEST(Order, ShufflesAreEven) {
  for (uint64_t size : {2, 3, 7, 16}) {
    const int trials = 20000;
    std::vector<int> counts(size * size);
    for (int seed = 0; seed < trials; ++seed) {
      Permutation permutation(size, uint64_t(seed), 0);
      for (uint64_t i = 0; i < size; ++i)
        ++counts[i * size + permutation(i)];
    }
    double p = 1.0 / double(size);
    double slack = 5 * std::sqrt(trials * p * (1 - p));
    for (int count : counts)
      EXPECT_NEAR(count, trials * p, slack) << "size " << size;
  }
}

TEST(Order, EpochsWrapAndDiffer) {
  SampleOrder plain(10, false, 0), shuffled(10, true, 5), other(10, true, 6);
  std::vector<uint64_t> epochs[3], second;
  for (uint64_t p = 0; p < 30; ++p) {
    EXPECT_EQ(plain(p), p % 10);
    epochs[p / 10].push_back(shuffled(p));
    second.push_back(other(p));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
  EXPECT_NE(epochs[0], std::vector<uint64_t>(second.begin(), second.begin() + 10));
  for (std::vector<uint64_t> &epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    for (uint64_t i = 0; i < 10; ++i)
      EXPECT_EQ(epoch[i], i);
  }
}

/// A session of the training sample on one layout, and files for it.
class Sample {
public:
  Sample(int64_t dp, int64_t tp, int64_t stages = 1) : blob(TrainingSample(dp, tp, stages).make()) {
    weft_options options;
    weft_options_init(&options);
    options.threads_per_rank = 1;
    weft_status status{};
    weft_open(blob.data(), blob.size(), sample::kKernels, sample::kNumKernels, &options, &session,
              &status);
    EXPECT_EQ(status.code, 0) << status.text;
    char name[] = "/tmp/weft-training-XXXXXX";
    folder = mkdtemp(name);
  }
  ~Sample() {
    weft_close(session);
    for (const std::string &path : files)
      unlink(path.c_str());
    rmdir(folder.c_str());
  }

  template <typename T>
  std::string file(const std::string &name, const std::vector<T> &values,
                   const std::string &header = {}) {
    std::string path = folder + "/" + name;
    std::ofstream out(path, std::ios::binary);
    out << header;
    out.write(reinterpret_cast<const char *>(values.data()),
              std::streamsize(values.size() * sizeof(T)));
    files.push_back(path);
    return path;
  }

  /// Global values of an input of "step", from the ranks' buffers.
  std::vector<int64_t> input(const std::string &name) {
    std::vector<int64_t> values(kBatch * kSequence, -1);
    const ProgramView &p = session->view();
    for (const Port &port : p.Ports().slice(p.Programs()[0].inputs))
      for (auto &rank : session->ranks)
        if (p.string(port.name) == name) {
          HostCopy shard = rank->shard(port);
          EXPECT_TRUE(shard.download().ok());
          rank->map(port.placement).forEachRun([&](const ShardMap::Run &run) {
            for (int64_t i = 0; i < run.count; ++i) {
              const char *at = shard.data() + (run.local + i) * dtypeBytes(port.dtype);
              values[size_t(run.global + i)] = port.dtype == DType::I32
                                                   ? *reinterpret_cast<const int32_t *>(at)
                                                   : *reinterpret_cast<const int64_t *>(at);
            }
          });
        }
    return values;
  }

  weft_session *session = nullptr;
  std::string folder;
  std::vector<std::string> files;

private:
  std::vector<uint8_t> blob;
};

BatchFeed::Roles roles(int64_t vocabulary = 256) { return {"tokens", "labels", -100, vocabulary}; }

// Position p is sample p mod n (or what the shuffle says), sample i begins at
// token i * sequence, labels one later, wherever the shards lie.
TEST(BatchFeed, EveryLayoutSeesTheSameTokens) {
  const int64_t samples = 10;
  std::vector<uint16_t> tokens;
  for (int64_t i = 0; i < samples * kSequence + 5; ++i)
    tokens.push_back(uint16_t(i * 7 % 251));
  for (auto [dp, tp] : {std::pair{1, 1}, {2, 1}, {4, 1}, {2, 2}, {1, 4}})
    for (bool shuffled : {false, true}) {
      Sample s(dp, tp);
      BatchFeed feed(*s.session, "step", roles());
      ASSERT_TRUE(feed.addTokens(s.file("tokens.bin", tokens)).ok());
      ASSERT_TRUE(feed.finish().ok());
      EXPECT_EQ(feed.samples(), samples);
      EXPECT_EQ(feed.batch(), kBatch);
      EXPECT_EQ(feed.elementsPerBatch(), kBatch * kSequence);
      SampleOrder order(samples, shuffled, 42);
      if (shuffled)
        feed.shuffle(42);
      for (int64_t step = 0; step < 7; ++step) {
        feed.start(step * kBatch);
        ASSERT_TRUE(feed.take().ok());
        ASSERT_TRUE(feed.putAll().ok());
        std::vector<int64_t> inputs = s.input("tokens"), labels = s.input("labels");
        for (int64_t i = 0; i < kBatch * kSequence; ++i) {
          uint64_t position = uint64_t(step * kBatch + i / kSequence);
          uint64_t at = order(position) * kSequence + uint64_t(i % kSequence);
          ASSERT_EQ(inputs[size_t(i)], tokens[at]);
          ASSERT_EQ(labels[size_t(i)], tokens[at + 1]);
        }
      }
    }
}

TEST(BatchFeed, FillsUpWithLabelsThatDoNotCount) {
  Sample s(4, 1);
  std::vector<int64_t> tokens, labels;
  for (int64_t i = 0; i < 8 * kSequence; ++i) {
    tokens.push_back(i % 256);
    labels.push_back(i % 5 == 0 ? -100 : i % 7 == 0 ? 3 : i % 256);
  }
  std::string header = npyHeader(DType::I64, {8, kSequence});
  BatchFeed::Roles ignoring = roles();
  ignoring.ignored = 3;
  BatchFeed feed(*s.session, "step", ignoring);
  ASSERT_TRUE(feed.addArray("tokens", s.file("x.npy", tokens, header)).ok());
  ASSERT_TRUE(feed.addArray("labels", s.file("y.npy", labels, header)).ok());
  ASSERT_TRUE(feed.finish().ok());
  ASSERT_TRUE(feed.canFillUp() && feed.countsLabels());
  for (int64_t first : {0, 6}) {
    feed.start(first, 8);
    ASSERT_TRUE(feed.take().ok());
    ASSERT_TRUE(feed.putAll().ok());
    int64_t counted = 0;
    std::vector<int64_t> found = s.input("labels");
    for (int64_t i = 0; i < kBatch * kSequence; ++i) {
      int64_t at = first * kSequence + i;
      int64_t expected = at < 8 * kSequence ? labels[size_t(at)] : -100;
      EXPECT_EQ(found[size_t(i)], expected);
      counted += expected != -100 && expected != 3;
    }
    EXPECT_EQ(feed.countedHere(), double(counted));
  }
}

TEST(BatchFeed, SaysWhatIsWrong) {
  Sample s(2, 1);
  std::vector<int64_t> values(10 * kSequence, 1);
  auto npy = [&](const char *name, DType type, std::vector<int64_t> shape) {
    uint64_t bytes = dtypeBytes(type);
    for (int64_t size : shape)
      bytes *= uint64_t(size);
    std::vector<int64_t> held(values.begin(), values.begin() + int64_t(bytes / sizeof(int64_t)));
    return s.file(name, held, npyHeader(type, shape));
  };
  std::string good = npy("good.npy", DType::I64, {10, kSequence});
  auto failure = [&](auto set) {
    BatchFeed feed(*s.session, "step", roles());
    Status status = set(feed);
    return status.text();
  };
  auto array = [&](const std::string &path) {
    return failure([&](BatchFeed &f) { return f.addArray("tokens", path); });
  };
  auto has = [](const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(array(npy("wide.npy", DType::I64, {5, 2 * kSequence})),
      "input 'tokens' of program 'step' is 6x8, so its data must be Nx8, but "
      "'");
  has(array(npy("scalar.npy", DType::I64, {})), "holds no sample");
  has(array(s.file("long.npy", values, npyHeader(DType::I64, {9, kSequence}))),
      "is too long: its header promises 576 bytes of data, it has 640");
  has(array(npy("real.npy", DType::F64, {10, kSequence})),
      "is i32, but '" + s.folder + "/real.npy' is f64; convert the file");
  has(failure([&](BatchFeed &f) {
        WEFT_TRY(f.addArray("tokens", good));
        return f.addArray("tokens", good);
      }),
      "input 'tokens' is fed twice");
  has(failure([&](BatchFeed &f) {
        WEFT_TRY(f.addArray("tokens", good));
        return f.addArray("labels", npy("few.npy", DType::I64, {9, kSequence}));
      }),
      "few.npy' has 9 samples, '" + good + "' 10");
  has(failure([&](BatchFeed &f) {
        WEFT_TRY(f.addArray("tokens", good));
        return f.finish();
      }),
      "nothing feeds 'labels' of program 'step'; add --data NAME=FILE.npy, "
      "--data-tokens FILE, or --input");
  has(failure([&](BatchFeed &f) {
        WEFT_TRY(f.addTokens(s.file("t.bin", std::vector<uint16_t>(90, 300))));
        WEFT_TRY(f.finish());
        f.start(0);
        return f.take();
      }),
      "t.bin', sample 0, element 0: 300 is not a token of the vocabulary: "
      "these are 0 to 255 (input 'tokens')");
  // Labels that do not count may have any of their names, no other may.
  for (int64_t label : {-100, 3, -1, 10}) {
    std::vector<int64_t> labels(10 * kSequence, 9);
    labels[5] = label;
    std::string text = failure([&](BatchFeed &) {
      BatchFeed::Roles some = roles();
      some.classes = 10;
      BatchFeed f(*s.session, "step", some);
      WEFT_TRY(f.addArray("tokens", good));
      WEFT_TRY(f.addArray("labels",
                          s.file("labels.npy", labels, npyHeader(DType::I64, {10, kSequence}))));
      WEFT_TRY(f.finish());
      f.start(0);
      return f.take();
    });
    if (label == -100 || label == 3)
      EXPECT_EQ(text, "");
    else
      has(text, "sample 0, element 5: " + std::to_string(label) +
                    " is not a class: these are 0 to 9 (input 'labels')");
  }
  // Without a known vocabulary the input's own range counts.
  values[12] = int64_t(1) << 40;
  std::string large = npy("large.npy", DType::I64, {10, kSequence});
  has(failure([&](BatchFeed &) {
        BatchFeed f(*s.session, "step", roles(0));
        WEFT_TRY(f.addArray("tokens", large));
        WEFT_TRY(f.addArray("labels", good));
        WEFT_TRY(f.finish());
        f.start(0);
        return f.take();
      }),
      "large.npy', sample 1, element 4: 1099511627776 is out of range for i32");
}

std::vector<std::string> losses(const std::string &path) {
  std::vector<std::string> result;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    result.push_back(line.substr(0, line.find(",\"grad_norm\"")));
  return result;
}

// Steps with data, log and all allocate nothing, and all layouts log the same.
TEST(Training, StepsAreQuietAndLayoutsAgree) {
  std::vector<uint8_t> text;
  for (int i = 0; i < 3000; ++i)
    text.push_back(uint8_t("weft and warp "[i % 14]));
  std::vector<std::string> first;
  // With stages they run ahead.
  for (auto [dp, tp, stages] : {std::tuple{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {2, 2, 1}, {2, 1, 2}}) {
    Sample s(dp, tp, stages);
    TrainingOptions options;
    options.steps = 60;
    options.dataTokens = s.file("text.bin", text) + ":byte";
    options.shuffle = options.shuffleGiven = true;
    options.shuffleSeed = 5;
    options.log = s.file("log.jsonl", std::vector<char>());
    long early = 0, late = 0;
    options.onStep = [&](int64_t step) { (step == 4 ? early : late) = countAllocations(); };
    Status status = train(s.session, options, true);
    EXPECT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(late - early, 0) << "dp=" << dp << " tp=" << tp << " pp=" << stages;
    std::vector<std::string> found = losses(options.log);
    EXPECT_EQ(found.size(), 60u);
    if (first.empty())
      first = found;
    EXPECT_EQ(first, found);
  }
}

/// 30 steps, of which every tenth is saved, with a file where the checkpoint of step `lost` is to
/// be: its write in the background fails.
static TrainingOptions optionsThatLose(Sample &s, int64_t lost) {
  TrainingOptions options;
  options.steps = 30;
  options.saveEvery = 10;
  options.dataTokens = s.file("text.bin", std::vector<uint8_t>(300, 'a')) + ":byte";
  options.save = s.folder + "/checkpoints";
  options.onStep = [lost,
                    name = options.save + "/step-000000" + std::to_string(lost)](int64_t step) {
    if (step == lost - 5)
      std::ofstream(name) << "in the way";
  };
  return options;
}

// A save that failed is told, and no reason to lose the next one.
TEST(Training, TheLastSaveOutlivesAFailureBeforeIt) {
  Sample s(2, 1);
  TrainingOptions options = optionsThatLose(s, 20);
  testing::internal::CaptureStderr();
  Status status = train(s.session, options, true);
  std::string told = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_NE(told.find("warning: checkpoint of step 20"), std::string::npos) << told;
  EXPECT_NE(told.find("saved " + options.save + "/step-00000030"), std::string::npos) << told;
  EXPECT_TRUE(std::filesystem::exists(options.save + "/step-00000030/manifest.json"));
  std::filesystem::remove_all(options.save);
}

// Training that cannot keep what it has learnt has failed.
TEST(Training, ALastSaveThatFailsIsAFailure) {
  Sample s(2, 1);
  TrainingOptions options = optionsThatLose(s, 30);
  testing::internal::CaptureStderr();
  Status status = train(s.session, options, true);
  std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status.code(), StatusCode::UserError);
  EXPECT_NE(status.text().find("checkpoint of step 30"), std::string::npos) << status.text();
  EXPECT_EQ(told.find("saved "), std::string::npos) << told;
  EXPECT_TRUE(std::filesystem::exists(options.save + "/step-00000020/manifest.json"));
  std::filesystem::remove_all(options.save);
}

// An input that is fixed is what it was at the start, whatever becomes of its file. Each step and
// evaluation takes its program's memory from the other one.
TEST(Training, FixedInputsAreReadOnce) {
  std::vector<std::string> first;
  for (bool goes : {false, true}) {
    Sample s(2, 1);
    std::vector<int64_t> ids(12 * kSequence, 3);
    std::string tokens = s.file("x.npy", ids, npyHeader(DType::I64, {12, kSequence}));
    ids.resize(size_t(kBatch * kSequence), 5);
    std::string labels = s.file("y.npy", ids, npyHeader(DType::I64, {kBatch, kSequence}));
    TrainingOptions options;
    options.steps = 4;
    options.evalEvery = 1;
    options.data = options.evalData = {{"tokens", tokens}};
    options.inputs = {{"labels", labels}};
    options.log = s.file("log.jsonl", std::vector<char>());
    options.onStep = [&](int64_t) {
      if (goes)
        std::filesystem::remove(labels);
    };
    Status status = train(s.session, options, true);
    EXPECT_TRUE(status.ok()) << status.text();
    std::vector<std::string> found = losses(options.log);
    EXPECT_EQ(found.size(), 4u);
    if (!goes)
      first = found;
    EXPECT_EQ(first, found);
  }
}

TEST(Training, ALossThatIsNotFiniteEndsIt) {
  Sample s(2, 1);
  // The sample diverges at step 1000.
  TrainingOptions options;
  options.steps = 1010;
  options.dataTokens = s.file("text.bin", std::vector<uint8_t>(300, 'a')) + ":byte";
  testing::internal::CaptureStdout();
  Status status = train(s.session, options, true);
  const std::string &told = status.text();
  std::string steps = testing::internal::GetCapturedStdout();
  EXPECT_EQ(status.code(), StatusCode::UserError);
  EXPECT_NE(told.find("step 1001: the loss is nan (grad_norm"), std::string::npos) << told;
  EXPECT_NE(steps.find("step  1001  loss nan"), std::string::npos);
}

} // namespace
