// Clusters that have names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Cluster.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fs = std::filesystem;
using namespace weft;

static constexpr const char *kSuffix = ".textproto";

static fs::path library() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none).parent_path() / ".." / "share" / "weft" /
         "clusters";
}

std::string weft::fileOfCluster(const std::string &name) {
  std::error_code none;
  fs::path file = library() / (name + kSuffix);
  bool isName = !name.empty() && name.find('/') == std::string::npos;
  return isName && fs::is_regular_file(file, none) ? file.lexically_normal().string() : "";
}

std::vector<std::string> weft::namesOfClusters() {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry &entry : fs::directory_iterator(library(), none))
    if (entry.path().extension() == kSuffix)
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> weft::textOfCluster(const std::string &fileOrName, std::string &error) {
  // Neither an endless file nor a pipe that nobody writes to.
  constexpr uintmax_t kMostBytes = 1 << 20;
  std::error_code code;
  bool isThere = fs::exists(fileOrName, code);
  std::string file = isThere ? fileOrName : fileOfCluster(fileOrName);
  if (file.empty() && fileOrName.find('/') == std::string::npos) {
    error = "'" + fileOrName + "' is neither a file nor a cluster's name; those with names are ";
    for (const std::string &name : namesOfClusters())
      error += (error.back() == ' ' ? "" : ", ") + name;
    return std::nullopt;
  }
  if (isThere && (!fs::is_regular_file(file, code) || fs::file_size(file, code) > kMostBytes)) {
    error =
        "'" + file + "' must be a regular file of at most " + std::to_string(kMostBytes) + " bytes";
    return std::nullopt;
  }
  std::ifstream stream(file.empty() ? fileOrName : file, std::ios::binary);
  std::ostringstream text;
  if (stream && stream.peek() == std::char_traits<char>::eof() && !stream.bad()) {
    error = "'" + fileOrName + "' is empty";
    return std::nullopt;
  }
  if (!stream || !(text << stream.rdbuf())) {
    error = "cannot read '" + fileOrName + "': " + std::strerror(errno);
    return std::nullopt;
  }
  return text.str();
}
