// A folder for model files, and the importer's verdict on them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_PYTHON_FREE_FRONTEND_IMPORTER_IMPORTFIXTURE_H
#define WEFT_TEST_UNIT_PYTHON_FREE_FRONTEND_IMPORTER_IMPORTFIXTURE_H

#include "dialects/onnx/IR/Onnx.h"
#include "mlir/IR/MLIRContext.h"
#include "onnx.pb.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Support/Diagnostics.h"
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace weft::onnx {

class ImportTest : public ::testing::Test {
protected:
  ImportTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<OnnxDialect>();
    std::string pattern = ::testing::TempDir() + "weft-import-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~ImportTest() override {
    std::string command = "rm -rf '" + folder + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  std::string write(const std::string &name, const std::string &bytes) {
    std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  /// Imports the file and keeps what was reported in `log`.
  mlir::OwningOpRef<mlir::ModuleOp> import(const std::string &path, ImportOptions options = {}) {
    log.clear();
    llvm::raw_string_ostream stream(log);
    weft::DiagnosticHandler handler(&context, stream);
    return importModel(path, &context, options);
  }

  /// The file must be refused with a single message holding `expected`.
  void expectRefused(const std::string &bytes, const std::string &expected) {
    auto module = import(write("model.onnx", bytes));
    EXPECT_FALSE(module) << expected;
    EXPECT_NE(log.find(expected), std::string::npos)
        << "expected: " << expected << "\nreported: " << log;
    EXPECT_EQ(log.find("error: ") != std::string::npos, true) << log;
    EXPECT_EQ(log.find("error: "), log.rfind("error: ")) << log;
  }

  /// A valid model: y = Relu(x) named "relu".
  static Model reluModel() {
    Model model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    Graph &graph = *model.mutable_graph();
    graph.add_input()->set_name("x");
    graph.add_output()->set_name("y");
    Node &node = *graph.add_node();
    node.set_name("relu");
    node.set_op_type("Relu");
    node.add_input("x");
    node.add_output("y");
    return model;
  }

  mlir::MLIRContext context;
  std::string folder, log;
};

} // namespace weft::onnx

#endif // WEFT_TEST_UNIT_PYTHON_FREE_FRONTEND_IMPORTER_IMPORTFIXTURE_H
