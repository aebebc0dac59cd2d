# collsim_library, collsim_program, collsim_test, collsim_benchmark, collsim_fuzzer: the kinds of target in this project.
include(GNUInstallDirs)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(collsim_warnings INTERFACE)
target_compile_options(collsim_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>) # g++ 12 sees overlaps in "text" + string (GCC bug 105651)

# What every target of ours has. No fused multiply-add, so that a number in a report is the same from every compiler.
function(collsim_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:collsim_warnings>)
endfunction()

# collsim_library(name SOURCES a.cpp ... [PUBLIC targets] [PRIVATE targets]): library collsim_<name>, alias collsim::<name>.
# It is installed and exported with all others (CollsimInstall.cmake).
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

# collsim_program(name SOURCES a.cpp ... LIBRARIES targets): a program at the top of the build folder, installed.
function(collsim_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  collsim_settings(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# collsim_test(name SOURCES a_test.cpp ... LIBRARIES targets): one doctest program; every case is a CTest test.
# A case whose name doctest's filter does not find would run nothing and pass, so an empty run fails.
function(collsim_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  collsim_settings(test_${name})
  target_link_libraries(test_${name} PRIVATE collsim_test_main ${ARG_LIBRARIES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  doctest_discover_tests(test_${name} TEST_PREFIX "${name}: "
    PROPERTIES FAIL_REGULAR_EXPRESSION "test cases: +0 " TIMEOUT 600)
endfunction()

# collsim_benchmark(name SOURCES a_bench.cpp ... LIBRARIES targets): a Google Benchmark program bench_<name> in the build
# folder's bench/. CTest only asks it for its list, so that it cannot rot; measuring is left to people.
function(collsim_benchmark name)
  if(NOT COLLSIM_BUILD_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(bench_${name} ${ARG_SOURCES})
  collsim_settings(bench_${name})
  target_link_libraries(bench_${name} PRIVATE benchmark::benchmark benchmark::benchmark_main ${ARG_LIBRARIES})
  target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  add_test(NAME "bench: ${name} lists its benchmarks" COMMAND bench_${name} --benchmark_list_tests=true)
  set_tests_properties("bench: ${name} lists its benchmarks" PROPERTIES FAIL_REGULAR_EXPRESSION "Failed to match")
endfunction()

# collsim_fuzzer(name SOURCES a_fuzz.cpp CORPUS folder [DICTIONARY file] LIBRARIES targets): a libFuzzer program
# fuzz_<name>. CTest replays the corpus and then tries a bounded number of inputs drawn from a fixed seed.
function(collsim_fuzzer name)
  if(NOT COLLSIM_BUILD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "CORPUS;DICTIONARY" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(fuzz_${name} ${ARG_SOURCES})
  collsim_settings(fuzz_${name})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_LIBRARIES})
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  add_dependencies(fuzzers fuzz_${name})
  # libFuzzer writes what it finds into the first folder, so that one is in the build tree.
  set(found ${CMAKE_CURRENT_BINARY_DIR}/found_${name})
  file(MAKE_DIRECTORY ${found})
  set(options -runs=20000 -max_total_time=120 -seed=1 -artifact_prefix=${CMAKE_CURRENT_BINARY_DIR}/)
  if(ARG_DICTIONARY)
    list(APPEND options -dict=${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DICTIONARY})
  endif()
  add_test(NAME "fuzz: ${name}"
    COMMAND fuzz_${name} ${options} ${found} ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_CORPUS})
  set_tests_properties("fuzz: ${name}" PROPERTIES LABELS fuzz TIMEOUT 600)
endfunction()
