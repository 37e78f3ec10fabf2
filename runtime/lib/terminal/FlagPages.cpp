// What follows from a table of flags for shells and for man.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Flags.h"

#include <algorithm>
#include <cctype>

using namespace weft::runtime;

namespace {

std::string joined(const std::vector<std::string> &words, const std::string &separator) {
  std::string result;
  for (const std::string &word : words)
    result += (result.empty() ? "" : separator) + word;
  return result;
}

/// What a function of a shell may be called.
std::string identifier(std::string tool) {
  for (char &c : tool)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return "_" + tool;
}

/// `text` on one line with a backslash before each character of `special`.
std::string escaped(const std::string &text, const std::string &special) {
  std::string result;
  for (char c : text) {
    if (special.find(c) != std::string::npos)
      result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

/// `text` between single quotes of a shell.
std::string quoted(const std::string &text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

/// A line of man(7) text: a dash that is one, no escape, no request.
std::string roff(const std::string &text) {
  std::string result;
  bool isStart = true;
  for (char c : text) {
    if (isStart && (c == '.' || c == '\''))
      result += "\\&";
    result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    isStart = c == '\n';
  }
  return result;
}

std::string verbatim(const std::string &text) { return ".nf\n" + roff(text) + "\n.fi\n"; }

std::string upper(std::string text) {
  for (char &c : text)
    c = char(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The paragraphs of `text`, which empty lines part.
std::vector<std::string> paragraphs(const std::string &text) {
  std::vector<std::string> result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find("\n\n", begin), text.size());
    std::string part = text.substr(begin, end - begin);
    while (!part.empty() && part.back() == '\n')
      part.pop_back();
    if (!part.empty())
      result.push_back(part);
    begin = end + 2;
  }
  return result;
}

} // namespace

std::string FlagTable::completion(const std::string &shell) const {
  return shell == "zsh" ? zshCompletion() : bashCompletion();
}

std::string FlagTable::bashCompletion() const {
  std::string function = identifier(tool), valued, cases;
  // A value that may be left out has to be attached: it is no word of its own.
  auto patterns = [](const std::vector<std::string> &names, bool mayStandApart) {
    std::string either = joined(names, "=|") + "=";
    return mayStandApart ? joined(names, "|") + "|" + either : either;
  };
  auto offer = [&](const std::string &pattern, const std::vector<std::string> &words) {
    cases += "    " + pattern + ") COMPREPLY=($(compgen -W " + quoted(joined(words, " ")) +
             " -- \"$word\")); return ;;\n";
  };
  for (const Flag &flag : flags) {
    if (flag.help.empty() || (flag.kind != Kind::Value && flag.choices.empty()))
      continue;
    std::string pattern = patterns(flag.names, flag.kind == Kind::Value);
    if (!flag.choices.empty())
      offer(pattern, flag.choices);
    else
      valued += (valued.empty() ? "" : "|") + pattern;
  }
  offer(patterns({"--completion"}, true), {"bash", "zsh"});
  if (!valued.empty())
    cases += "    " + valued + ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n";
  // bash takes `=` for a word of its own.
  return "# Completes " + tool + " in bash.\n" + function + R"(() {
  local word=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} attached=
  if [ "$word" = = ]; then word= attached==
  elif [ "$flag" = = ]; then flag=${COMP_WORDS[COMP_CWORD-2]} attached==
  fi
  case $flag$attached in
)" + cases +
         "  esac\n  case $word in\n    -*) COMPREPLY=($(compgen -W " +
         quoted(joined(names(), " ")) +
         " -- \"$word\")) ;;\n    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n  esac\n}\n" +
         "complete -o filenames -F " + function + " " + tool + "\n";
}

std::string FlagTable::zshCompletion() const {
  std::string result = "#compdef " + tool + "\n_arguments -s -S \\\n";
  for (const Flag &flag : flags) {
    if (flag.help.empty())
      continue;
    for (const std::string &name : flag.names) {
      // A value follows `--flag=` or `--flag `, and `-f` at once or as the next word.
      std::string joint = name.compare(0, 2, "--") == 0 ? "=" : "+";
      std::string spec = "*" + name +
                         (flag.kind == Kind::Value      ? joint
                          : flag.kind == Kind::Optional ? "=-"
                                                        : "");
      spec += "[" + escaped(flag.help, "[]:\\") + "]";
      if (flag.kind != Kind::Alone)
        spec += (flag.kind == Kind::Optional ? "::" : ":") + escaped(flag.placeholder, ":\\") +
                (flag.choices.empty() ? ":_files" : ":(" + joined(flag.choices, " ") + ")");
      result += "  " + quoted(spec) + " \\\n";
    }
  }
  return result + "  '--help=-[this, or what is about one flag or topic]::TOPIC:' \\\n"
                  "  '--version[tell the version]' \\\n"
                  "  '--completion=[a script for a shell]:SHELL:(bash zsh)' \\\n"
                  "  '--man[this as a page for man]' \\\n"
                  "  '*:file:_files'\n";
}

std::string FlagTable::manPage() const {
  std::vector<std::string> parts = paragraphs(intro);
  std::string synopsis, summary, description;
  for (const std::string &part : parts)
    if (part.compare(0, 7, "usage: ") == 0)
      synopsis = part.substr(7);
    else if (summary.empty())
      summary = part;
    else
      description += verbatim(part);
  std::string page = ".TH " + upper(roff(tool)) + " 1 \"\" \"Weft " + weftVersion() + "\"\n";
  page += ".SH NAME\n" + roff(tool) + " \\- " + roff(summary) + "\n";
  page += ".SH SYNOPSIS\n" + verbatim(synopsis);
  if (!description.empty())
    page += ".SH DESCRIPTION\n" + description;
  page += ".SH OPTIONS\n";
  for (size_t i = 0; i < topics.size(); ++i) {
    if (!topics[i].title.empty())
      page += ".SS " + roff(topics[i].title) + "\n";
    for (const std::string &part : paragraphs(topics[i].text))
      page += verbatim(part);
    for (const Flag &flag : flags) {
      if (flag.topic != i || flag.help.empty())
        continue;
      page += ".TP\n.B " + roff(joined(flag.names, ", "));
      page += flag.kind == Kind::Value      ? " " + roff(flag.placeholder)
              : flag.kind == Kind::Optional ? roff("[=" + flag.placeholder + "]")
                                            : "";
      page += "\n" + roff(flag.help) + "\n";
    }
  }
  if (!ending.empty())
    page += ".SH EXIT STATUS\n" + verbatim(ending);
  return page;
}
