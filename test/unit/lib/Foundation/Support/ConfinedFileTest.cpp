// Files that are gone, or shorter than they were.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/ConfinedFile.h"
#include <cstdio>
#include <gtest/gtest.h>
#include <unistd.h>

using weft::ConfinedFile;
using weft::MissingFile;

TEST(ConfinedFile, AMissingFileIsToldFromAMissingFolder) {
  ConfinedFile file;
  llvm::Error missing = file.open(testing::TempDir(), "absent");
  EXPECT_TRUE(missing.isA<MissingFile>());
  EXPECT_EQ(llvm::toString(std::move(missing)), "No such file or directory");
  llvm::Error noFolder = file.open(testing::TempDir() + "/absent", "file");
  EXPECT_FALSE(noFolder.isA<MissingFile>());
  EXPECT_EQ(llvm::toString(std::move(noFolder)), "No such file or directory");
}

TEST(ConfinedFile, AFileThatBecameShorterEndsTooEarly) {
  std::string name = "weft-shorter-" + std::to_string(getpid()), path = testing::TempDir() + name;
  std::FILE *made = std::fopen(path.c_str(), "w");
  ASSERT_TRUE(made);
  std::fputs("0123", made);
  std::fclose(made);
  ConfinedFile file;
  ASSERT_FALSE(bool(file.open(testing::TempDir(), name)));
  ASSERT_EQ(file.getSize(), 4u);
  ASSERT_EQ(truncate(path.c_str(), 2), 0);
  char bytes[4];
  EXPECT_FALSE(bool(file.read(0, 2, bytes)));
  EXPECT_EQ(llvm::toString(file.read(0, 4, bytes)), "the file ends too early");
  unlink(path.c_str());
}
