// One table of a tool's flags: parsing, --help, near misses, completion and man pages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_FLAGS_H
#define WEFT_RUNTIME_FLAGS_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::runtime {

/// All our tools but those built on LLVM's own command line have one of these,
/// so that flags are written, explained and refused alike everywhere:
///
///   FlagTable flags("weft-data", "weft-data --idx-to-npy FILE -o FILE.npy");
///   flags.topic("files", "Files");
///   flags.text("-o", "FILE.npy", "what is written", options.output);
///   std::string error = flags.parse(arguments);   // exit code 2 if not empty
///
/// A flag is written `--flag value` or `--flag=value`. Each table has --help,
/// --help=TOPIC, --help=FLAG and --version; --completion=SHELL and --man, which
/// packages of the tools are made with.
class FlagTable {
public:
  /// Takes a flag's value and returns what is wrong with it, or nothing. The
  /// text stands behind the flag's name: "wants a number, not 'x'".
  using Take = std::function<std::string(const std::string &value)>;

  /// `intro` is what --help begins with.
  FlagTable(std::string tool, std::string intro);

  /// Opens a topic, to which the next flags belong: `key` for --help=KEY, a title, and
  /// text that stands before the flags.
  void topic(std::string key, std::string title, std::string text = "");
  /// Behind all flags: exit codes, for one.
  void epilogue(std::string text) { ending = std::move(text); }

  /// The names of a flag just added, so that a tool can keep more with them.
  using Names = std::vector<std::string>;
  /// `names` are separated by `|`, the one that messages use first. A flag
  /// without `help` is not listed. `placeholder` is what --help calls the value;
  /// `choices` are values that a shell may offer.
  Names value(const std::string &names, std::string placeholder, std::string help, Take take,
              std::vector<std::string> choices = {});
  /// A flag whose value may be left out and then is ""; it has to be attached.
  Names optional(const std::string &names, std::string placeholder, std::string help, Take take,
                 std::vector<std::string> choices = {});
  Names alone(const std::string &names, std::string help, std::function<void()> take);

  Names text(const std::string &names, std::string placeholder, std::string help,
             std::string &target);
  Names toggle(const std::string &names, std::string help, bool &target);
  /// A whole number from `least` to `greatest`.
  template <typename T>
  Names count(const std::string &names, std::string placeholder, std::string help, T &target,
              int64_t least, int64_t greatest = int64_t(1) << 48) {
    return value(names, std::move(placeholder), std::move(help),
                 [&target, least, greatest](const std::string &text) {
                   int64_t number = 0;
                   std::string wrong = parseCount(text, least, greatest, number);
                   if (wrong.empty())
                     target = static_cast<T>(number);
                   return wrong;
                 });
  }
  /// A number from 0 to 2^64 - 1.
  Names seed(const std::string &names, std::string placeholder, std::string help, uint64_t &target);
  /// A number from 0 to `greatest`.
  Names number(const std::string &names, std::string placeholder, std::string help, double &target,
               double greatest);
  /// One of `choices`.
  Names choice(const std::string &names, std::string placeholder, std::string help,
               std::string &target, std::vector<std::string> choices);
  /// A flag that is known but refused, with the reason.
  void refused(const std::string &name, std::string reason);
  /// Takes the arguments without a flag; the returned text is the whole message.
  void positional(Take take) { takePositional = std::move(take); }

  /// Returns what is wrong with the command line, or nothing.
  std::string parse(const std::vector<std::string> &arguments);
  /// Whether the command line asks only for `answer()`: nothing else counts then.
  bool answers() const { return question != Question::None; }
  /// All flags that were given, by their first name, and their values.
  struct Given {
    std::string name, value;
    bool alone; // without a value
  };
  const std::vector<Given> &given() const { return written; }
  /// The text that --help, --version, --completion or --man prints.
  std::string answer() const;

  std::string help() const;
  /// A script that tells a shell ("bash" or "zsh") the flags and their values.
  std::string completion(const std::string &shell) const;
  /// The page of section 1, in the language of man(7).
  std::string manPage() const;
  /// The names of all listed flags, for near misses and tests.
  std::vector<std::string> names() const;

  static std::string parseCount(const std::string &text, int64_t least, int64_t greatest,
                                int64_t &number);
  static std::string parseNumber(const std::string &text, double greatest, double &number);
  static std::string parseSeed(const std::string &text, uint64_t &seed);
  /// "is a, b or c, not 'd'; did you mean 'c'?"
  static std::string notAmong(const std::string &text, const std::vector<std::string> &choices);

private:
  enum class Kind { Value, Optional, Alone, Refused };
  struct Flag {
    std::vector<std::string> names;
    std::string placeholder, help;
    Kind kind;
    Take take;
    size_t topic;
    std::vector<std::string> choices;
  };
  struct Topic {
    std::string key, title, text;
  };

  enum class Question { None, Help, Version, Completion, Man };

  Names add(const std::string &names, std::string placeholder, std::string help, Kind kind,
            Take take, std::vector<std::string> choices = {});
  /// Whether `name` is a flag that every table has; what is wrong with its value.
  bool asks(const std::string &name, const std::string &value, std::string &wrong);
  std::string bashCompletion() const;
  std::string zshCompletion() const;
  const Flag *find(const std::string &name) const;
  std::string unknown(const std::string &name) const;
  std::string describe(const Flag &flag) const;
  std::string describe(size_t topic) const;
  std::string wrongTopic() const;

  std::string tool, intro, ending;
  std::vector<Topic> topics;
  std::vector<Flag> flags;
  std::vector<Given> written;
  Take takePositional;
  Question question = Question::None;
  std::string helpTopic, shell;
};

/// The version of all our tools.
const char *weftVersion();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_FLAGS_H
