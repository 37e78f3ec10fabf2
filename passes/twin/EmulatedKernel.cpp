// Writes records as constants of the module.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmulatedKernel.h"

using namespace mlir;
using namespace weft::twin;

Value EmulatorCalls::call(OpBuilder &builder, Location loc, StringRef name, ValueRange operands,
                          Type result) {
  std::string symbol = ("weft_emulator_" + name).str();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (!function) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    Type returned = result ? result : LLVM::LLVMVoidType::get(builder.getContext());
    function = LLVM::LLVMFuncOp::create(
        top, module.getLoc(), symbol,
        LLVM::LLVMFunctionType::get(returned, llvm::to_vector(operands.getTypes())));
  }
  auto made = LLVM::CallOp::create(builder, loc, function, operands);
  return result ? made.getResult() : Value();
}

/// A private constant whose initializer `fill` makes.
static LLVM::GlobalOp addConstant(OpBuilder &top, Location loc, Type type, const Twine &name,
                                  llvm::function_ref<Value(OpBuilder &)> fill) {
  auto global = LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                       name.str(), Attribute());
  OpBuilder inside = OpBuilder::atBlockEnd(top.createBlock(&global.getInitializer()));
  LLVM::ReturnOp::create(inside, loc, fill(inside));
  top.setInsertionPointAfter(global);
  return global;
}

void weft::twin::defineKernel(ModuleOp module, StringRef name, LLVM::LLVMFuncOp thread,
                              EmulatedGrid grid, ArrayRef<EmulatedBuffer> arguments,
                              ArrayRef<EmulatedBuffer> shared) {
  MLIRContext *context = module.getContext();
  Location loc = thread.getLoc();
  OpBuilder top(context);
  top.setInsertionPoint(thread);
  Type pointer = LLVM::LLVMPointerType::get(context), word = top.getI64Type();

  SmallVector<int64_t> numbers;
  for (ArrayRef<EmulatedBuffer> buffers : {arguments, shared})
    for (const EmulatedBuffer &buffer : buffers)
      numbers.append({buffer.bytes, buffer.granule, buffer.alignment});
  // Not empty, which LLVM's constants of dense elements cannot be.
  if (numbers.empty())
    numbers.push_back(0);
  auto buffers = LLVM::GlobalOp::create(top, loc, LLVM::LLVMArrayType::get(word, numbers.size()),
                                        /*isConstant=*/true, LLVM::Linkage::Internal,
                                        (name + ".buffers").str(), top.getI64TensorAttr(numbers));
  std::string text = (name + Twine('\0')).str();
  auto label = LLVM::GlobalOp::create(
      top, loc, LLVM::LLVMArrayType::get(top.getI8Type(), text.size()), /*isConstant=*/true,
      LLVM::Linkage::Internal, (name + ".name").str(), top.getStringAttr(text));

  auto record = LLVM::LLVMStructType::getLiteral(
      context, {pointer, pointer, word, word, word, word, pointer});
  auto kernel = addConstant(top, loc, record, name + ".kernel", [&](OpBuilder &inside) {
    auto number = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(inside, loc, word, inside.getI64IntegerAttr(value));
    };
    Value fields[] = {LLVM::AddressOfOp::create(inside, loc, label),
                      LLVM::AddressOfOp::create(inside, loc, thread),
                      number(grid.blocks),
                      number(grid.threads),
                      number(arguments.size()),
                      number(shared.size()),
                      LLVM::AddressOfOp::create(inside, loc, buffers)};
    Value value = LLVM::UndefOp::create(inside, loc, record);
    for (auto [position, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(inside, loc, value, field, position);
    return value;
  });

  auto entry =
      func::FuncOp::create(top, loc, name, top.getFunctionType({word, word, pointer, pointer}, {}));
  OpBuilder body = OpBuilder::atBlockEnd(entry.addEntryBlock());
  Value address = LLVM::AddressOfOp::create(body, loc, kernel);
  EmulatorCalls(module).call(
      body, loc, "launch",
      {address, entry.getArgument(0), entry.getArgument(1), entry.getArgument(2)});
  func::ReturnOp::create(body, loc);
}
