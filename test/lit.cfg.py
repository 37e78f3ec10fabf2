# Configuration of the lit tests: every .mlir, .test and .txt below this folder with a RUN line.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import shutil
import lit.formats

config.name = "weft"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test", ".onnxtxt"]
config.excludes = ["Inputs", "unit", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.weft_build, "test")

path = [os.path.join(config.weft_build, "bin"), config.llvm_tools, config.environment.get("PATH", "")]
config.environment["PATH"] = os.path.pathsep.join(path)
for name in ("HOME", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# Tests of what --bench tells need no precise figures.
config.environment["WEFT_BENCH_SECONDS"] = "0.3"

config.substitutions.append(("%weft_build", config.weft_build))
config.substitutions.append(("%weft_source", os.path.dirname(config.test_source_root)))
# MLIR's records, for mlir-tblgen.
config.substitutions.append(("%llvm_include", config.llvm_include))
# The examples of the generated pages (test/docs/examples.py).
config.substitutions.append(("%doctest", "python3 " + os.path.join(config.test_source_root, "docs", "examples.py") + " check"))
# Debian's ONNX test data, a package that test/run.sh installs.
config.substitutions.append(("%onnx_testdata", "/usr/share/libonnx-testdata/data"))

# A browser looks at the pages that we write, if there is one; without it those tests count as unsupported.
if shutil.which("chromium"):
    config.available_features.add("chromium")
# NVIDIA's assembler, which needs no GPU; without it kernels for GPUs are PTX alone, and what asks it counts as unsupported.
if shutil.which("ptxas", path=config.environment["PATH"] + os.pathsep + "/usr/local/cuda/bin"):
    config.available_features.add("ptxas")
if config.have_mpi:
    config.available_features.add("mpi")
if os.environ.get("WEFT_TEST_FULL") == "1":
    config.available_features.add("full")
