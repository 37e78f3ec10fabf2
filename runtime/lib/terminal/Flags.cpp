// Parses flags by their table, and prints it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Flags.h"

#include "weft/runtime/Nearest.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>

using namespace weft::runtime;

namespace {

constexpr size_t kHelpColumn = 26, kHelpWidth = 80;
constexpr const char *kSeeHelp = "; --help shows what there is";

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// `text` in lines of words from column kHelpColumn on; line breaks stay.
std::string wrapped(const std::string &text) {
  std::string result;
  for (const std::string &line : split(text, '\n')) {
    std::string row;
    for (const std::string &word : split(line, ' ')) {
      if (!row.empty() && kHelpColumn + row.size() + 1 + word.size() > kHelpWidth) {
        result += std::string(kHelpColumn, ' ') + row + "\n";
        row.clear();
      }
      row += (row.empty() ? "" : " ") + word;
    }
    result += std::string(kHelpColumn, ' ') + row + "\n";
  }
  return result;
}

bool resemblesNumber(const std::string &text) {
  return text.size() > 1 && (std::isdigit(text[1]) || text[1] == '.');
}

} // namespace

const char *weft::runtime::weftVersion() { return WEFT_VERSION; }

FlagTable::FlagTable(std::string tool, std::string intro)
    : tool(std::move(tool)), intro(std::move(intro)) {}

void FlagTable::topic(std::string key, std::string title, std::string text) {
  topics.push_back({std::move(key), std::move(title), std::move(text)});
}

FlagTable::Names FlagTable::add(const std::string &names, std::string placeholder, std::string help,
                                Kind kind, Take take, std::vector<std::string> choices) {
  if (topics.empty())
    topic("", "");
  flags.push_back({split(names, '|'), std::move(placeholder), std::move(help), kind,
                   std::move(take), topics.size() - 1, std::move(choices)});
  return flags.back().names;
}

FlagTable::Names FlagTable::value(const std::string &names, std::string placeholder,
                                  std::string help, Take take, std::vector<std::string> choices) {
  return add(names, std::move(placeholder), std::move(help), Kind::Value, std::move(take),
             std::move(choices));
}

FlagTable::Names FlagTable::optional(const std::string &names, std::string placeholder,
                                     std::string help, Take take,
                                     std::vector<std::string> choices) {
  return add(names, std::move(placeholder), std::move(help), Kind::Optional, std::move(take),
             std::move(choices));
}

FlagTable::Names FlagTable::alone(const std::string &names, std::string help,
                                  std::function<void()> take) {
  return add(names, "", std::move(help), Kind::Alone, [take](const std::string &) {
    take();
    return std::string();
  });
}

FlagTable::Names FlagTable::text(const std::string &names, std::string placeholder,
                                 std::string help, std::string &target) {
  std::string wanted = "is empty; it wants " + placeholder;
  return value(names, std::move(placeholder), std::move(help),
               [&target, wanted](const std::string &text) {
                 target = text;
                 return text.empty() ? wanted : std::string();
               });
}

FlagTable::Names FlagTable::toggle(const std::string &names, std::string help, bool &target) {
  return alone(names, std::move(help), [&target] { target = true; });
}

FlagTable::Names FlagTable::seed(const std::string &names, std::string placeholder,
                                 std::string help, uint64_t &target) {
  return value(names, std::move(placeholder), std::move(help),
               [&target](const std::string &text) { return parseSeed(text, target); });
}

FlagTable::Names FlagTable::number(const std::string &names, std::string placeholder,
                                   std::string help, double &target, double greatest) {
  return value(
      names, std::move(placeholder), std::move(help),
      [&target, greatest](const std::string &text) { return parseNumber(text, greatest, target); });
}

FlagTable::Names FlagTable::choice(const std::string &names, std::string placeholder,
                                   std::string help, std::string &target,
                                   std::vector<std::string> choices) {
  return value(
      names, std::move(placeholder), std::move(help),
      [&target, choices](const std::string &text) -> std::string {
        if (std::find(choices.begin(), choices.end(), text) == choices.end())
          return notAmong(text, choices);
        target = text;
        return {};
      },
      choices);
}

