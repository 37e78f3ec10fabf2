// Well-formed messages that are no valid models; each message names the culprit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ImportFixture.h"
#include <functional>

using namespace weft::onnx;

namespace {

class InvalidModelTest : public ImportTest {
protected:
  /// A valid model after `edit` must be refused with `expected`.
  void refuse(const std::function<void(Model &)> &edit, const std::string &expected) {
    Model model = reluModel();
    edit(model);
    expectRefused(model.SerializeAsString(), expected);
  }
  void refuseTensor(const std::function<void(Tensor &)> &edit, const std::string &expected) {
    refuse(
        [&](Model &model) {
          Tensor &tensor = *model.mutable_graph()->add_initializer();
          tensor.set_name("w");
          tensor.set_data_type(Tensor::FLOAT);
          tensor.add_dims(2);
          edit(tensor);
        },
        expected);
  }
  void refuseAttribute(const std::function<void(Attribute &)> &edit, const std::string &expected) {
    refuse(
        [&](Model &model) {
          Attribute &attribute = *model.mutable_graph()->mutable_node(0)->add_attribute();
          attribute.set_name("a");
          edit(attribute);
        },
        expected);
  }
};

} // namespace

TEST_F(InvalidModelTest, Versions) {
  refuse([](Model &m) { m.clear_ir_version(); }, "has IR version 0");
  refuse([](Model &m) { m.set_ir_version(15); },
         "error: has IR version 15; versions 3 to 14 are known");
  refuse([](Model &m) { m.clear_graph(); }, "has no graph");
}

TEST_F(InvalidModelTest, Names) {
  refuse([](Model &m) { m.mutable_graph()->mutable_node(0)->set_input(0, "q"); },
         "model.onnx: node 'relu' (Relu): error: reads 'q', which no "
         "node, input or initializer defines");
  refuse([](Model &m) { *m.mutable_graph()->add_node() = m.graph().node(0); },
         "defines 'y', which is already defined");
  refuse([](Model &m) { m.mutable_graph()->mutable_output(0)->set_name("q"); },
         "output 'q' is defined by no node, input or initializer");
  refuse([](Model &m) { m.mutable_graph()->add_input()->set_name("x"); },
         "input 'x' is declared twice");
  refuse(
      [](Model &m) {
        for (int i = 0; i < 2; ++i) {
          Tensor &tensor = *m.mutable_graph()->add_initializer();
          tensor.set_name("w");
          tensor.set_data_type(Tensor::FLOAT);
          tensor.add_dims(0);
        }
      },
      "initializer 'w' is defined twice");
  // A name inside a branch is not visible outside.
  refuse(
      [](Model &m) {
        Node &node = *m.mutable_graph()->add_node();
        node.set_op_type("If");
        Attribute &branch = *node.add_attribute();
        branch.set_type(Attribute::GRAPH);
        Node &inner = *branch.mutable_g()->add_node();
        inner.set_op_type("Neg");
        inner.add_input("y");
        inner.add_output("inside");
        m.mutable_graph()->mutable_output(0)->set_name("inside");
      },
      "output 'inside' is defined by no node");
}

TEST_F(InvalidModelTest, Tensors) {
  refuseTensor([](Tensor &t) { t.set_data_type(99); },
               "tensor 'w' has data type 99, which is not known; known are 1 to ");
  refuseTensor([](Tensor &t) { t.set_dims(0, -2); }, "tensor 'w' has the negative extent -2");
  refuseTensor(
      [](Tensor &t) {
        t.set_dims(0, int64_t(1) << 40);
        t.add_dims(int64_t(1) << 40);
      },
      "tensor 'w' has shape [1099511627776x1099511627776], more than the 2^40 elements");
  refuseTensor([](Tensor &t) { t.mutable_dims()->Resize(100'000, 1); },
               "tensor 'w' has 100000 dims, more than the 64 that are supported");
  refuseTensor([](Tensor &t) { t.set_raw_data("abc"); }, "which needs 8 bytes, but holds 3");
  refuseTensor([](Tensor &t) { t.add_float_data(1); }, "which needs 2 entries, but holds 1");
  refuseTensor([](Tensor &t) { t.add_int64_data(1); },
               "tensor 'w' has elements of type 'f32', which do not go into int64_data");
  refuseTensor(
      [](Tensor &t) {
        t.set_raw_data(std::string(8, 0));
        t.add_float_data(1);
        t.add_float_data(2);
      },
      "holds its elements in more than one field");
  refuseTensor([](Tensor &t) { t.add_string_data("s"); }, "holds 1 strings");
  refuseTensor([](Tensor &t) { t.mutable_segment()->set_begin(0); },
               "tensor 'w' is a segment of a tensor, which is not supported");
  refuseTensor(
      [](Tensor &t) {
        t.set_raw_data(std::string(8, 0));
        t.set_data_location(Tensor::EXTERNAL);
      },
      "tensor 'w' is external but also holds elements");
  // The same for a payload that is left in the file.
  refuseTensor([](Tensor &t) { t.set_raw_data(std::string(5000, 0)); },
               "does not fit its 5000 bytes of raw_data");
}

TEST_F(InvalidModelTest, Attributes) {
  refuseAttribute(
      [](Attribute &a) {
        a.set_type(Attribute::INT);
        a.set_f(1);
      },
      "attribute 'a' has kind INT, but a value of kind FLOAT");
  refuseAttribute(
      [](Attribute &a) {
        a.set_type(Attribute::INT);
        a.set_i(1);
        a.set_f(1);
      },
      "attribute 'a' has kind INT, but several values");
  refuseAttribute(
      [](Attribute &a) {
        a.set_i(1);
        a.set_ref_attr_name("b");
      },
      "has a value and also refers to attribute 'b'");
}

TEST_F(InvalidModelTest, Types) {
  refuse(
      [](Model &m) {
        auto &tensor = *m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
        tensor.set_elem_type(Tensor::FLOAT);
        for (int i = 0; i < 3; ++i)
          tensor.mutable_shape()->add_dim()->set_dim_value(int64_t(1) << 30);
      },
      "value 'x' has shape [1073741824x1073741824x1073741824], more than the 2^40 elements");
}

TEST_F(InvalidModelTest, Functions) {
  refuse(
      [](Model &m) {
        Function &function = *m.add_functions();
        function.set_name("F");
        function.add_output("b");
      },
      "output 'b' is defined by no node");
}
