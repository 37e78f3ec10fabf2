// Built models in every precision, on one rank and on several, against the oracle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: weft-precision [MODEL [PRECISION]]
//
// The oracle executes the program's casts as roundings and computes in fp64, on the
// program before idioms are raised. Held to (u is the type's unit roundoff):
// - fp64: 1e-11;
// - fp32: 1e-5 (measured: 5e-7);
// - bf16, fp16: twice the error of a program that rounds once per op and computes in
//   fp64 (measured: 1.6 times).
// The program of one rank is compiled for each x86-64 level that this machine executes,
// too, and the programs of several for one of them or this machine's processor, in turn.
// That yardstick is the interpreter with every result rounded: what the type itself
// costs, whoever computes. Several ranks may err as much as one; sums in another
// order cost at least u.
#include "Variant.h"

#include "python_free_frontend/builders/Builders.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Target/Cpu/Processor.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <cstdlib>

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

constexpr Model kModels[] = {
    {"mlp", "mlp:layers=3,inputs=64,hidden=96,classes=10,activation=gelu,std=0.1", "batch=8", true},
    {"gpt2", "gpt2:layers=2,hidden=64,heads=4,vocab=256,seq=64,std=0.1,init=varied",
     "batch=4,seq=24", true},
    {"llama",
     "llama:layers=2,hidden=64,heads=4,kv_heads=2,ffn=128,vocab=256,seq=64,std=0.1,init=varied",
     "batch=4,seq=24", true},
    {"bert",
     "bert:layers=2,hidden=64,heads=4,vocab=256,seq=64,std=0.1,init=varied,pooling=mean,normalize="
     "1",
     "batch=4,seq=24", true},
    {"vit", "vit:layers=2,hidden=64,heads=4,image=32,patch=8,classes=10,std=0.1,init=varied",
     "batch=4", true},
    {"moe",
     "moe:layers=1,hidden=64,heads=4,kv_heads=2,ffn=128,vocab=256,seq=64,experts=4,top_k=2,group="
     "16,std=0.1,init=varied",
     "batch=4,seq=16", false},
};

/// At full width, with WEFT_TEST_FULL=1.
constexpr Model kWideModels[] = {
    {"gpt2-wide", "gpt2:layers=2,hidden=768,heads=12,vocab=50257,seq=128,init=varied",
     "batch=2,seq=32", true},
    {"llama-wide",
     "llama:layers=1,hidden=2048,heads=32,kv_heads=8,ffn=5632,vocab=4096,seq=128,init=varied",
     "batch=2,seq=16", true},
};

struct Precision {
  const char *name, *type;
  double roundoff;
};
constexpr Precision kPrecisions[] = {{"fp64", "f64", 0x1p-53},
                                     {"fp32", "f32", 0x1p-24},
                                     {"fp16", "f16", 0x1p-11},
                                     {"bf16", "bf16", 0x1p-8}};

struct Layout {
  const char *mesh;
  bool sequenceParallel;
};
constexpr Layout kLayouts[] = {
    {"dp=2", false}, {"tp=2", false}, {"dp=2,tp=2", false}, {"tp=2", true}, {"tp=3", false}};

class Table {
public:
  unsigned compared = 0, failed = 0;

  /// How many programs of a model and precision are compared.
  unsigned numRows() const { return 1 + levels.size() + std::size(kLayouts); }

  void check(const Model &model, const std::string &path, const Precision &precision) {
    MLIRContext context(registry(), MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    DiagnosticHandler handler(&context);
    Variant variant(context, path, model, precision.type);
    auto oracle = variant.interpreted(/*raised=*/false, InterpreterOptions::Rounding::CastsOnly);
    auto rounded = variant.interpreted(/*raised=*/true, InterpreterOptions::Rounding::EveryResult);
    if (!oracle || !rounded)
      return fail(model, precision, "the oracle does not run");
    bool isLow = precision.roundoff > 1e-6;
    double yardstick = errorOf(*rounded, *oracle);
    if (!std::isfinite(yardstick))
      return fail(model, precision, "the oracle's program is not finite in this type");
    double limit = isLow ? 2 * yardstick : precision.roundoff < 1e-10 ? 1e-11 : 1e-5;
    row(variant, model, precision, {"", false}, "native", *oracle, limit);
    llvm::outs() << llvm::format("  rounded once per op %.2e", yardstick) << '\n';
    for (const std::string &level : levels) {
      row(variant, model, precision, {"", false}, level, *oracle, limit);
      llvm::outs() << '\n';
    }
    for (const Layout &layout : kLayouts) {
      size_t turn = turns++ % (levels.size() + 1);
      row(variant, model, precision, layout, turn ? levels[turn - 1] : "native", *oracle,
          std::max(limit, precision.roundoff));
      llvm::outs() << '\n';
    }
  }

private:
  const std::vector<std::string> levels = cpu::executableLevels();
  size_t turns = 0;

  static DialectRegistry registry() {
    DialectRegistry result;
    registerAllDialects(result);
    return result;
  }

  void fail(const Model &model, const Precision &precision, const std::string &why) {
    ++failed;
    llvm::outs() << "FAILED " << model.name << ' ' << precision.name << ": " << why << '\n';
  }

  void row(const Variant &variant, const Model &model, const Precision &precision,
           const Layout &layout, const std::string &processor,
           const std::vector<HostTensor> &oracle, double limit) {
    std::string why;
    auto found = variant.compiled(layout.mesh, layout.sequenceParallel, processor, why);
    if (!found) {
      fail(model, precision,
           std::string("does not run on '") + layout.mesh + "' for " + processor + ": " + why);
      return;
    }
    double error = errorOf(*found, oracle);
    ++compared;
    failed += !(error <= limit);
    std::string where = *layout.mesh ? layout.mesh : "one rank";
    llvm::outs() << llvm::format("%-7s%-11s%-5s %-14s %-9s error %.2e allowed %.2e",
                                 error <= limit ? "" : "FAILED", model.name, precision.name,
                                 (where + (layout.sequenceParallel ? " seq" : "")).c_str(),
                                 processor.c_str(), error, limit);
  }
};

} // namespace

int main(int argc, char **argv) {
  StringRef onlyModel = argc > 1 ? argv[1] : "", onlyPrecision = argc > 2 ? argv[2] : "";
  SmallVector<Model> models(std::begin(kModels), std::end(kModels));
  if (const char *full = std::getenv("WEFT_TEST_FULL");
      (full && *full == '1') || onlyModel.ends_with("-wide"))
    llvm::append_range(models, kWideModels);
  SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("weft-precision", folder))
    return 1;
  Table table;
  unsigned expected = 0;
  for (const Model &model : models) {
    if (!onlyModel.empty() && onlyModel != model.name)
      continue;
    builders::BuildOptions options;
    options.output = (folder + "/" + model.name + ".onnx").str();
    if (auto built = builders::build(model.spec, options); !built) {
      llvm::errs() << llvm::toString(built.takeError()) << '\n';
      return 1;
    }
    for (const Precision &precision : kPrecisions) {
      if ((!onlyPrecision.empty() && onlyPrecision != precision.name) ||
          (!model.continuous && precision.roundoff > 1e-6))
        continue;
      expected += table.numRows();
      table.check(model, options.output, precision);
    }
  }
  llvm::sys::fs::remove_directories(folder);
  llvm::outs() << "precision: " << table.compared << " of " << expected << " programs compared, "
               << table.failed << " failed\n";
  return table.failed == 0 && table.compared == expected && expected > 0 ? 0 : 1;
}
