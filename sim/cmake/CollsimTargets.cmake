# collsim_library, collsim_program, collsim_test, collsim_benchmark: the four kinds of target in this project.
include(GNUInstallDirs)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(collsim_warnings INTERFACE)
target_compile_options(collsim_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow>)

function(collsim_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:collsim_warnings>)
endfunction()

# collsim_library(name SOURCES a.cpp ... [PUBLIC targets] [PRIVATE targets]): library collsim_<name>, alias collsim::<name>.
function(collsim_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(collsim_${name} STATIC ${ARG_SOURCES})
  add_library(collsim::${name} ALIAS collsim_${name})
  collsim_settings(collsim_${name})
  target_include_directories(collsim_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/collsim>)
  target_link_libraries(collsim_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  set_target_properties(collsim_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY COLLSIM_LIBRARIES collsim_${name})
endfunction()

# collsim_test(name SOURCES a_test.cpp ... LIBRARIES targets): one doctest program; every case is a CTest test.
function(collsim_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  collsim_settings(test_${name})
  target_link_libraries(test_${name} PRIVATE collsim_test_main ${ARG_LIBRARIES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  doctest_discover_tests(test_${name} TEST_PREFIX "${name}: ")
endfunction()