void FlagTable::refused(const std::string &name, std::string reason) {
  add(name, "", "", Kind::Refused, [reason](const std::string &) { return reason; });
}

std::string FlagTable::parseCount(const std::string &text, int64_t least, int64_t greatest,
                                  int64_t &number) {
  char *end = nullptr;
  errno = 0;
  number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || errno != 0 || number < least)
    return "wants a whole number of at least " + std::to_string(least) + ", not '" + text + "'";
  if (number > greatest)
    return "wants a whole number from " + std::to_string(least) + " to " +
           std::to_string(greatest) + ", not '" + text + "'";
  return {};
}

std::string FlagTable::parseNumber(const std::string &text, double greatest, double &number) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  // strtod reads hexadecimal digits, too, where a mistyped 0 hides.
  if (text.empty() || *end != 0 || text.find_first_of("xX") != std::string::npos)
    return "wants a number, not '" + text + "'";
  if (value > greatest) {
    char limit[32];
    std::snprintf(limit, sizeof limit, "%g", greatest);
    return std::string("wants a number from 0 to ") + limit + ", not '" + text + "'";
  }
  if (!(value >= 0))
    return "wants a number that is not negative, not '" + text + "'";
  number = value;
  return {};
}

std::string FlagTable::parseSeed(const std::string &text, uint64_t &seed) {
  char *end = nullptr;
  errno = 0;
  seed = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || text[0] == '-' || *end != 0 || errno != 0)
    return "wants a seed, a whole number from 0 to 2^64 - 1, not '" + text + "'";
  return {};
}

std::string FlagTable::notAmong(const std::string &text, const std::vector<std::string> &choices) {
  std::string known;
  for (const std::string &choice : choices)
    known += (known.empty() ? "" : &choice == &choices.back() ? " or " : ", ") + choice;
  return "is " + known + ", not '" + text + "'" + didYouMean(text, choices);
}

const FlagTable::Flag *FlagTable::find(const std::string &name) const {
  for (const Flag &flag : flags)
    if (std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end())
      return &flag;
  return nullptr;
}

std::vector<std::string> FlagTable::names() const {
  std::vector<std::string> result{"--help", "--version", "--completion", "--man"};
  for (const Flag &flag : flags)
    if (!flag.help.empty())
      result.insert(result.end(), flag.names.begin(), flag.names.end());
  return result;
}

std::string FlagTable::unknown(const std::string &name) const {
  std::string near = didYouMean(name, names());
  return "there is no flag '" + name + "'" + (near.empty() ? kSeeHelp : near);
}

bool FlagTable::asks(const std::string &name, const std::string &value, std::string &wrong) {
  if (name == "--help" || name == "-h") {
    question = Question::Help;
    helpTopic = value;
    wrong = wrongTopic();
  } else if (name == "--version") {
    question = Question::Version;
  } else if (name == "--man") {
    question = Question::Man;
  } else if (name == "--completion") {
    question = Question::Completion;
    shell = value;
    if (shell != "bash" && shell != "zsh")
      wrong = "--completion " + notAmong(shell, {"bash", "zsh"});
  } else {
    return false;
  }
  return true;
}

std::string FlagTable::parse(const std::vector<std::string> &arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-' || resemblesNumber(argument)) {
      std::string wrong =
          takePositional ? takePositional(argument) : "what is '" + argument + "'?" + kSeeHelp;
      if (!wrong.empty())
        return wrong;
      continue;
    }
    size_t equals = argument.find('=');
    bool attached = equals != std::string::npos;
    std::string name = argument.substr(0, equals);
    std::string given = attached ? argument.substr(equals + 1) : "";
    if (name == "--completion" && !attached && i + 1 < arguments.size())
      given = arguments[++i];
    if (std::string wrong; asks(name, given, wrong))
      return wrong;
    const Flag *flag = find(name);
    if (!flag)
      return unknown(name);
    if (flag->kind == Kind::Refused)
      return name + ": " + flag->take(given);
    if (flag->kind == Kind::Alone && attached)
      return name + " takes no value, but has '" + given + "'";
    if (flag->kind == Kind::Value && !attached) {
      if (i + 1 == arguments.size())
        return name + " wants a value: " + name + " " + flag->placeholder;
      given = arguments[++i];
      if (given.size() > 1 && given[0] == '-' && find(given.substr(0, given.find('='))))
        return name + " wants a value, but '" + given + "' is a flag; if it is meant, write " +
               name + "=" + given;
    }
    if (flag->kind == Kind::Optional && attached && given.empty())
      return name + " has an empty value; write " + name + " or " + name + "=" + flag->placeholder;
    if (std::string wrong = flag->take(given); !wrong.empty())
      return name + " " + wrong;
    bool alone = flag->kind == Kind::Alone || (flag->kind == Kind::Optional && !attached);
    written.push_back({flag->names.front(), given, alone});
  }
  return {};
}

