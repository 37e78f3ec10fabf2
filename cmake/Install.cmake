# What `cmake --install BUILD --prefix DIR` puts into a folder that works on its own.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(CMakePackageConfigHelpers)

# `bin` and `lib` by these names: weft-compile finds the runtime at ../lib, and so do executables
# their communicators.
set(weft_tools weft-data weft-run)
if(WEFT_BUILD_COMPILER)
  list(APPEND weft_tools weft-compile weft-iopddl weft-lsp-server weft-opt weft-plan weft-reduce weft-schedule weft-translate)
endif()
set_target_properties(weft_runtime PROPERTIES EXPORT_NAME runtime)
install(TARGETS weft_cuda ARCHIVE DESTINATION lib)
install(TARGETS ${weft_tools} weft_runtime EXPORT WeftTargets
  RUNTIME DESTINATION bin ARCHIVE DESTINATION lib)
if(TARGET weft_mpi)
  install(TARGETS weft_mpi LIBRARY DESTINATION lib)
endif()
if(TARGET weft_emulator)
  install(TARGETS weft_emulator ARCHIVE DESTINATION lib)
endif()
# The headers of the compiler stay inside: they say nothing without those of dialects and of MLIR.
install(DIRECTORY runtime/include/weft DESTINATION include)
install(FILES LICENSE DESTINATION share/doc/weft)

# Pages and completions follow from the tools' own tables of flags.
set(pages)
function(weft_add_page tool output)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/share/${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory share/man/man1 share/bash-completion/completions
            share/zsh/site-functions
    COMMAND ${tool} ${ARGN} > share/${output}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} DEPENDS ${tool} VERBATIM)
  set(pages ${pages} ${CMAKE_BINARY_DIR}/share/${output} PARENT_SCOPE)
endfunction()
foreach(tool weft-compile weft-data weft-iopddl weft-plan weft-run weft-schedule weft-translate)
  if(TARGET ${tool})
    weft_add_page(${tool} man/man1/${tool}.1 --man)
    weft_add_page(${tool} bash-completion/completions/${tool} --completion bash)
    weft_add_page(${tool} zsh/site-functions/_${tool} --completion zsh)
  endif()
endforeach()
add_custom_target(weft_pages ALL DEPENDS ${pages})
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION share)

# find_package(Weft): the tools and the runtime as Weft::NAME.
set(package lib/cmake/Weft)
install(EXPORT WeftTargets NAMESPACE Weft:: DESTINATION ${package})
configure_package_config_file(cmake/WeftConfig.cmake.in ${CMAKE_BINARY_DIR}/WeftConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/WeftConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/WeftConfig.cmake ${CMAKE_BINARY_DIR}/WeftConfigVersion.cmake
  DESTINATION ${package})
