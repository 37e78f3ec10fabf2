// The operators that convert to `nn`, by domain, name and version.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_REGISTRY_H
#define WEFT_PASSES_ONNX_REGISTRY_H

#include "passes/onnx/NodeContext.h"

#include "llvm/Support/Error.h"

#include <map>

namespace weft::onnx {

/// The newest version of the default domain that we know. A later one may have
/// changed any operator, so models that import it are refused operator by
/// operator.
inline constexpr int64_t kNewestOpset = 28;

using Handler = std::function<Results(NodeContext &)>;

class Registry {
public:
  /// All operators that we know.
  static const Registry &get();

  /// `handler` implements every definition of `op` in force in the versions
  /// `from` to `to` of the domain.
  void add(llvm::StringRef op, int64_t from, int64_t to, Handler handler,
           llvm::StringRef domain = "");
  void add(llvm::StringRef op, Handler handler) { add(op, 1, kNewestOpset, std::move(handler)); }
  void addSince(llvm::StringRef op, int64_t from, Handler handler) {
    add(op, from, kNewestOpset, std::move(handler));
  }
  /// An operator that we know of and why it cannot be compiled.
  void refuse(llvm::StringRef op, llvm::StringRef reason);
  /// The same for all operators of a domain.
  void refuseDomain(llvm::StringRef domain, llvm::StringRef reason);

  /// The handler, or why there is none.
  llvm::Expected<const Handler &> find(llvm::StringRef domain, llvm::StringRef op,
                                       int64_t version) const;

private:
  struct Entry {
    int64_t from, to;
    Handler handler;
  };
  std::map<std::pair<std::string, std::string>, llvm::SmallVector<Entry, 1>> entries;
  std::map<std::string, std::string> refused, refusedDomains;
};

// One function for each family, in the file of that name under `ops/`.
void registerElementwise(Registry &registry);
void registerActivations(Registry &registry);
void registerShapes(Registry &registry);
void registerLayout(Registry &registry);
void registerRandom(Registry &registry);
void registerRecurrent(Registry &registry);
void registerReductions(Registry &registry);
void registerProducts(Registry &registry);
void registerEinsum(Registry &registry);
void registerConvolutions(Registry &registry);
void registerPools(Registry &registry);
void registerNormalizations(Registry &registry);
void registerIndexing(Registry &registry);
void registerGridSample(Registry &registry);
void registerResize(Registry &registry);
void registerAttention(Registry &registry);
void registerLosses(Registry &registry);
void registerQuantization(Registry &registry);
void registerSearch(Registry &registry);
void registerOptimizers(Registry &registry);
void registerContrib(Registry &registry);
void registerContribAttention(Registry &registry);

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_REGISTRY_H
