// Published step times, bytes of state and activations, through the profile of the software that
// was measured.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Profile.h"

#include "weft/Cost/SimulateStep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

using namespace weft;
using namespace weft::cost;

namespace {

std::string contentOf(const std::string &name) {
  std::ifstream file(std::string(WEFT_COST_INPUTS) + "/" + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Profile profileOf(const std::string &text) {
  std::string error;
  std::optional<Profile> profile = Profile::read(text, error);
  EXPECT_TRUE(profile) << error;
  return std::move(*profile);
}

Profile megatron() { return profileOf(contentOf("megatron-2021.textproto")); }

Cluster clusterOf(const std::string &name) {
  std::string error;
  std::optional<std::string> text = textOfCluster(name, error);
  EXPECT_TRUE(text) << error;
  return *readCluster(*text, error);
}

struct Row {
  Transformer model;
  Layout layout;
  double seconds = 0;
};

Prediction predict(const Profile &profile, const Cluster &cluster, const Row &row) {
  std::string error;
  std::optional<StepAccount> account = profile.account(row.model, row.layout, error);
  EXPECT_TRUE(account) << error;
  std::optional<Prediction> prediction = simulateStep(*account, profile.on(cluster), {}, error);
  EXPECT_TRUE(prediction) << error;
  return *prediction;
}

struct Errors {
  double mean = 0, bias = 0, most = 0;
  std::vector<double> predicted;
};

Errors errorsOf(const Cluster &cluster, const std::vector<Row> &rows) {
  Profile profile = megatron();
  Errors errors;
  for (const Row &row : rows) {
    double seconds = predict(profile, cluster, row).seconds();
    double error = seconds / row.seconds - 1;
    errors.predicted.push_back(seconds);
    errors.mean += std::abs(error) / double(rows.size());
    errors.bias += error / double(rows.size());
    errors.most = std::max(errors.most, std::abs(error));
    if (std::getenv("WEFT_SHOW_ERRORS"))
      printf("h %ld t %ld d %ld p %ld b %ld B %ld: %.3f s, %+.1f %%\n", long(row.model.hidden),
             long(row.layout.tensor), long(row.layout.data), long(row.layout.stages),
             long(row.layout.microbatch), long(row.layout.globalBatch), row.seconds, error * 100);
  }
  printf("%zu rows: mean %.2f %%, bias %+.2f %%, most %.1f %%\n", rows.size(), errors.mean * 100,
         errors.bias * 100, errors.most * 100);
  return errors;
}

/// Table 1 of Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
/// Using Megatron-LM" (arXiv:2104.04473), microbatches and chunks of Megatron-LM's
/// examples/academic_paper_scripts/sc21/run_table_1.sh: hidden size, heads, layers, tensor, data,
/// stages, chunks a stage, microbatch, batch, and TFLOP/s a device, which count a full
/// recomputation: 96 B s l h^2 (1 + s/6h + V/16lh) operations a step. A100, Selene.
std::vector<Row> megatronRows() {
  const double rows[][10] = {{2304, 24, 24, 1, 32, 1, 1, 16, 512, 137},
                             {4096, 32, 36, 4, 32, 1, 1, 16, 512, 142},
                             {8192, 64, 48, 8, 32, 2, 1, 4, 1536, 138},
                             {12288, 96, 80, 8, 24, 8, 2, 2, 2304, 148},
                             {20480, 128, 105, 8, 9, 35, 3, 1, 2520, 163}};
  std::vector<Row> read;
  for (const auto &row : rows) {
    auto at = [&](int i) { return int64_t(row[i]); };
    Row &made = read.emplace_back();
    made.model = {at(2), at(0), at(1), 2048, 51200, 4 * at(0)};
    made.layout = {at(3), at(4), at(5), at(6), at(7), at(8)};
    made.layout.recompute = Recompute::Full;
    double B = row[8], s = 2048, l = row[2], h = row[0], V = 51200;
    made.seconds = 96 * B * s * l * h * h * (1 + s / (6 * h) + V / (16 * l * h)) /
                   (row[3] * row[4] * row[5] * row[9] * 1e12);
  }
  // Table 5 of Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models"
  // (arXiv:2205.05198): seconds with full recomputation, then with sequence parallelism and
  // selective recomputation.
  const double later[][9] = {{6144, 64, 48, 1, 1, 4, 4, 1.42, 1.10},
                             {12288, 96, 96, 8, 3, 1, 64, 18.13, 13.75}};
  for (bool isSelective : {false, true})
    for (const auto &row : later) {
      auto at = [&](int i) { return int64_t(row[i]); };
      Row &made = read.emplace_back();
      made.model = {at(2), at(0), at(1), 2048, 51200, 4 * at(0)};
      made.layout = {8, 1, at(3), at(4), at(5), at(6), isSelective};
      made.layout.recompute = isSelective ? Recompute::Selective : Recompute::Full;
      made.seconds = row[isSelective ? 8 : 7];
    }
  return read;
}

/// Measured steps of vTrain (VIA-Research/vTrain, MIT licence), Megatron-DeepSpeed with full
/// recomputation; `first` is the column of the global batch.
std::vector<Row> vtrainRows(const std::string &file, size_t first) {
  std::istringstream lines(contentOf(file));
  std::string line;
  std::getline(lines, line);
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    std::vector<double> fields;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ',');)
      fields.push_back(std::stod(word));
    auto at = [&](size_t i) { return int64_t(fields[first + i]); };
    Row &row = rows.emplace_back();
    row.model = {at(4), at(2), at(3), at(5), 51200, 4 * at(2)};
    row.layout = {at(6), at(7), at(8), 1, at(1), at(0)};
    row.layout.recompute = Recompute::Full;
    row.seconds = fields[first + 9] * 1e-3;
  }
  return rows;
}

