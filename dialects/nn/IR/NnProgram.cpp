// What attributes say of a program's arguments and results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnProgram.h"

using namespace mlir;

bool weft::nn::isState(FunctionOpInterface program, unsigned argument) {
  return program.getArgAttr(argument, kSourceAttr) || program.getArgAttr(argument, kInitialAttr);
}

bool weft::nn::isParameter(FunctionOpInterface program, unsigned argument) {
  return isState(program, argument) && !program.getArgAttr(argument, kStatisticAttr) &&
         !program.getArgAttr(argument, kClassAttr);
}

bool weft::nn::isOptimizerState(FunctionOpInterface program, unsigned argument) {
  return isState(program, argument) && !program.getArgAttr(argument, kStatisticAttr) &&
         program.getArgAttr(argument, kClassAttr);
}

StringRef weft::nn::argumentName(FunctionOpInterface program, unsigned argument) {
  auto name = program.getArgAttrOfType<StringAttr>(argument, kNameAttr);
  return name ? name.getValue() : StringRef();
}

StringAttr weft::nn::updatedState(FunctionOpInterface program, unsigned result) {
  return program.getResultAttrOfType<StringAttr>(result, kUpdatesAttr);
}
