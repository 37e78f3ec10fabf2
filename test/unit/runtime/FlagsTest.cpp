// Tables of flags: parsing, help, near misses; and the texts of progress.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Flags.h"
#include "weft/runtime/Nearest.h"
#include "weft/runtime/Terminal.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace weft::runtime;

namespace {

struct Line {
  std::string mesh, mode = "on", word;
  long count = 0;
  double number = 0;
  uint64_t seed = 0;
  bool quiet = false, bench = false, json = false;
};

FlagTable tableFor(Line &line) {
  FlagTable flags("tool", "usage: tool\n");
  flags.topic("split", "How to split");
  flags.text("--mesh", "AXIS=N", "the grid", line.mesh);
  flags.topic("rest", "The rest", "An example.\n");
  flags.choice("--mode", "on|off", "a choice", line.mode, {"on", "off"});
  flags.count("-n|--count", "N", "a number", line.count, 1, 100);
  flags.number("--rate", "R", "a rate", line.number, 10);
  flags.seed("--seed", "S", "a seed", line.seed);
  flags.toggle("-q|--quiet", "few words", line.quiet);
  flags.optional("--bench", "json", "times",
                 [&](const std::string &text) {
                   line.bench = true;
                   line.json = text == "json";
                   return std::string();
                 },
                 {"json"});
  flags.text("--hidden", "X", "", line.word);
  flags.refused("--plan", "plans are not supported yet");
  flags.epilogue("The end.\n");
  return flags;
}

std::string wrong(std::vector<std::string> arguments) {
  Line line;
  return tableFor(line).parse(arguments);
}

TEST(Flags, AreTakenInBothForms) {
  Line line;
  FlagTable flags = tableFor(line);
  EXPECT_EQ(flags.parse({"--mesh", "dp=2,tp=2", "--mode=off", "--count=7", "-q", "--bench",
                         "--rate", "0.5", "--seed=3"}),
            "");
  EXPECT_EQ(line.mesh, "dp=2,tp=2");
  EXPECT_EQ(line.mode, "off");
  EXPECT_EQ(line.count, 7);
  EXPECT_EQ(line.number, 0.5);
  EXPECT_EQ(line.seed, 3u);
  EXPECT_TRUE(line.quiet && line.bench && !line.json);
  ASSERT_EQ(flags.given().size(), 7u);
  EXPECT_EQ(flags.given()[2].name, "-n");
  EXPECT_EQ(flags.given()[2].value, "7");
  EXPECT_FALSE(flags.given()[2].alone);
  EXPECT_TRUE(flags.given()[3].alone && flags.given()[4].alone);
  EXPECT_EQ(flags.parse({"--bench=json"}), "");
  EXPECT_TRUE(line.json);
}

TEST(Flags, AreRefusedWithWhatToWriteInstead) {
  EXPECT_EQ(wrong({"--messh", "x"}), "there is no flag '--messh'; did you mean '--mesh'?");
  EXPECT_EQ(wrong({"--frobnicate"}), "there is no flag '--frobnicate'; --help shows what there is");
  EXPECT_EQ(wrong({"word"}), "what is 'word'?; --help shows what there is");
  EXPECT_EQ(wrong({"--mesh"}), "--mesh wants a value: --mesh AXIS=N");
  EXPECT_EQ(wrong({"-q=1"}), "-q takes no value, but has '1'");
  EXPECT_EQ(wrong({"--bench="}), "--bench has an empty value; write --bench or --bench=json");
  EXPECT_EQ(wrong({"--mode", "onn"}), "--mode is on or off, not 'onn'; did you mean 'on'?");
  EXPECT_EQ(wrong({"-n", "0"}), "-n wants a whole number of at least 1, not '0'");
  EXPECT_EQ(wrong({"-n", "101"}), "-n wants a whole number from 1 to 100, not '101'");
  EXPECT_EQ(wrong({"-n", "99999999999999999999"}),
            "-n wants a whole number of at least 1, not '99999999999999999999'");
  EXPECT_EQ(wrong({"--rate", "nan"}), "--rate wants a number that is not negative, not 'nan'");
  EXPECT_EQ(wrong({"--rate", "11"}), "--rate wants a number from 0 to 10, not '11'");
  EXPECT_EQ(wrong({"--rate", "0x1"}), "--rate wants a number, not '0x1'");
  EXPECT_EQ(wrong({"--seed", "-1"}),
            "--seed wants a seed, a whole number from 0 to 2^64 - 1, not '-1'");
  EXPECT_EQ(wrong({"--plan", "x"}), "--plan: plans are not supported yet");
}

TEST(Flags, HelpListsAllButWhatIsHidden) {
  Line line;
  FlagTable flags = tableFor(line);
  std::string help = flags.help();
  for (const std::string &name : flags.names())
    EXPECT_NE(help.find(name), std::string::npos) << name;
  EXPECT_EQ(help.find("--hidden"), std::string::npos);
  EXPECT_EQ(help.find("--plan"), std::string::npos);
  EXPECT_EQ(help.substr(help.size() - 9), "The end.\n");
  size_t begin = 0;
  for (size_t end; (end = help.find('\n', begin)) != std::string::npos; begin = end + 1)
    EXPECT_LE(end - begin, 80u) << help.substr(begin, end - begin);
}

TEST(Flags, HelpAnswersOneTopicOrFlag) {
  auto answer = [](const std::string &argument) {
    Line line;
    FlagTable flags = tableFor(line);
    std::string fault = flags.parse({argument});
    return fault.empty() && flags.answers() ? flags.answer() : fault;
  };
  EXPECT_EQ(answer("--help=split"), "How to split\n  --mesh AXIS=N           the grid\n");
  EXPECT_EQ(answer("--help=--seed"), "  --seed S                a seed\n");
  EXPECT_EQ(answer("--help=plan"), "--plan: plans are not supported yet\n");
  EXPECT_EQ(answer("--help=splt"), "--help knows no topic 'splt'; topics are "
                                   "split, rest, and every flag; did you mean 'split'?");
  EXPECT_EQ(answer("--version"), std::string("tool ") + weftVersion() + "\n");
}

TEST(Flags, AnswersShellsAndMan) {
  auto answer = [](const std::vector<std::string> &arguments) {
    Line line;
    FlagTable flags = tableFor(line);
    std::string fault = flags.parse(arguments);
    return fault.empty() && flags.answers() ? flags.answer() : fault;
  };
  std::string bash = answer({"--completion", "bash"});
  EXPECT_EQ(bash, answer({"--completion=bash"}));
  EXPECT_NE(bash.find("complete -o filenames -F _tool tool\n"), std::string::npos) << bash;
  EXPECT_EQ(bash.find("--hidden"), std::string::npos);
  // A value that may be left out is offered behind `=` alone.
  EXPECT_NE(bash.find("\n    --mode|--mode=) "), std::string::npos) << bash;
  EXPECT_NE(bash.find("\n    --bench=) "), std::string::npos) << bash;
  EXPECT_EQ(answer({"--completion=zsh"}).find("#compdef tool\n"), 0u);
  EXPECT_EQ(answer({"--completion"}), "--completion is bash or zsh, not ''");
  std::string page = answer({"--man"});
  EXPECT_EQ(page.find(".TH TOOL 1 "), 0u);
  EXPECT_NE(page.find(".B \\-\\-mesh AXIS=N\nthe grid\n"), std::string::npos) << page;
}

TEST(Nearest, FindsLettersAddedLeftOutChangedAndSwapped) {
  std::vector<std::string> names{"batch", "seq", "input_ids", "logits"};
  using Names = std::vector<std::string>;
  EXPECT_EQ(nearest("btch", names), Names{"batch"});
  EXPECT_EQ(nearest("batchh", names), Names{"batch"});
  EXPECT_EQ(nearest("Bacth", names), Names{"batch"});
  EXPECT_EQ(nearest("sequence", names), Names{"seq"}); // a part of it
  EXPECT_EQ(nearest("ids", names), Names{"input_ids"});
  EXPECT_EQ(nearest("hidden", names), Names{});
  EXPECT_EQ(nearest("", names), Names{});
  EXPECT_EQ(didYouMean("aa", {"ab", "ac", "ad", "ae"}), "; did you mean 'ab', 'ac' or 'ad'?");
  EXPECT_EQ(didYouMean("hidden", names), "");
}

TEST(Progress, TellsWhatIsDoneAndWhatIsLeft) {
  auto text = [](uint64_t done, uint64_t total, Progress::Unit unit, double seconds) {
    char line[80];
    Progress::format(line, sizeof line, "loading", done, total, unit, seconds);
    return std::string(line);
  };
  EXPECT_EQ(text(0, 0, Progress::Count, 65), "loading, 1:05");
  EXPECT_EQ(text(0, 10, Progress::Count, 3), "loading 0 of 10, 0:03");
  EXPECT_EQ(text(2, 10, Progress::Count, 3), "loading 2 of 10, 0:12 left");
  EXPECT_EQ(text(3u << 20, 4u << 20, Progress::Bytes, 6), "loading 3 of 4 MiB, 0:02 left");
}

/// What a progress of that many seconds prints, where nobody watches.
std::string printed(bool speaks, double seconds) {
  testing::internal::CaptureStderr();
  {
    Progress progress(speaks, "loading", 10);
    progress.add(2);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, SpeaksBehindTwoSeconds) {
  EXPECT_EQ(printed(true, 0.2), "");
  EXPECT_EQ(printed(false, 2.4), "");
  std::string text = printed(true, 2.4);
  EXPECT_EQ(text.rfind("weft: loading 2 of 10, 0:", 0), 0u) << text;
  EXPECT_EQ(text.substr(text.size() - 6), " left\n");
}

} // namespace
