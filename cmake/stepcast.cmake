# stepcast_library(NAME SOURCES... [LINK targets...]): one static library a folder, with the house's options.
function(stepcast_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC stepcast_options ${ARG_LINK})
endfunction()

# stepcast_test(NAME SOURCES... [LABEL label] [LINK targets...]): one GoogleTest program a folder. ctest names the
# tests of a labelled one label.NAME.
function(stepcast_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main GTest::gmock)
  target_compile_definitions(${name} PRIVATE STEPCAST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(ARG_LABEL)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_PREFIX ${ARG_LABEL}. PROPERTIES LABELS ${ARG_LABEL})
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60)
  endif()
endfunction()

# stepcast_embed(TARGET FUNCTION FILES...): the files' text in the binary; FUNCTION() in namespace stepcast
# returns std::span<const EmbeddedFile>, in the order given, each named by its file name without extension.
function(stepcast_embed target function)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  set(files)
  foreach(file ${ARGN})
    list(APPEND files ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  string(REPLACE ";" "," joined "${files}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFUNCTION=${function} -DFILES=${joined}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

include(GoogleTest)
