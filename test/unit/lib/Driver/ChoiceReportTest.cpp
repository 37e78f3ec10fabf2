// What is told of layouts that were left out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Driver/ChoiceReport.h"

#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace weft;

TEST(ChoiceReport, TellsWhatIsOurBugFromWhatIsRefused) {
  choosing::Choice choice;
  planner::Layout refused, unpriced;
  refused.microbatches = 2;
  unpriced.microbatches = 4;
  choice.refused.push_back({refused, "does not divide"});
  choice.search.unpriced.try_emplace("contradicts itself", unpriced);

  std::string text, json;
  llvm::raw_string_ostream textOut(text), jsonOut(json);
  driver::printText(choice, 1, textOut);
  EXPECT_NE(text.find(refused.text() + ": does not divide\n"), std::string::npos) << text;
  EXPECT_NE(text.find(unpriced.text() +
                      ": our bug, its account cannot be simulated: contradicts itself\n"),
            std::string::npos)
      << text;

  driver::printJson(choice, jsonOut);
  llvm::Expected<llvm::json::Value> document = llvm::json::parse(json);
  ASSERT_TRUE(bool(document)) << json;
  auto check = [&](llvm::StringRef field, const planner::Layout &layout, llvm::StringRef error) {
    const llvm::json::Array *list = document->getAsObject()->getArray(field);
    ASSERT_TRUE(list && list->size() == 1) << field.str();
    const llvm::json::Object *entry = list->front().getAsObject();
    EXPECT_EQ(entry->getString("layout"), layout.text());
    EXPECT_EQ(entry->getString("error"), error);
  };
  check("refused", refused, "does not divide");
  check("unpriced", unpriced, "contradicts itself");
}
