// Folding of repeated layers, sizes, and names from hostile models.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Explain/Explain.h"
#include "weft/Explain/Classes.h"

#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace weft::explain;

namespace {

Collective sumOf(const std::string &maker, const std::string &reader, double bytes) {
  Collective one;
  one.kind = "all_reduce";
  one.axes = {"tp"};
  one.node = one.maker = maker;
  one.readers = {reader};
  one.readerCount = 1;
  one.summed = "8{tp}";
  one.reduction = "sum";
  one.wantedWhole = true;
  one.role = "forward";
  one.bytes = bytes;
  return one;
}

TEST(LayerName, IsAWholeComponentThatIsNotTheLast) {
  EXPECT_EQ(foldName("/h.3/mlp/Gemm").pattern, "/h.*/mlp/Gemm");
  EXPECT_EQ(foldName("/h.3/mlp/Gemm").layer, 3);
  EXPECT_EQ(foldName("adamw of layers.12.weight").pattern, "adamw of layers.*.weight");
  EXPECT_EQ(foldName("layers.2.experts.7.w").pattern, "layers.*.experts.*.w");
  EXPECT_EQ(foldName("layers.2.experts.7.w").layer, 2);
  for (llvm::StringRef name : {"/h/Add_1", "/ln_1/Mul", "conv1.weight", "3.weight", "h.3", "h.3/",
                               "", "h.99999999999999999999.w"}) {
    EXPECT_EQ(foldName(name).pattern, name);
    EXPECT_EQ(foldName(name).layer, -1);
  }
}

TEST(Members, TellLayersAsRanges) {
  Members members;
  for (int64_t layer : {4, 0, 1, 1, 2, 9})
    members.add(layer);
  EXPECT_EQ(members.count, 6);
  EXPECT_EQ(members.layersText(), "0..2,4,9");
  Members none;
  none.add(-1);
  EXPECT_EQ(none.layersText(), "");
}

TEST(CollectiveClasses, KeepExceptionsApart) {
  std::vector<Collective> all;
  for (int layer = 0; layer < 4; ++layer)
    all.push_back(sumOf("/h." + std::to_string(layer) + "/proj",
                        layer < 3 ? "/h." + std::to_string(layer + 1) + "/norm" : "/last",
                        layer == 1 ? 20 : 10));
  std::vector<CollectiveClass> classes = foldCollectives(all);
  ASSERT_EQ(classes.size(), 2u); // layer 1 sends more
  EXPECT_EQ(classes[0].bytes, 30);
  EXPECT_EQ(classes[0].members.layersText(), "0,2..3");
  ASSERT_EQ(classes[0].readers.size(), 2u);
  EXPECT_EQ(classes[0].readers[0].patterns, std::vector<std::string>{"/h.*/norm"});
  EXPECT_EQ(classes[0].readers[1].patterns, std::vector<std::string>{"/last"});
  EXPECT_EQ(classes[0].readers[1].members.layersText(), "3");
  EXPECT_EQ(classes[1].members.layersText(), "1");
}

TEST(LayerClasses, AreOfOneChainAndAlike) {
  std::vector<Collective> all{sumOf("/last", "y", 7)};
  for (int layer = 0; layer < 3; ++layer) {
    std::string number = std::to_string(layer);
    all.push_back(sumOf("/net/h." + number + "/proj", "y", 10));
    all.push_back(sumOf("adamw of net.h." + number + ".w", "y", layer == 1 ? 5 : 1));
  }
  all.back().times = 2;
  all[1].seconds = 0.25;
  all[5].seconds = 0.5;
  std::vector<LayerClass> classes = foldLayers(all);
  auto text = [](const LayerClass &one) {
    return one.name + " [" + one.members.layersText() + "] " + std::to_string(one.collectives) +
           " " + sizeText(one.bytes) + " " + timeText(one.seconds);
  };
  ASSERT_EQ(classes.size(), 4u); // layer 1 sends more, and layer 2 twice
  EXPECT_EQ(text(classes[0]), "net.h.* [1] 2 15 B 0 us");
  EXPECT_EQ(text(classes[1]), "net.h.* [0] 2 11 B 250 ms");
  EXPECT_EQ(text(classes[2]), "net.h.* [2] 3 11 B 500 ms");
  EXPECT_EQ(text(classes[3]), " [] 1 7 B 0 us");
  all.back().times = 1;
  classes = foldLayers(all);
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(text(classes[0]), "net.h.* [0,2] 4 22 B 750 ms");
}

TEST(Times, AreShort) {
  EXPECT_EQ(timeText(0), "0 us");
  EXPECT_EQ(timeText(2.861e-6), "2.86 us");
  EXPECT_EQ(timeText(71.5256e-6), "71.5 us");
  EXPECT_EQ(timeText(999.6e-6), "1 ms");
  EXPECT_EQ(timeText(1.5), "1.5 s");
  EXPECT_EQ(timeText(4000), "4000 s");
}

TEST(Sizes, AreShort) {
  EXPECT_EQ(sizeText(0), "0 B");
  EXPECT_EQ(sizeText(1023), "1023 B");
  EXPECT_EQ(sizeText(1024), "1 KiB");
  EXPECT_EQ(sizeText(1536), "1.5 KiB");
  EXPECT_EQ(sizeText(768 << 10), "768 KiB");
  EXPECT_EQ(sizeText((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(sizeText(8922044992.), "8.31 GiB");
}

TEST(Documents, HoldNamesOfAnyBytes) {
  Document document;
  document.model = "a\xff\"\n</script>.onnx";
  document.program("forward").collectives.push_back(sumOf("</script>\x80", "\x01", 8));
  std::string json, page, text;
  llvm::raw_string_ostream jsonOut(json), pageOut(page), textOut(text);
  printJson(document, /*indent=*/false, jsonOut);
  EXPECT_TRUE(llvm::json::isUTF8(json));
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(json);
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
  EXPECT_EQ(parsed->getAsObject()->getInteger("version"), Document::kVersion);
  printHtml(document, pageOut);
  // Those of the page itself.
  EXPECT_EQ(llvm::StringRef(page).count("</script>"), 2u);
  EXPECT_FALSE(llvm::StringRef(page).contains("@DATA@"));
  // Nothing reaches a terminal but text.
  printText(document, Detail::Full, "", textOut);
  EXPECT_TRUE(llvm::StringRef(text).contains("\\x01"));
  EXPECT_FALSE(llvm::StringRef(text).contains('\x01'));
}

} // namespace
