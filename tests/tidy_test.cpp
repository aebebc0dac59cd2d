// The house rules, checked on the source tree itself. The checkers are first shown to fail where they must.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/tidy.hpp"

using namespace collsim::tidy;

namespace {

namespace fs = std::filesystem;

const fs::path& root() {
  static const fs::path path = COLLSIM_SOURCE_DIR;
  return path;
}

std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  REQUIRE_MESSAGE(stream.good(), path.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Paths from the root, sorted. Build folders and dot folders are not ours to judge.
std::vector<std::string> tree() {
  std::vector<std::string> paths;
  for (auto it = fs::recursive_directory_iterator(root()); it != fs::recursive_directory_iterator(); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() && (name.front() == '.' || name == "build")) it.disable_recursion_pending();
    if (it->is_regular_file()) paths.push_back(it->path().lexically_relative(root()).generic_string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::vector<SourceFile> files(const std::vector<std::string>& endings) {
  std::vector<SourceFile> result;
  for (const std::string& path : tree())
    if (std::any_of(endings.begin(), endings.end(), [&](const auto& end) { return ends_with(path, end); }))
      result.push_back({path, content_of(root() / path)});
  return result;
}

template <class Check>
std::string findings_in(const std::vector<SourceFile>& sources, Check check) {
  Findings all;
  for (const SourceFile& source : sources) {
    const Findings some = check(source);
    all.insert(all.end(), some.begin(), some.end());
  }
  return text_of(all);
}

std::vector<SourceFile> cpp_files() { return files({".cpp", ".hpp", ".cu", ".cuh"}); }

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

}  // namespace

TEST_SUITE_BEGIN("checkers");

TEST_CASE("Comments and strings are blanked out and lines stay where they are") {
  CHECK(without_comments_and_strings("a; // b {\nc") == "a;       \nc");
  CHECK(without_comments_and_strings("a /* {\n} */ b") == "a     \n     b");
  CHECK(without_comments_and_strings("f(\"{\\\"{\", '{', '\\'')") == "f(      ,    ,     )");
  CHECK(without_comments_and_strings("x = R\"y(\"){)y\" + 1'000'000;") ==
        "x =" + std::string(12, ' ') + "+ 1'000'000;");
}

TEST_CASE("Functions are found with their lengths") {
  struct Case {
    std::string text;
    std::vector<int> lines;
  };
  const std::vector<Case> cases = {
      {"", {}},
      {"int f();\n", {}},
      {"int f() { return 1; }\n", {1}},
      {"int f()\n{\n  if (a) {\n  }\n}\n", {5}},
      {"namespace a::b {\nint f() {\n}\nint g() {\n\n}\n}\n", {2, 3}},
      {"class A : public B<int> {\n public:\n  void f() const {\n  }\n private:\n  int x_{1};\n};\n", {2}},
      {"A::A(int x) : x_{x}, y_(x) {\n\n}\nint f() {\n}\n", {3, 2}},
      {"template <class T = int>\nT f(std::vector<T> x = {}) {\n}\n", {3}},
      {"const std::vector<int> table = {\n1,\n2};\nint f() {\n}\n", {2}},
      {"const auto f = [](int x) {\n\n};\n", {3}},
      {"auto f() -> std::vector<int> {\n  run([] { for (;;) { } });\n}\n", {3}},
      {"bool operator==(A a, A b) {\n}\n", {2}},
      {"enum class E : int { a, b };\nstruct S { int x = 0; };\n", {}},
      {"#define M(x) \\\n  if (x) {\nint f() {\n}\n", {2}},
      {"extern \"C\" {\nint f() {\n}\n}\n", {2}},
      {"TEST_CASE(\"a { b\") {\n\n}\n", {3}},
      {"TEST_SUITE(\"a\") {\nTEST_CASE(\"b\") {\n\n}\n}\n", {3}},
      {"void f(int c = ';') {\n}\nvoid g(A a = A{1}) {\n\n}\n", {2, 3}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    std::vector<int> lines;
    for (const Function& function : functions_of(one.text)) lines.push_back(function.lines);
    CHECK(lines == one.lines);
  }
}

TEST_CASE("A function is too long from 71 lines on") {
  CHECK(check_functions({"a.cpp", "int f() {\n" + repeated("x;\n", 68) + "}\n"}).empty());
  CHECK(text_of(check_functions({"a.cpp", "\n\nint f() {\n" + repeated("x;\n", 69) + "}\n"})) ==
        "a.cpp:3: the function has 71 lines, at most 70\n");
}

TEST_CASE("Lines are judged by what is seen") {
  CHECK(check_lines({"a.cpp", std::string(110, 'x') + "\n"}).empty());
  CHECK(check_lines({"a.cpp", repeated("\xC3\xA9", 110) + "\n"}).empty());
  CHECK(text_of(check_lines({"a.cpp", "\n" + std::string(111, 'x') + "\n"})) ==
        "a.cpp:2: the line has 111 characters, at most 110\n");
  CHECK(text_of(check_lines({"a.cpp", "a\tb\nc \nd\r\ne"})) ==
        "a.cpp:1: a tab; indent with spaces\n"
        "a.cpp:2: space at the end of the line\n"
        "a.cpp:3: a carriage return; end lines with a line feed\n"
        "a.cpp:4: no line feed at the end of the file\n");
  const std::string leftover = std::string("TO") + "DO";
  CHECK(text_of(check_lines({"a.cpp", "// " + leftover + ": later\n"})) ==
        "a.cpp:1: " + leftover + "; finish it, or file an issue\n");
}

TEST_CASE("Banned words are found in code and not in comments or strings") {
  CHECK(
      check_words({"sim/engine/a.cpp", "// rand() of a double\nf(\"rand()\"); int operand(int);\n"}).empty());
  CHECK(check_words({"experiments/a.cpp", "auto t = std::chrono::steady_clock::now(); double x;\n"}).empty());
  CHECK(check_words({"kernels/a.cpp", "auto t = std::chrono::steady_clock::now(); double x;\n"}).empty());
  CHECK(check_words({"sim/report/a.cpp", "double x; static_assert(true); using namespace std;\n"}).empty());
  CHECK(text_of(check_words({"sim/network/a.hpp", "int x;\nusing namespace std;\ndouble y = rand();\n"})) ==
        "sim/network/a.hpp:3: 'rand(': use Random of sim/core/random.hpp, with a seed that is printed\n"
        "sim/network/a.hpp:2: 'using namespace': name what is used\n"
        "sim/network/a.hpp:3: 'double': no floating point decides a time; use integers and Int128\n");
  CHECK(check_words({"algorithms/a.cpp", "steady_clock random_device system_clock\n"}).size() == 3);
}

TEST_CASE("Includes against the order of the folders are found") {
  const auto includes = [](const char* path, const char* line) {
    return text_of(check_includes({path, std::string(line) + "\n"}));
  };
  CHECK(includes("sim/network/a.cpp", "#include \"sim/engine/b.hpp\"").empty());
  CHECK(includes("sim/execution/a.cpp", "#include \"sim/network/b.hpp\"").empty());
  CHECK(includes("tests/a.cpp", "#include \"algorithms/b.hpp\"").empty());
  CHECK(includes("experiments/a.cpp", "#include \"topologies/b.hpp\"").empty());
  CHECK(includes("sim/config/a.cpp", "#include <yaml-cpp/yaml.h>").empty());
  CHECK(includes("topologies/a.cpp", "#include <boost/graph/adjacency_list.hpp>").empty());
  CHECK(includes("sim/engine/a.cpp", "#include \"sim/model/b.hpp\"") ==
        "sim/engine/a.cpp:1: sim/engine/ must not include sim/model/b.hpp\n");
  CHECK(includes("algorithms/a.cpp", "#include \"topologies/b.hpp\"") ==
        "algorithms/a.cpp:1: algorithms/ must not include topologies/b.hpp\n");
  CHECK(includes("sim/report/a.cpp", "  #  include \"experiments/b.hpp\"") ==
        "sim/report/a.cpp:1: sim/report/ must not include experiments/b.hpp\n");
  CHECK(includes("sim/config/a.hpp", "#include <yaml-cpp/yaml.h>") ==
        "sim/config/a.hpp:1: a header must not include yaml-cpp/yaml.h\n");
  CHECK(includes("algorithms/a.cpp", "#include <yaml-cpp/yaml.h>") ==
        "algorithms/a.cpp:1: only sim/config/ may include yaml-cpp/\n");
  CHECK(includes("tests/a.cpp", "#include \"b.hpp\"") ==
        "tests/a.cpp:1: write the path from the root of the repository\n");
}

TEST_CASE("A header without comment or guard is found") {
  CHECK(check_header({"a.hpp", "// A: what it is.\n#pragma once\n"}).empty());
  CHECK(check_header({"a.cpp", "int x;\n"}).empty());
  CHECK(text_of(check_header({"a.hpp", "#pragma once\n"})) ==
        "a.hpp:1: a header starts with a comment that says what it is for\n");
  CHECK(text_of(check_header({"a.hpp", "// A: what it is. #pragma once\n"})) ==
        "a.hpp:0: a header has one line '#pragma once'\n");
}

TEST_CASE("A source file that no CMakeLists.txt names is found") {
  const std::vector<SourceFile> lists = {{"CMakeLists.txt", "add(x tests/a.cpp)\n# tests/c.cpp\n"},
                                         {"tests/CMakeLists.txt", "add(b.cpp not_d.cpp ../sim/e.cpp)\n"}};
  CHECK(check_registered(lists, {"tests/a.cpp", "tests/b.cpp", "sim/e.cpp"}).empty());
  CHECK(text_of(check_registered(lists, {"tests/c.cpp", "tests/d.cpp", "sim/b.cpp"})) ==
        "tests/c.cpp:0: no CMakeLists.txt names this file, so nothing builds it\n"
        "tests/d.cpp:0: no CMakeLists.txt names this file, so nothing builds it\n"
        "sim/b.cpp:0: no CMakeLists.txt names this file, so nothing builds it\n");
}

TEST_CASE("A stranger at the top of the repository is found") {
  CHECK(check_top_level({"sim", ".git", "build", "README.md"}).empty());
  CHECK(text_of(check_top_level({"docs"})) ==
        "docs:0: the architecture has no such file or folder at the top\n");
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("tree");

TEST_CASE("The tree is read") {
  const auto paths = tree();
  for (const char* path : {"CMakeLists.txt", "sim/core/units.hpp", "tests/tidy_test.cpp"})
    CHECK(std::find(paths.begin(), paths.end(), path) != paths.end());
}

TEST_CASE("Lines are short and clean") {
  // Not the data of tests: bad input may have tabs on purpose.
  const auto written = files({"pp", ".cu", ".cuh", ".md", ".cmake", ".sh", "CMakeLists.txt", "Presets.json"});
  CHECK(findings_in(written, check_lines) == "");
}

TEST_CASE("Functions are short") { CHECK(findings_in(cpp_files(), check_functions) == ""); }

TEST_CASE("Names of tests are names to ctest too") {
  const auto text = [](const std::string& name) {
    return "\nTEST_CASE(\"" + name + "\") { CHECK(a == 1); }\n";
  };
  CHECK(check_test_names({"tests/a.cpp", text("a, b")}).empty());
  CHECK(text_of(check_test_names({"tests/a.cpp", text("a; b")})) ==
        "tests/a.cpp:2: a ';' in the name of a test\n");
  CHECK(findings_in(cpp_files(), check_test_names) == "");
}

TEST_CASE("No banned word is used") { CHECK(findings_in(cpp_files(), check_words) == ""); }

TEST_CASE("Includes follow the order of the folders") {
  CHECK(findings_in(cpp_files(), check_includes) == "");
}

TEST_CASE("Headers say what they are for") { CHECK(findings_in(cpp_files(), check_header) == ""); }

TEST_CASE("Every source file is built") {
  std::vector<std::string> sources;
  for (const std::string& path : tree())
    if (ends_with(path, ".cpp") || ends_with(path, ".cu")) sources.push_back(path);
  CHECK(text_of(check_registered(files({"CMakeLists.txt"}), sources)) == "");
}

TEST_CASE("Every folder of the architecture explains itself") {
  std::vector<fs::path> folders = {root() / "sim"};
  for (const fs::path& parent : {root(), root() / "sim"})
    for (const auto& entry : fs::directory_iterator(parent)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && name.front() != '.' && name != "build" && name != "cmake")
        folders.push_back(entry.path());
    }
  for (const fs::path& folder : folders)
    CHECK_MESSAGE(fs::exists(folder / "README.md"), folder.lexically_relative(root()).string());
}

TEST_CASE("The top of the repository holds what the architecture names") {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root())) names.push_back(entry.path().filename().string());
  CHECK(text_of(check_top_level(names)) == "");
}

TEST_SUITE_END();
