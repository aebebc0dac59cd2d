// The house rules that a machine can check, as functions from text to findings. tests/tidy_test.cpp runs them
// on snippets, to see that they can fail, and on the whole tree.
//
// A rule reads C++ by tokens of its own, not with a parser: it can be deceived by macros that open braces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collsim::tidy {

struct Finding {
  std::string file;
  int line = 0;  // 1-based; 0: the file as a whole
  std::string text;
};
using Findings = std::vector<Finding>;
// "file:line: text", one a line.
std::string text_of(const Findings& findings);

// A file of the tree: its path from the root of the repository, with '/', and its content.
struct SourceFile {
  std::string path;
  std::string content;
};

// `content` with comments, strings and character literals blanked out by spaces; lines stay where they are.
std::string without_comments_and_strings(std::string_view content);

// A function of a C++ file: where it starts (the first line of its head) and how many lines it has.
struct Function {
  int line = 0;
  int lines = 0;
};
// Functions at namespace or class scope, with lambdas and local blocks counted as part of them.
std::vector<Function> functions_of(std::string_view content);

constexpr int line_length_max = 110;
constexpr int function_lines_max = 70;

Findings check_lines(const SourceFile& file);       // length, tabs, trailing space, end of file, leftovers
Findings check_functions(const SourceFile& file);   // length
Findings check_words(const SourceFile& file);       // what must not be used, and what to use instead
Findings check_includes(const SourceFile& file);    // the folders' order, and heavy headers
Findings check_test_names(const SourceFile& file);  // ctest would take a ';' in one for the end of it
Findings check_header(const SourceFile& file);      // #pragma once and a comment before it

// Every .cpp file is named by a CMakeLists.txt, by its path from there.
Findings check_registered(const std::vector<SourceFile>& cmake_files,
                          const std::vector<std::string>& sources);
// The top of the repository holds only what the architecture names. REQUIRES: names without folders
Findings check_top_level(const std::vector<std::string>& names);

}  // namespace collsim::tidy
