// Basic splitting and greedy longest-match pieces.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WordPiece.h"

#include <algorithm>

namespace weft {
namespace {

// BERT gives up on longer words.
constexpr size_t kLongestWord = 100;

/// Decodes UTF-8; a malformed byte becomes U+FFFD.
std::u32string decode(const std::string &text) {
  std::u32string points;
  for (size_t i = 0; i < text.size();) {
    unsigned char lead = text[i++];
    int extra = lead < 0x80   ? 0
                : lead < 0xc2 ? -1
                : lead < 0xe0 ? 1
                : lead < 0xf0 ? 2
                : lead < 0xf5 ? 3
                              : -1;
    char32_t point = extra < 0 ? 0xfffd : extra == 0 ? lead : lead & (63 >> extra);
    for (; extra > 0; --extra, ++i) {
      if (i >= text.size() || (text[i] & 0xc0) != 0x80) {
        point = 0xfffd;
        break;
      }
      point = point << 6 | (text[i] & 0x3f);
    }
    points.push_back(point);
  }
  return points;
}

std::string encodeUtf8(const std::u32string &points) {
  std::string text;
  for (char32_t p : points) {
    if (p < 0x80) {
      text += char(p);
    } else if (p < 0x800) {
      text += char(0xc0 | p >> 6);
      text += char(0x80 | (p & 63));
    } else if (p < 0x10000) {
      text += char(0xe0 | p >> 12);
      text += char(0x80 | (p >> 6 & 63));
      text += char(0x80 | (p & 63));
    } else {
      text += char(0xf0 | p >> 18);
      text += char(0x80 | (p >> 12 & 63));
      text += char(0x80 | (p >> 6 & 63));
      text += char(0x80 | (p & 63));
    }
  }
  return text;
}

/// Lower case without accent for ASCII and Latin-1; combining marks vanish (0).
/// Other scripts pass unchanged: they would need the tables of Unicode.
char32_t normalise(char32_t p) {
  if (p >= 'A' && p <= 'Z')
    return p + 32;
  if (p >= 0x300 && p <= 0x36f)
    return 0;
  // U+00C0..U+00FF; '.' marks letters that have no decomposition.
  static const char kBase[] = "aaaaaa.ceeeeiiii.nooooo..uuuuy.."
                              "aaaaaa.ceeeeiiii.nooooo..uuuuy.y";
  if (p >= 0xc0 && p <= 0xff) {
    char base = kBase[p - 0xc0];
    if (base != '.')
      return base;
    bool upper = p < 0xdf && p != 0xd7;
    return upper ? p + 32 : p;
  }
  return p;
}

bool isSpace(char32_t p) {
  return p == ' ' || (p >= 9 && p <= 13) || p == 0xa0 || p == 0x3000 ||
         (p >= 0x2000 && p <= 0x200a) || p == 0x2028 || p == 0x2029;
}

/// Control characters are dropped.
bool isDropped(char32_t p) {
  return p == 0 || p == 0xfffd || p < 32 || (p >= 0x7f && p < 0xa0) || p == 0x200b || p == 0xfeff;
}

/// Characters that are a word of their own: punctuation and CJK ideographs.
bool standsAlone(char32_t p) {
  return (p >= 33 && p <= 47) || (p >= 58 && p <= 64) || (p >= 91 && p <= 96) ||
         (p >= 123 && p <= 126) || p == 0xa1 || p == 0xa7 || p == 0xab || p == 0xb6 || p == 0xb7 ||
         p == 0xbb || p == 0xbf || (p >= 0x2010 && p <= 0x2027) || (p >= 0x2030 && p <= 0x205e) ||
         (p >= 0x3001 && p <= 0x3003) || (p >= 0x3008 && p <= 0x3011) ||
         (p >= 0x3400 && p <= 0x4dbf) || (p >= 0x4e00 && p <= 0x9fff) ||
         (p >= 0xf900 && p <= 0xfaff) || (p >= 0x20000 && p <= 0x2fa1f);
}

} // namespace

WordPiece::WordPiece(std::istream &vocabulary) {
  std::string line;
  for (int64_t id = 0; std::getline(vocabulary, line); ++id) {
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    pieces.emplace(line, id);
  }
  auto special = [&](const char *name) -> int64_t {
    auto it = pieces.find(name);
    if (it != pieces.end())
      return it->second;
    problem = std::string("the vocabulary has no ") + name;
    return 0;
  };
  unknown = special("[UNK]");
  start = special("[CLS]");
  end = special("[SEP]");
}

void WordPiece::appendWord(const std::u32string &word, std::vector<int64_t> &ids) const {
  std::vector<int64_t> found;
  size_t begin = 0;
  while (begin < word.size() && word.size() <= kLongestWord) {
    size_t length = word.size() - begin;
    auto it = pieces.end();
    for (; length > 0 && it == pieces.end(); --length)
      it = pieces.find((begin ? "##" : "") + encodeUtf8(word.substr(begin, length)));
    if (it == pieces.end())
      break;
    found.push_back(it->second);
    begin += length + 1;
  }
  if (begin == word.size())
    ids.insert(ids.end(), found.begin(), found.end());
  else
    ids.push_back(unknown);
}

std::vector<int64_t> WordPiece::encode(const std::string &text, size_t limit) const {
  std::vector<int64_t> ids = {start};
  std::u32string word;
  auto flush = [&] {
    if (!word.empty())
      appendWord(word, ids);
    word.clear();
  };
  for (char32_t raw : decode(text)) {
    if (isSpace(raw)) {
      flush();
      continue;
    }
    char32_t point = normalise(raw);
    if (isDropped(point))
      continue;
    if (!standsAlone(point)) {
      word.push_back(point);
      continue;
    }
    flush();
    appendWord({point}, ids);
  }
  flush();
  ids.resize(std::min(ids.size(), limit - 1));
  ids.push_back(end);
  return ids;
}

} // namespace weft
