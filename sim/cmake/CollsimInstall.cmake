# Installs the libraries, their headers, and what find_package(collsim) reads. Programs install themselves.
include(CMakePackageConfigHelpers)

set(COLLSIM_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/collsim)

get_property(collsim_libraries GLOBAL PROPERTY COLLSIM_LIBRARIES)
install(TARGETS ${collsim_libraries} EXPORT collsimTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT collsimTargets NAMESPACE collsim:: DESTINATION ${COLLSIM_CONFIG_DIR})

foreach(folder sim topologies algorithms kernels)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/collsim
    FILES_MATCHING PATTERN "*.hpp" PATTERN cmake EXCLUDE)
endforeach()

# The static libraries keep what the CUDA backend is linked with.
set(COLLSIM_FIND_CUDA "")
if(COLLSIM_HAS_CUDA)
  set(COLLSIM_FIND_CUDA "find_dependency(CUDAToolkit)")
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/collsimConfig.cmake.in
  ${PROJECT_BINARY_DIR}/collsimConfig.cmake INSTALL_DESTINATION ${COLLSIM_CONFIG_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/collsimConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/collsimConfig.cmake ${PROJECT_BINARY_DIR}/collsimConfigVersion.cmake
  DESTINATION ${COLLSIM_CONFIG_DIR})
