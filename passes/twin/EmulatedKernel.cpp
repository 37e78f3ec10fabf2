// Writes records as constants of the module.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmulatedKernel.h"

#include "weft/runtime/HostImage.h"

#include <cstddef>

using namespace mlir;
using namespace weft::twin;
using weft::runtime::HostImage;

// What `defineKernel` writes field by field.
static_assert(offsetof(HostImage, function) == 16 && offsetof(HostImage, name) == 24 &&
              offsetof(HostImage, extent) == 32 && offsetof(HostImage, grain) == 40 &&
              offsetof(HostImage, blocks) == 48 && offsetof(HostImage, threads) == 52 &&
              offsetof(HostImage, pointers) == 56 && offsetof(HostImage, scalars) == 60 &&
              offsetof(HostImage, chip) == 64 && offsetof(HostImage, table) == 68 &&
              sizeof(HostImage) == 72);

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

namespace {
/// Makes constants of the module: records of addresses and numbers.
struct Constants {
  OpBuilder &top;
  Location loc;

  LLVM::GlobalOp text(const Twine &name, StringRef value) {
    std::string bytes = value.str() + '\0';
    return LLVM::GlobalOp::create(top, loc, LLVM::LLVMArrayType::get(top.getI8Type(), bytes.size()),
                                  /*isConstant=*/true, LLVM::Linkage::Internal, name.str(),
                                  top.getStringAttr(bytes));
  }

  /// Of what the address stands there, null for null; or a number.
  using Field = llvm::PointerUnion<Operation *, Attribute>;
  LLVM::GlobalOp record(const Twine &name, ArrayRef<Field> fields,
                        LLVM::Linkage linkage = LLVM::Linkage::Internal) {
    SmallVector<Type> types;
    for (Field field : fields)
      types.push_back(field && isa<Attribute>(field)
                          ? cast<TypedAttr>(cast<Attribute>(field)).getType()
                          : LLVM::LLVMPointerType::get(top.getContext()));
    auto type = LLVM::LLVMStructType::getLiteral(top.getContext(), types);
    auto global = LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/true, linkage, name.str(),
                                         Attribute());
    OpBuilder inside = OpBuilder::atBlockEnd(top.createBlock(&global.getInitializer()));
    Value value = LLVM::UndefOp::create(inside, loc, type);
    for (auto [position, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(inside, loc, value,
                                          valueOf(inside, types[position], field), position);
    LLVM::ReturnOp::create(inside, loc, value);
    top.setInsertionPointAfter(global);
    return global;
  }

  Attribute word(int64_t value) { return top.getI64IntegerAttr(value); }
  Attribute number(int64_t value) { return top.getI32IntegerAttr(int32_t(value)); }

private:
  Value valueOf(OpBuilder &inside, Type type, Field field) {
    if (!field)
      return LLVM::ZeroOp::create(inside, loc, type);
    if (auto number = dyn_cast<Attribute>(field))
      return LLVM::ConstantOp::create(inside, loc, type, cast<TypedAttr>(number));
    StringRef symbol = SymbolTable::getSymbolName(cast<Operation *>(field)).getValue();
    return LLVM::AddressOfOp::create(inside, loc, type, symbol);
  }
};
} // namespace

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
  Constants constants{top, loc};
  auto label = constants.text(name + ".name", name);
  auto kernel = constants.record(
      name + ".kernel", {label.getOperation(), thread.getOperation(), constants.word(grid.blocks),
                         constants.word(grid.threads), constants.word(arguments.size()),
                         constants.word(shared.size()), buffers.getOperation()});

  auto entry =
      LLVM::LLVMFuncOp::create(top, loc, name,
                               LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                                           {word, word, pointer, pointer}));
  OpBuilder body = OpBuilder::atBlockEnd(entry.addEntryBlock(top));
  Value address = LLVM::AddressOfOp::create(body, loc, kernel);
  EmulatorCalls(module).call(
      body, loc, "launch",
      {address, entry.getArgument(0), entry.getArgument(1), entry.getArgument(2)});
  LLVM::ReturnOp::create(body, loc, ValueRange());

  // A HostImage: all blocks are one piece.
  int64_t extent = std::max<int64_t>(1, grid.blocks);
  SmallVector<Constants::Field> fields;
  for (char letter : HostImage::kMagic)
    fields.push_back(Attribute(top.getI8IntegerAttr(letter)));
  fields.append({entry.getOperation(), label.getOperation(), constants.word(extent),
                 constants.word(extent), constants.number(extent), constants.number(grid.threads),
                 constants.number(arguments.size()), constants.number(0), constants.number(0),
                 constants.number(grid.takesTable)});
  auto code = constants.record(name + ".code", fields);
  auto chip = constants.text(name + ".chip", "host");
  // weft_device_image of the program format.
  int64_t alignment = 1;
  for (const EmulatedBuffer &buffer : arguments)
    alignment = std::max(alignment, buffer.alignment);
  constants.record(name + ".image",
                   {code.getOperation(), Constants::Field(), chip.getOperation(),
                    constants.number(grid.threads), constants.number(alignment),
                    constants.number(grid.takesTable)},
                   LLVM::Linkage::External);
}