TEST(Published, MegatronSteps) {
  Errors errors = errorsOf(clusterOf("a100-80gb-selene"), megatronRows());
  EXPECT_LT(errors.mean, 0.04);
  EXPECT_LT(errors.most, 0.08);
}

TEST(Published, VtrainOnOneNode) {
  std::vector<Row> rows = vtrainRows("vtrain-single.csv", 1);
  ASSERT_EQ(rows.size(), 1440u);
  EXPECT_LT(errorsOf(clusterOf("a100-80gb"), rows).mean, 0.07);
}

/// The share of pairs of rows further apart than 10 % that are predicted in their order.
double ordered(const std::vector<Row> &rows, const std::vector<double> &predicted, size_t begin,
               size_t end) {
  double right = 0, all = 0;
  for (size_t i = begin; i < end; ++i)
    for (size_t j = begin; j < end; ++j)
      if (rows[i].seconds > 1.1 * rows[j].seconds) {
        ++all;
        right += predicted[i] > predicted[j];
      }
  return right / all;
}

TEST(Published, VtrainOnManyNodes) {
  std::vector<Row> rows = vtrainRows("vtrain-multi.csv", 2);
  ASSERT_EQ(rows.size(), 73u);
  Errors errors = errorsOf(clusterOf("a100-80gb"), rows);
  EXPECT_LT(errors.mean, 0.10);
  size_t small = 0;
  while (rows[small].model.hidden == 3072)
    ++small;
  double ofSmall = ordered(rows, errors.predicted, 0, small);
  double ofLarge = ordered(rows, errors.predicted, small, rows.size());
  printf("in order: %.3f of 3.6B, %.3f of 39.1B\n", ofSmall, ofLarge);
  EXPECT_GE(ofSmall, 0.90);
  EXPECT_GE(ofLarge, 0.70);
}

/// The state of a profile of nothing else.
Profile statesOf(const std::string &states) {
  std::string part = R"({ parameters: "w" kept: "0" kept_selective: "0" kept_full: "0" })";
  return profileOf("constants { origin: \"none\" } transfer: \"0\" embedding " + part + " layer " +
                   part + " head " + part + states);
}

