//===- Passes.td - passes at the borders of phases -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef WEFT_LIB_COMPILER_PASSES_TD
#define WEFT_LIB_COMPILER_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeftBeginPhase : Pass<"weft-begin-phase", "::mlir::ModuleOp"> {
  let summary = "check that the program stands at the phase before";
  let description = [{
    **Requires** nothing. **Ensures** that `weft.phase`, where the module has it, names the phase before `phase`, and that
    `mesh`, where given, is the module's own; else fails. So a phase is never run twice and never left out.
    It fails, too, where `weft.flags` ask for a mesh or for training and the pipeline does not: a program that is meant
    for many devices does not silently become one for a single device.

    **Example** in test/lib/Compiler/phases.mlir.
  }];
  let options = [
    Option<"phase", "phase", "std::string", "\"\"", "The phase that is about to begin">,
    Option<"mesh", "mesh", "std::string", "\"\"", "The mesh that the pipeline was given; default: the module's">,
    Option<"train", "train", "bool", "false", "Whether the pipeline was asked to train">];
}

def WeftEndPhase : Pass<"weft-end-phase", "::mlir::ModuleOp"> {
  let summary = "say on the module which phase it has reached";
  let description = [{
    **Requires** nothing. **Ensures** `weft.phase` on the module, so that who reads its text knows where to go on.

    **Example** in test/lib/Compiler/phases.mlir.
  }];
  let options = [Option<"phase", "phase", "std::string", "\"\"", "The phase that was reached">];
}

def WeftOnMesh : Pass<"weft-on-mesh", "::mlir::ModuleOp"> {
  let summary = "run a pipeline if the module has a mesh";
  let description = [{
    **Requires** nothing. **Ensures** what `pipeline` does if the module has a mesh (`dist.mesh`), else what `otherwise` does.
    The mesh is the program's, so what follows from it is not asked of the command line again.

    **Example** in test/lib/Compiler/phases.mlir.
  }];
  let options = [Option<"pipeline", "pipeline", "std::string", "\"\"", "Passes on a module, `builtin.module(...)`">,
    Option<"otherwise", "otherwise", "std::string", "\"builtin.module()\"",
           "Passes on a module without a mesh; default: none">];
}

def WeftOnStages : Pass<"weft-on-stages", "::mlir::ModuleOp"> {
  let summary = "run a pipeline on the module of each stage";
  let description = [{
    **Requires** nothing. **Ensures** what `pipeline` does of each module that `dist-project-stages` has made, or else, where nothing
    is cut into stages, of the module itself: so passes on one process's program know of no other.

    **Example** in test/lib/Compiler/phases.mlir.
  }];
  let options = [Option<"pipeline", "pipeline", "std::string", "\"\"", "Passes on a module, `builtin.module(...)`">];
}

#endif // WEFT_LIB_COMPILER_PASSES_TD
