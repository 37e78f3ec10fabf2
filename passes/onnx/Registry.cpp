// Look-up of operators by version, with reasons for those not found.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

using namespace weft::onnx;

const Registry &Registry::get() {
  static const Registry registry = [] {
    Registry made;
    for (auto family :
         {registerElementwise, registerActivations,     registerShapes,     registerLayout,
          registerRandom,      registerRecurrent,       registerReductions, registerProducts,
          registerEinsum,      registerConvolutions,    registerPools,      registerNormalizations,
          registerIndexing,    registerGridSample,      registerResize,     registerAttention,
          registerLosses,      registerQuantization,    registerSearch,     registerOptimizers,
          registerContrib,     registerContribAttention})
      family(made);
    constexpr const char *shapes = "its result has a shape that depends on data";
    for (const char *op : {"NonMaxSuppression", "StringSplit"})
      made.refuse(op, shapes);
    for (const char *op :
         {"SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
          "SequenceLength", "SequenceMap", "SplitToSequence", "ConcatFromSequence", "Optional",
          "OptionalGetElement", "OptionalHasElement"})
      made.refuse(op, "sequences and optional values are not compiled; only tensors are");
    for (const char *op : {"StringNormalizer", "TfIdfVectorizer", "StringConcat", "RegexFullMatch"})
      made.refuse(op, "strings are not compiled");
    for (const char *op : {"Multinomial", "Bernoulli"})
      made.refuse(op, "random numbers are not compiled into inference "
                      "programs; make them an input");
    made.refuseDomain("com.microsoft.nchwc",
                      "ONNX Runtime wrote the file for the processor that it "
                      "ran on; optimise it at the level 'extended'");
    made.refuseDomain("ai.onnx.ml", "its operators are not compiled");
    return made;
  }();
  return registry;
}

void Registry::add(llvm::StringRef op, int64_t from, int64_t to, Handler handler,
                   llvm::StringRef domain) {
  entries[{domain.str(), op.str()}].push_back({from, to, std::move(handler)});
}

void Registry::refuse(llvm::StringRef op, llvm::StringRef reason) {
  refused[op.str()] = reason.str();
}

void Registry::refuseDomain(llvm::StringRef domain, llvm::StringRef reason) {
  refusedDomains[domain.str()] = reason.str();
}

llvm::Expected<const Handler &> Registry::find(llvm::StringRef domain, llvm::StringRef op,
                                               int64_t version) const {
  auto name = [&] {
    return "operator '" + op.str() + "' of " +
           (domain.empty() ? std::string("opset ") : "domain '" + domain.str() + "', version ") +
           std::to_string(version);
  };
  auto found = entries.find({domain.str(), op.str()});
  if (found == entries.end()) {
    std::string problem = name() + " is not supported";
    auto reason = refused.find(op.str());
    if (domain.empty() && reason != refused.end())
      problem += ": " + reason->second;
    if (auto whole = refusedDomains.find(domain.str()); whole != refusedDomains.end())
      problem += ": " + whole->second;
    return llvm::createStringError(problem);
  }
  int64_t oldest = found->second.front().from, newest = 0;
  for (const Entry &entry : found->second) {
    oldest = std::min(oldest, entry.from);
    newest = std::max(newest, entry.to);
    if (version >= entry.from && version <= entry.to)
      return entry.handler;
  }
  if (version > newest)
    return llvm::createStringError(name() + " is newer than " + std::to_string(newest) +
                                   ", the newest whose definition is supported; export the model "
                                   "with that opset");
  return llvm::createStringError(name() + " is not supported; its definition is from opset " +
                                 std::to_string(oldest));
}