int64_t bytesOf(const Profile &profile, int64_t parameters, int64_t data, int64_t zero) {
  int64_t sum = 0;
  for (int64_t bytes : profile.stateBytes(parameters, data, zero))
    sum += bytes;
  return sum;
}

/// Figure 1 of Rajbhandari et al., "ZeRO" (arXiv:1910.02054): GB a device of 7.5e9 parameters on 64
/// devices, with 12 bytes of optimizer state.
TEST(Published, ZeroBytes) {
  Profile profile = statesOf(R"(state { class: "parameters" bytes: 2 zero: 3 }
                                state { class: "gradients" bytes: 2 zero: 2 }
                                state { class: "optimizer" bytes: 12 zero: 1 })");
  const double published[] = {120, 31.4, 16.6, 1.9};
  for (int64_t zero = 0; zero < 4; ++zero)
    EXPECT_EQ(std::round(double(bytesOf(profile, 7500000000, 64, zero)) / 1e8) / 10,
              published[zero])
        << "stage " << zero;
}

/// Megatron-LM's page dist_optimizer.md, git d98e8a64: bytes a parameter without and with the
/// distributed optimizer.
TEST(Published, MegatronBytesOfAParameter) {
  struct {
    int64_t parameter, gradient, split, alone, always;
  } rows[] = {{2, 2, 16, 20, 4}, {2, 4, 12, 18, 6}, {4, 4, 8, 16, 8}};
  constexpr int64_t kParameters = 1 << 20;
  for (const auto &row : rows) {
    auto state = [](const char *name, int64_t bytes, int64_t zero) {
      return std::string("state { class: \"") + name + "\" bytes: " + std::to_string(bytes) +
             " zero: " + std::to_string(zero) + " }";
    };
    Profile profile =
        statesOf(state("parameters", row.parameter, 3) + state("gradients", row.gradient, 2) +
                 state("optimizer", row.split, 1));
    for (int64_t d : {1, 2, 8, 64}) {
      EXPECT_EQ(bytesOf(profile, kParameters, d, 0), row.alone * kParameters);
      EXPECT_EQ(bytesOf(profile, kParameters, d, 1),
                row.always * kParameters + row.split * kParameters / d);
    }
  }
  // The software that is measured above.
  EXPECT_EQ(bytesOf(megatron(), kParameters, 8, 0), 18 * kParameters);
}

/// Figure 1 of arXiv:2205.05198, as calculon-ai/calculon has it: GiB of activations of the first
/// stage, t=8, s=2048: with tensor parallelism, and with sequence parallelism and selective
/// recomputation. What the embedding keeps is not in it.
TEST(Published, ActivationBytes) {
  struct {
    int64_t hidden, heads, layers, stages, chunks, microbatch, batch;
    double none, selective;
  } rows[] = {{6144, 64, 48, 1, 1, 4, 4, 59.25, 9.5625},
              {12288, 96, 96, 8, 3, 1, 64, 66.84375, 12.3515625},
              {20480, 128, 105, 35, 3, 1, 280, 114.0234375, 23.076171875},
              {25600, 160, 128, 64, 1, 1, 512, 131.25, 26.5625}};
  Profile profile = megatron();
  for (const auto &row : rows)
    for (bool isSelective : {false, true}) {
      Row asked;
      asked.model = {row.layers, row.hidden, row.heads, 2048, 51200, 4 * row.hidden};
      asked.layout = {8, 1, row.stages, row.chunks, row.microbatch, row.batch, isSelective};
      if (isSelective)
        asked.layout.recompute = Recompute::Selective;
      std::string error;
      StepAccount account = *profile.account(asked.model, asked.layout, error);
      account.chunks[0].keptForBackward -=
          row.microbatch * 2048 * row.hidden / (isSelective ? 8 : 1);
      Prediction prediction = *simulateStep(account, clusterOf("a100-80gb-selene"), {}, error);
      EXPECT_EQ(double(prediction.memory[0].activations) / 0x1p30,
                isSelective ? row.selective : row.none)
          << row.hidden;
    }
}

