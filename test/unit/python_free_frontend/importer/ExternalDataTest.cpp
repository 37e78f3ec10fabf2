// External data: the rules of the path, each named with the tensor it concerns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ImportFixture.h"
#include "dialects/onnx/IR/TensorData.h"
#include "mlir/IR/Diagnostics.h"
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::onnx;

namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

class ExternalDataTest : public ImportTest {
protected:
  ExternalDataTest() {
    mkdir((folder + "/model").c_str(), 0700);
    mkdir((folder + "/model/sub").c_str(), 0700);
    write("secret.bin", "topsecret, and long enough");
    write("model/w.bin", "0123456789abcdef");
    write("model/sub/w.bin", "0123456789abcdef");
  }

  std::string modelWith(const Entries &entries, Tensor::DataType type = Tensor::FLOAT) {
    Model model = reluModel();
    Tensor &tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(type);
    tensor.add_dims(2);
    tensor.set_data_location(Tensor::EXTERNAL);
    for (const auto &[key, value] : entries) {
      StringStringEntry &entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return write("model/m.onnx", model.SerializeAsString());
  }
  void refuse(const Entries &entries, const std::string &expected) {
    EXPECT_FALSE(import(modelWith(entries))) << expected;
    EXPECT_NE(log.find("external data of tensor 'w': "), std::string::npos) << log;
    EXPECT_NE(log.find(expected), std::string::npos)
        << "expected: " << expected << "\nreported: " << log;
  }
  TensorAttr accept(const Entries &entries) {
    module = import(modelWith(entries));
    EXPECT_TRUE(module) << log;
    if (!module)
      return TensorAttr();
    auto ops = getMainGraph(*module).getBody().getOps<InitializerOp>();
    return (*ops.begin()).getValue();
  }
  std::string read(TensorAttr tensor) {
    std::string error;
    llvm::raw_string_ostream stream(error);
    weft::DiagnosticHandler handler(&context, stream);
    auto bytes =
        readTensor(tensor, [&] { return mlir::emitError(mlir::UnknownLoc::get(&context)); });
    return failed(bytes) ? error : std::string(bytes->begin(), bytes->end());
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace

TEST_F(ExternalDataTest, DataInsideTheFolderIsReferredTo) {
  EXPECT_EQ(read(accept({{"location", "w.bin"}})), "01234567");
  EXPECT_EQ(read(accept(
                {{"location", "sub/w.bin"}, {"offset", "8"}, {"length", "8"}, {"checksum", "0"}})),
            "89abcdef");
  ASSERT_EQ(symlink("sub/w.bin", (folder + "/model/inside").c_str()), 0);
  EXPECT_EQ(read(accept({{"location", "inside"}})), "01234567");
}

TEST_F(ExternalDataTest, PathsThatLeaveTheFolder) {
  refuse({{"location", "../secret.bin"}}, "must not contain '..'");
  refuse({{"location", "sub/../../secret.bin"}}, "must not contain '..'");
  refuse({{"location", folder + "/secret.bin"}}, "must be relative to the model's folder");
  refuse({{"location", "/proc/self/environ"}}, "must be relative");
  ASSERT_EQ(symlink("../secret.bin", (folder + "/model/link").c_str()), 0);
  refuse({{"location", "link"}}, "the path must not leave the model's folder through a link");
  ASSERT_EQ(symlink("..", (folder + "/model/parent").c_str()), 0);
  refuse({{"location", "parent/secret.bin"}}, "must not leave the model's folder");
  ASSERT_EQ(symlink("/dev/zero", (folder + "/model/zero").c_str()), 0);
  refuse({{"location", "zero"}}, "must not leave the model's folder");
  ASSERT_EQ(symlink("loop", (folder + "/model/loop").c_str()), 0);
  refuse({{"location", "loop"}}, "link");
}

// As caches of model hubs have it: links to files that lie beside each other.
TEST_F(ExternalDataTest, LinksOfAModelAndItsDataLeadToOneFolder) {
  std::string model = modelWith({{"location", "data"}}), linked = folder + "/model/linked.onnx";
  mkdir((folder + "/blobs").c_str(), 0700);
  ASSERT_EQ(rename(model.c_str(), (folder + "/blobs/aa").c_str()), 0);
  ASSERT_EQ(symlink("../blobs/aa", linked.c_str()), 0);
  ASSERT_EQ(symlink("../blobs/bb", (folder + "/model/data").c_str()), 0);
  write("blobs/bb", "fedcba98");
  module = import(linked);
  ASSERT_TRUE(module) << log;
  auto ops = getMainGraph(*module).getBody().getOps<InitializerOp>();
  EXPECT_EQ(read((*ops.begin()).getValue()), "fedcba98");
  // Not what only the data's link leads to.
  unlink((folder + "/model/data").c_str());
  ASSERT_EQ(symlink("../secret.bin", (folder + "/model/data").c_str()), 0);
  EXPECT_FALSE(import(linked));
  EXPECT_NE(log.find("must not leave the model's folder through a link"), std::string::npos) << log;
}

TEST_F(ExternalDataTest, ThingsThatAreNotFiles) {
  refuse({{"location", "sub"}}, "the path must name a regular file");
  refuse({{"location", "."}}, "must name a regular file");
  ASSERT_EQ(mkfifo((folder + "/model/pipe").c_str(), 0600), 0);
  refuse({{"location", "pipe"}}, "must name a regular file");
  refuse({{"location", ""}}, "must not be empty");
  refuse({{"location", std::string("w.bin\0x", 7)}}, "zero byte");
  refuse({{"location", "absent.bin"}}, "No such file");
  refuse({{"location", "w.bin/x"}}, "Not a directory");
  refuse({{"location", std::string(10000, 'a')}}, "name too long");
}

TEST_F(ExternalDataTest, OffsetsAndLengths) {
  refuse({{"location", "w.bin"}, {"offset", "-8"}},
         "offset '-8' is not a decimal number from 0 to 2^63-1");
  refuse({{"location", "w.bin"}, {"offset", "9"}},
         "needs 8 bytes at offset 9, but 'w.bin' has only 16 bytes");
  refuse({{"location", "w.bin"}, {"offset", "9223372036854775807"}},
         "needs 8 bytes at offset 9223372036854775807");
  refuse({{"location", "w.bin"}, {"offset", "18446744073709551615"}}, "is not a decimal number");
  refuse({{"location", "w.bin"}, {"offset", "0x8"}}, "is not a decimal number");
  refuse({{"location", "w.bin"}, {"offset", ""}}, "is not a decimal number");
  refuse({{"location", "w.bin"}, {"length", "4"}}, "needs 8 bytes, but length is 4");
  refuse({{"location", "w.bin"}, {"length", "-1"}}, "length '-1' is not");
}

TEST_F(ExternalDataTest, Keys) {
  refuse({}, "key 'location' is missing");
  refuse({{"offset", "0"}}, "key 'location' is missing");
  refuse({{"location", "w.bin"}, {"location", "w.bin"}}, "key 'location' is given twice");
  refuse({{"location", "w.bin"}, {"offset", "0"}, {"offset", "0"}}, "key 'offset' is given twice");
  refuse({{"location", "w.bin"}, {"checksum", "a"}, {"checksum", "a"}},
         "key 'checksum' is given twice");
  refuse({{"location", "w.bin"}, {"mode", "rw"}},
         "key 'mode' is not one of location, offset, length, checksum");
}

TEST_F(ExternalDataTest, Strings) {
  EXPECT_FALSE(import(modelWith({{"location", "w.bin"}}, Tensor::STRING)));
  EXPECT_NE(log.find("external data of tensor 'w': elements of type '!onnx.string' have no fixed "
                     "size"),
            std::string::npos)
      << log;
}

TEST_F(ExternalDataTest, AFileExchangedAfterTheImportIsNotFollowed) {
  TensorAttr tensor = accept({{"location", "w.bin"}});
  ASSERT_TRUE(tensor);
  ASSERT_EQ(unlink((folder + "/model/w.bin").c_str()), 0);
  ASSERT_EQ(symlink("../secret.bin", (folder + "/model/w.bin").c_str()), 0);
  EXPECT_NE(read(tensor).find("must not leave the model's folder"), std::string::npos);
}

TEST_F(ExternalDataTest, MissingFilesAreAllowedWhenAsked) {
  ImportOptions options;
  options.allowMissingData = true;
  module = import(modelWith({{"location", "absent.bin"}}), options);
  ASSERT_TRUE(module);
  EXPECT_NE(log.find("warning: has 1 tensors whose external data file does "
                     "not exist"),
            std::string::npos)
      << log;
  EXPECT_FALSE(import(modelWith({{"location", "../absent.bin"}}), options));
}
