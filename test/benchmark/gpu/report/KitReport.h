// From the parts' JSON files to results.json, and from that to tables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::gpukit {

using Json = nlohmann::ordered_json;

/// The parts in the order of the tables.
inline constexpr const char *partNames[] = {"machine", "a", "b", "c", "d", "e", "f", "g", "h", "i"};

/// Gathers `folder`/part-NAME.{json,exit,log}. A part that wrote nothing, or
/// was ended half-way, says so in its status.
Json mergeParts(const std::string &folder, double seconds, const std::string &date);

/// A few lines per part for a terminal.
void writeSummary(const Json &results, std::ostream &out);

/// docs/gpu-results.md in full. Throws std::runtime_error where `results` is
/// not a results.json.
void writeTables(const Json &results, std::ostream &out);

/// docs/gpu-results.md while no GPU machine could be reached: it holds no
/// figure.
void writeNotRun(std::ostream &out);

} // namespace weft::gpukit
