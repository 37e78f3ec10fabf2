// Names of nodes in routines that several parts of a model share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/routines/RoutineNames.h"

#include "gtest/gtest.h"

using namespace weft::rt;

namespace {

using Names = std::vector<llvm::StringRef>;
using Labels = std::vector<std::string>;

TEST(RoutineNames, Labels) {
  EXPECT_EQ(findLabels(Names{"/a", "/a"}), Labels{});
  EXPECT_EQ(findLabels(Names{"/h.0/Add", "/h.1/Add"}), (Labels{"h.0", "h.1"}));
  // A number is not cut in two.
  EXPECT_EQ(findLabels(Names{"/h.9/Add", "/h.10/Add", "/h.11/Add"}),
            (Labels{"h.9", "h.10", "h.11"}));
  EXPECT_EQ(findLabels(Names{"layer1_fc", "layer12_fc"}), (Labels{"1", "12"}));
  EXPECT_EQ(findLabels(Names{"/encoder/Add", "/decoder/Add"}), (Labels{"encoder", "decoder"}));
  EXPECT_EQ(findLabels(Names{"Add", "Add_1"}), (Labels{"Add", "Add_1"}));
}

TEST(RoutineNames, CommonNames) {
  Labels labels{"h.0", "h.1"};
  EXPECT_EQ(commonName(Names{"/f", "/f"}, labels), "/f");
  EXPECT_EQ(commonName(Names{"/h.0/fc", "/h.1/fc"}, labels), "/{}/fc");
  EXPECT_EQ(commonName(Names{"adam of h.0.w", "adam of h.1.w"}, labels), "adam of {}.w");
  // Not the first place where the label stands.
  EXPECT_EQ(commonName(Names{"h.0 of h.0", "h.0 of h.1"}, labels), "h.0 of {}");
  // In more than the label.
  EXPECT_EQ(commonName(Names{"/h.0/Add_3", "/h.1/Add_7"}, labels), "/h.*");
  EXPECT_EQ(commonName(Names{"a", "b"}, {}), "*");
}

} // namespace
