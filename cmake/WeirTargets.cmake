# weir_library(FOLDER DEPS folder... LIBS target...)
#
# One static library for each folder of src/, made of its *.cc. Files named *_test.cc become one
# test program, FOLDER_test. DEPS are the folders that FOLDER may include; tools/check_layers.py
# compares them with the real #includes. Each header is also compiled alone
# (target all_verify_interface_header_sets).

add_library(weir_options INTERFACE)
target_compile_features(weir_options INTERFACE cxx_std_20)
# No contraction: every fused multiply-add is written (docs/ARCHITECTURE.md, exactness).
target_compile_options(weir_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  -ffp-contract=off -fno-fast-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(weir_options INTERFACE -Wno-restrict)  # false for "x" + std::string (GCC bug 105651)
endif()
if(WEIR_WERROR)
  target_compile_options(weir_options INTERFACE -Werror)
endif()
if(WEIR_SANITIZE)
  target_compile_options(weir_options INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(weir_options INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()
if(WEIR_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC's thread sanitizer does not know stand-alone fences; Asio then does without them.
  target_compile_options(weir_options INTERFACE -Wno-tsan)
  target_compile_definitions(weir_options INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
if(WEIR_FUZZ)
  target_compile_options(weir_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(weir_library folder)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  list(FILTER headers EXCLUDE REGEX "-inl\\.h$")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")

  set(deps ${ARG_DEPS})
  list(TRANSFORM deps PREPEND weir_)
  if(sources)
    set(scope PUBLIC)
    add_library(weir_${folder} STATIC ${sources})
  else()
    set(scope INTERFACE)
    add_library(weir_${folder} INTERFACE)
  endif()
  target_sources(weir_${folder} ${scope} FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/src FILES ${headers})
  target_link_libraries(weir_${folder} ${scope} weir_options ${deps} ${ARG_LIBS})

  if(WEIR_TESTS AND tests)
    add_executable(${folder}_test ${tests})
    target_link_libraries(${folder}_test PRIVATE weir_${folder} GTest::gtest_main GTest::gmock)
    target_include_directories(${folder}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_compile_definitions(${folder}_test PRIVATE WEIR_GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
    include(GoogleTest)
    gtest_discover_tests(${folder}_test TEST_PREFIX "${folder}." DISCOVERY_MODE PRE_TEST
      PROPERTIES TIMEOUT 300)
  endif()
endfunction()