std::string FlagTable::wrongTopic() const {
  std::vector<std::string> known;
  std::string list;
  for (const Topic &topic : topics)
    if (!topic.key.empty()) {
      known.push_back(topic.key);
      list += (list.empty() ? "" : ", ") + topic.key;
    }
  auto is = [&](const std::string &key) { return key == helpTopic; };
  if (helpTopic.empty() || find(helpTopic) || find("--" + helpTopic) ||
      std::any_of(known.begin(), known.end(), is))
    return {};
  for (const std::string &name : names())
    known.push_back(name);
  std::string near = didYouMean(helpTopic, known);
  return "--help knows no topic '" + helpTopic + "'" +
         (list.empty() ? "" : "; topics are " + list + ", and every flag") + near;
}

std::string FlagTable::describe(const Flag &flag) const {
  std::string left = "  ";
  for (const std::string &name : flag.names)
    left += (left.size() > 2 ? ", " : "") + name;
  left += flag.kind == Kind::Value      ? " " + flag.placeholder
          : flag.kind == Kind::Optional ? "[=" + flag.placeholder + "]"
                                        : "";
  std::string right = wrapped(flag.help);
  if (left.size() + 2 <= kHelpColumn)
    return left + right.substr(left.size());
  return left + "\n" + right;
}

std::string FlagTable::describe(size_t index) const {
  const Topic &topic = topics[index];
  std::string result = topic.title.empty() ? "" : topic.title + "\n";
  result += topic.text;
  for (const Flag &flag : flags)
    if (flag.topic == index && !flag.help.empty())
      result += describe(flag);
  return result;
}

std::string FlagTable::help() const {
  std::string result = intro, keys;
  for (size_t i = 0; i < topics.size(); ++i) {
    result += "\n" + describe(i);
    if (!topics[i].key.empty())
      keys += (keys.empty() ? "" : ", ") + topics[i].key;
  }
  result +=
      "\nAlso\n" +
      describe({{"--help"},
                keys.empty() ? "FLAG" : "TOPIC",
                "this, or only what is about one flag" + (keys.empty() ? "" : " or topic: " + keys),
                Kind::Optional,
                {},
                0,
                {}});
  result += describe({{"--version"}, "", "tell the version", Kind::Alone, {}, 0, {}});
  result += describe({{"--completion"},
                      "bash|zsh",
                      "a script for bash or zsh that completes these flags",
                      Kind::Value,
                      {},
                      0,
                      {}});
  result += describe({{"--man"}, "", "this as a page for man", Kind::Alone, {}, 0, {}});
  return result + (ending.empty() ? "" : "\n" + ending);
}

std::string FlagTable::answer() const {
  if (question == Question::Man)
    return manPage();
  if (question == Question::Completion)
    return completion(shell);
  if (question == Question::Version)
    return tool + " " + weftVersion() + "\n";
  if (helpTopic.empty())
    return help();
  const Flag *flag = find(helpTopic);
  if (flag = flag ? flag : find("--" + helpTopic); flag)
    return flag->kind == Kind::Refused ? flag->names.front() + ": " + flag->take("") + "\n"
                                       : describe(*flag);
  for (size_t i = 0; i < topics.size(); ++i)
    if (topics[i].key == helpTopic)
      return describe(i);
  return help();
}