TEST(Profile, LayoutsThatDoNotFitAreErrors) {
  Profile profile = megatron();
  Transformer model{24, 1024, 16, 1024, 51200, 4096};
  auto errorOf = [&](const Layout &layout) {
    std::string error;
    EXPECT_FALSE(profile.account(model, layout, error));
    return error;
  };
  EXPECT_EQ(errorOf({1, 1, 5, 1, 1, 8}), "24 layers cannot be cut into 5 equal chunks");
  EXPECT_EQ(errorOf({1, 2, 1, 1, 3, 8}),
            "a batch of 8 is no multiple of 2 ranks times microbatches of 3");
  EXPECT_EQ(errorOf({0, 1, 1, 1, 1, 8}), "a size of 0 is none: give 1 to 2^32");
  // More pairs of chunks and microbatches than schedules have.
  EXPECT_NE(errorOf({1, 1, 4, 2, 1, int64_t(1) << 31}), "");
  model.sequence = int64_t(1) << 32;
  EXPECT_NE(errorOf({1, 1, 1, 1, int64_t(1) << 31, int64_t(1) << 31}).find("does not fit 64 bits"),
            std::string::npos);
}

TEST(Profile, ErrorsNameTheLineAndTheRemedy) {
  auto errorOf = [](const std::string &text) {
    std::string error;
    EXPECT_FALSE(Profile::read(text, error));
    return error;
  };
  const std::string begin = "constants { origin: \"x\" }\ntransfer: \"0\"\n";
  EXPECT_EQ(errorOf(""), "line 1: 'constants' is missing: give constants in { }");
  EXPECT_EQ(errorOf("constants {\n}"),
            "line 1: 'constants' does not say where its numbers come from: give 'origin'");
  EXPECT_EQ(errorOf(begin), "line 1: 'embedding' is missing: give a part in { }");
  auto kernel = [&](const std::string &text) {
    return errorOf(begin +
                   "embedding { parameters: \"1\" kept: \"1\" kept_selective: \"1\" "
                   "kept_full: \"1\"\nforward { " +
                   text + " } }");
  };
  EXPECT_EQ(kernel(""), "line 4: 'embedding.forward[0]' must have one of stream, gemm, all_reduce, "
                        "all_gather, reduce_scatter");
  EXPECT_EQ(kernel("stream: \"2*x\""),
            "line 4: 'embedding.forward[0].stream' is no size: '2*x' has no symbol 'x'; there are "
            "a, apart, b, d, f, h, lead, p, q, s, sp, t, v, w");
  auto size = [&](const std::string &text) {
    std::string error = kernel("stream: \"" + text + "\""), begins = "line 4: ";
    EXPECT_EQ(error.substr(0, begins.size()), begins) << text;
    size_t at = error.rfind("' ");
    return at == std::string::npos ? error : error.substr(at + 2);
  };
  EXPECT_NE(size("1+").find("lacks a number or symbol; there are a, apart"), std::string::npos);
  EXPECT_NE(size("-1").find("lacks a number or symbol; there are a, apart"), std::string::npos);
  EXPECT_NE(kernel("stream: \"1)\"").find("has ')' where an operator belongs"), std::string::npos);
  EXPECT_NE(kernel("stream: \"(1\"").find("lacks a ')'"), std::string::npos);
  EXPECT_EQ(size("1 % 0"), "divides by 0");
  for (const char *large : {"9999999999999999999", "9223372036854775807 + 1",
                            "0 - 2 - 9223372036854775807", "4000000000*4000000000"})
    EXPECT_EQ(size(large), "does not fit 64 bits");
  EXPECT_NE(kernel("stream: \"" + std::string(100000, '(') + "\"").find("is nested too deep"),
            std::string::npos);
  EXPECT_EQ(kernel("all_reduce: \"1\" over: \"rows\""),
            "line 4: 'embedding.forward[0].over' must be one of stages, data, tensor");
}

} // namespace
