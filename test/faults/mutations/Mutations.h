// Seeded damage to model files, for the fuzzing programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_FAULTS_MUTATIONS_MUTATIONS_H
#define WEFT_TEST_FAULTS_MUTATIONS_MUTATIONS_H

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace weft::test {

using Random = std::mt19937_64;

/// A number below `bound`; 0 if there is none.
uint64_t pick(Random &random, uint64_t bound);

/// The bytes of every *.onnx below `folder`, in an order that does not depend
/// on the file system.
std::vector<std::string> loadCorpus(const std::string &folder);

/// A model of the corpus after random changes: half the time to its bytes,
/// half the time to its fields, so that it still parses.
std::string mutatedModel(const std::vector<std::string> &corpus, Random &random);

/// The same with changes to fields only.
std::string mutatedFields(const std::vector<std::string> &corpus, Random &random);

/// The bytes of every *.onnx below `folder`, shape operands that come as data
/// beside them made initializers; in an order that does not depend on the file
/// system.
std::vector<std::string> loadShapeCorpus(const std::string &folder);

/// A model of such a corpus with other numbers in shape operands, attributes and
/// extents of inputs, and sometimes with nodes that read what it makes.
std::string mutatedNumbers(const std::vector<std::string> &corpus, Random &random);

} // namespace weft::test

#endif // WEFT_TEST_FAULTS_MUTATIONS_MUTATIONS_H
