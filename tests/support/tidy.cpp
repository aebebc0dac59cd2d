#include "tests/support/tidy.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>

namespace collsim::tidy {
namespace {

constexpr std::size_t nowhere = std::string_view::npos;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}
bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}
bool is_header(std::string_view path) { return ends_with(path, ".hpp"); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> lines_of(std::string_view content) {
  std::vector<std::string_view> lines;
  while (!content.empty()) {
    const std::size_t end = content.find('\n');
    lines.push_back(content.substr(0, end));
    content = end == nowhere ? std::string_view() : content.substr(end + 1);
  }
  return lines;
}

int line_at(std::string_view content, std::size_t at) {
  return static_cast<int>(
             std::count(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
         1;
}

// Whether `word` stands in `text` as a whole word. Of a word that ends in no letter ("rand(") only the
// beginning is checked.
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != nowhere; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word(text[at - 1]);
    const bool closes = !is_word(word.back()) || end == text.size() || !is_word(text[end]);
    if (begins && closes) return true;
  }
  return false;
}

// The end (one past) of the comment, string or character literal that starts at `at`; `at` if none starts
// there.
std::size_t end_of_opaque(std::string_view text, std::size_t at) {
  const auto past = [&](std::size_t found, std::size_t length) {
    return found == nowhere ? text.size() : found + length;
  };
  const std::string_view rest = text.substr(at);
  if (starts_with(rest, "//")) return past(text.find('\n', at), 0);
  if (starts_with(rest, "/*")) return past(text.find("*/", at + 2), 2);
  const bool after_word = at > 0 && is_word(text[at - 1]);
  if (starts_with(rest, "R\"") && !after_word) {
    const std::size_t open = text.find('(', at);
    if (open == nowhere) return text.size();
    const std::string close = ")" + std::string(text.substr(at + 2, open - at - 2)) + "\"";
    return past(text.find(close, open), close.size());
  }
  const char quote = text[at];
  if (quote != '"' && (quote != '\'' || after_word)) return at;  // ' after a digit separates digits
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

// Blanks preprocessor lines with their continuations: their braces need not match.
void blank_directives(std::string& text) {
  bool continued = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const bool directive = continued || starts_with(trimmed(line), "#");
    continued = directive && ends_with(line, "\\");
    if (directive) std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(begin), end - begin, ' ');
    begin = end + 1;
  }
}

// What an opening brace opens, told from the text between the last statement and it.
enum class Scope { names, function, block, initializer };

// `head` without what stands in parentheses, and without a leading template<...>: what decides is outside.
std::string outline(std::string_view head) {
  std::string text;
  int depth = 0;
  for (const char c : head) {
    if (c == ')') --depth;
    if (depth == 0) text += c;
    if (c == '(') ++depth;
  }
  std::string_view rest = trimmed(text);
  if (starts_with(rest, "template")) {
    std::size_t at = rest.find('<');
    for (int angles = 0; at < rest.size(); ++at) {
      angles += rest[at] == '<' ? 1 : rest[at] == '>' ? -1 : 0;
      if (angles == 0) break;
    }
    rest = at < rest.size() ? rest.substr(at + 1) : std::string_view();
  }
  return std::string(trimmed(rest));
}

Scope scope_of(std::string_view head, Scope outer) {
  if (outer != Scope::names) return Scope::block;
  const std::string text = outline(head);
  for (const char* word : {"namespace", "enum", "TEST_SUITE"})  // doctest's suite is a namespace
    if (has_word(text, word)) return Scope::names;
  if (text == "extern") return Scope::names;
  const bool parentheses = text.find("()") != nowhere;
  for (const char* word : {"class", "struct", "union"})
    if (has_word(text, word) && !parentheses) return Scope::names;
  const bool lambda = text.find("](") != nowhere || ends_with(text, "]");
  const std::size_t equals = text.find('=');
  if (equals != nowhere && !has_word(text, "operator") && !lambda) return Scope::initializer;
  if (!parentheses && !lambda) return Scope::initializer;
  // A member initializer list: its braces follow a name, the body's follow ')' or '}'.
  const std::size_t colon = text.find(") :");
  const bool after_name = is_word(text.back()) || text.back() == '>';
  return colon != nowhere && after_name ? Scope::initializer : Scope::function;
}

struct Open {
  Scope scope;
  std::size_t head;  // where the text before the brace starts
};

}  // namespace

std::string text_of(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings)
    text += finding.file + ":" + std::to_string(finding.line) + ": " + finding.text + "\n";
  return text;
}

std::string without_comments_and_strings(std::string_view content) {
  std::string text(content);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_opaque(content, at);
    for (std::size_t i = at; i < end; ++i)
      if (text[i] != '\n') text[i] = ' ';
    at = std::max(end, at + 1);
  }
  return text;
}

std::vector<Function> functions_of(std::string_view content) {
  std::string text = without_comments_and_strings(content);
  blank_directives(text);
  std::vector<Function> functions;
  std::vector<Open> stack;
  std::size_t head = 0;
  int parentheses = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const Scope outer = stack.empty() ? Scope::names : stack.back().scope;
    const char c = text[at];
    // Inside a function only braces count: a body's parentheses may hold lambdas with statements.
    if (outer == Scope::names && (c == '(' || c == ')')) parentheses += c == '(' ? 1 : -1;
    if (outer == Scope::names && c == ';' && parentheses == 0) head = at + 1;
    if (c == '{') {
      const std::string_view before = std::string_view(text).substr(head, at - head);
      const Scope scope = parentheses > 0 ? Scope::initializer : scope_of(before, outer);
      stack.push_back({scope, head});
      if (scope == Scope::names) head = at + 1;
    }
    if (c == '}' && !stack.empty()) {
      const Open open = stack.back();
      stack.pop_back();
      if (open.scope == Scope::function) {
        const std::size_t start = text.find_first_not_of(" \n", open.head);
        const int line = line_at(text, start);
        functions.push_back({line, line_at(text, at) - line + 1});
      }
      // After an initializer in a member initializer list, the head goes on.
      if (open.scope == Scope::names || open.scope == Scope::function) head = at + 1;
    }
    if (outer == Scope::names && c == ':' && parentheses == 0) {
      const std::string_view label = trimmed(std::string_view(text).substr(head, at - head));
      if (label == "public" || label == "private" || label == "protected") head = at + 1;
    }
  }
  return functions;
}

Findings check_lines(const SourceFile& file) {
  Findings findings;
  const auto lines = lines_of(file.content);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto add = [&](std::string text) {
      findings.push_back({file.path, static_cast<int>(i) + 1, std::move(text)});
    };
    const std::string_view line = lines[i];
    // Continuation bytes of UTF-8 are not counted: what counts is what is seen.
    const auto seen = std::count_if(line.begin(), line.end(),
                                    [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    if (seen > line_length_max && ends_with(file.path, "pp"))
      add("the line has " + std::to_string(seen) + " characters, at most " + std::to_string(line_length_max));
    if (line.find('\t') != nowhere) add("a tab; indent with spaces");
    if (line.find('\r') != nowhere) add("a carriage return; end lines with a line feed");
    if (!line.empty() && (line.back() == ' ')) add("space at the end of the line");
    // Put together here, so that this file does not report itself.
    for (const std::string& leftover : {std::string("TO") + "DO", std::string("FIX") + "ME"})
      if (has_word(line, leftover)) add(leftover + "; finish it, or file an issue");
  }
  if (!file.content.empty() && file.content.back() != '\n')
    findings.push_back({file.path, static_cast<int>(lines.size()), "no line feed at the end of the file"});
  return findings;
}

Findings check_functions(const SourceFile& file) {
  Findings findings;
  for (const Function& function : functions_of(file.content))
    if (function.lines > function_lines_max)
      findings.push_back({file.path, function.line,
                          "the function has " + std::to_string(function.lines) + " lines, at most " +
                              std::to_string(function_lines_max)});
  return findings;
}

namespace {

enum class Where { everywhere, libraries, simulating, headers, time_deciding };

struct BannedWord {
  const char* word;
  Where where;
  const char* instead;
};

constexpr BannedWord banned_words[] = {
    {"rand(", Where::everywhere, "use Random of sim/core/random.hpp, with a seed that is printed"},
    {"srand(", Where::everywhere, "use Random of sim/core/random.hpp, with a seed that is printed"},
    {"random_device", Where::everywhere, "use Random of sim/core/random.hpp, with a seed that is printed"},
    {"mt19937", Where::libraries, "use Random of sim/core/random.hpp"},
    {"uniform_int_distribution", Where::everywhere,
     "its numbers differ between libraries; use Random::below"},
    {"system_clock", Where::everywhere, "a result must not depend on the date; time a run with steady_clock"},
    {"high_resolution_clock", Where::everywhere, "it may go backwards; use steady_clock"},
    {"steady_clock", Where::simulating, "only the program and the kernels measure wall time"},
    {"using namespace", Where::headers, "name what is used"},
    {"assert(", Where::everywhere, "use COLLSIM_CHECK of sim/core/check.hpp, which is always on"},
    {"exit(", Where::libraries, "return what happened; only the program ends"},
    {"std::cout", Where::libraries, "return the text; only the program prints"},
    {"std::cerr", Where::libraries, "return the text; only the program prints"},
    {"double", Where::time_deciding, "no floating point decides a time; use integers and Int128"},
    {"float", Where::time_deciding, "no floating point decides a time; use integers and Int128"},
};

bool applies(Where where, std::string_view path) {
  const auto in = [path](std::string_view folder) { return starts_with(path, folder); };
  switch (where) {
    case Where::everywhere:
      return true;
    case Where::libraries:
      return in("sim/") || in("algorithms/") || in("topologies/") || in("kernels/");
    case Where::simulating:
      return applies(Where::libraries, path) && !in("kernels/");
    case Where::headers:
      return is_header(path);
    case Where::time_deciding:
      return in("sim/engine/") || in("sim/network/") || in("sim/execution/");
  }
  return false;
}

// Which folders a folder may include, itself excepted. experiments and tests may include everything.
struct FolderRule {
  const char* folder;
  std::vector<const char*> may_include;
};

const std::vector<FolderRule>& folder_rules() {
  static const std::vector<FolderRule> rules = {
      {"sim/core/", {}},
      {"sim/model/", {"sim/core/"}},
      {"sim/engine/", {"sim/core/"}},
      {"sim/network/", {"sim/core/", "sim/model/", "sim/engine/"}},
      {"sim/execution/", {"sim/core/", "sim/model/", "sim/engine/", "sim/network/"}},
      {"sim/report/", {"sim/core/", "sim/model/", "sim/engine/", "sim/network/", "sim/execution/"}},
      {"sim/config/", {"sim/core/", "sim/model/"}},
      {"algorithms/", {"sim/core/", "sim/model/"}},
      {"topologies/", {"sim/core/", "sim/model/"}},
      {"kernels/", {"sim/core/", "sim/model/"}},
  };
  return rules;
}

// Headers of others that must stay where they are needed: compiling them is slow, and users of ours should
// not need them.
struct HeavyHeader {
  const char* start;
  const char* only_folder;  // in whose .cpp files it may be included
};

constexpr HeavyHeader heavy_headers[] = {
    {"yaml-cpp/", "sim/config/"}, {"boost/", "topologies/"}, {"CLI/", "experiments/"},   {"nlohmann/", ""},
    {"benchmark/", "tests/"},     {"cuda", "kernels/"},      {"expat.h", "algorithms/"},
};

bool may_include(const FolderRule& rule, std::string_view included) {
  return starts_with(included, rule.folder) ||
         std::any_of(rule.may_include.begin(), rule.may_include.end(),
                     [&](const char* folder) { return starts_with(included, folder); });
}

void check_folder(const SourceFile& file, int line, std::string_view included, Findings& findings) {
  for (const FolderRule& rule : folder_rules())
    if (starts_with(file.path, rule.folder) && !may_include(rule, included))
      findings.push_back(
          {file.path, line, std::string(rule.folder) + " must not include " + std::string(included)});
}

void check_heavy(const SourceFile& file, int line, std::string_view included, Findings& findings) {
  for (const HeavyHeader& heavy : heavy_headers) {
    if (!starts_with(included, heavy.start)) continue;
    if (is_header(file.path))
      findings.push_back({file.path, line, "a header must not include " + std::string(included)});
    else if (!starts_with(file.path, heavy.only_folder) && !starts_with(file.path, "tests/"))
      findings.push_back(
          {file.path, line, "only " + std::string(heavy.only_folder) + " may include " + heavy.start});
  }
}

// What a line includes, with its quotes or angle brackets; empty if it includes nothing.
std::string_view include_of(std::string_view line) {
  line = trimmed(line);
  if (!starts_with(line, "#")) return {};
  line = trimmed(line.substr(1));
  if (!starts_with(line, "include")) return {};
  line = trimmed(line.substr(7));
  const std::size_t end = line.find(line.empty() || line.front() != '<' ? '"' : '>', 1);
  return end == nowhere ? std::string_view() : line.substr(0, end + 1);
}

}  // namespace

Findings check_test_names(const SourceFile& file) {
  Findings findings;
  const auto lines = lines_of(file.content);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const std::size_t begin = line.find("TEST_CASE(\"");
    if (begin == std::string_view::npos) continue;
    const std::string_view name = line.substr(begin, line.rfind("\")") - begin);
    if (name.find(';') != std::string_view::npos && name.find("\\\"") == std::string_view::npos)
      findings.push_back({file.path, static_cast<int>(i) + 1, "a ';' in the name of a test"});
  }
  return findings;
}

Findings check_words(const SourceFile& file) {
  Findings findings;
  const std::string text = without_comments_and_strings(file.content);
  const auto lines = lines_of(text);
  for (const BannedWord& banned : banned_words) {
    if (!applies(banned.where, file.path)) continue;
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (has_word(lines[i], banned.word))
        findings.push_back(
            {file.path, static_cast<int>(i) + 1, std::string("'") + banned.word + "': " + banned.instead});
  }
  return findings;
}

Findings check_includes(const SourceFile& file) {
  Findings findings;
  const auto lines = lines_of(file.content);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view include = include_of(lines[i]);
    if (include.empty()) continue;
    const int line = static_cast<int>(i) + 1;
    const std::string_view name = include.substr(1, include.size() - 2);
    if (include.front() == '"') check_folder(file, line, name, findings);
    if (include.front() == '"' && name.find('/') == nowhere)
      findings.push_back({file.path, line, "write the path from the root of the repository"});
    check_heavy(file, line, name, findings);
  }
  return findings;
}

Findings check_header(const SourceFile& file) {
  if (!is_header(file.path)) return {};
  Findings findings;
  if (!starts_with(file.content, "// "))
    findings.push_back({file.path, 1, "a header starts with a comment that says what it is for"});
  const auto lines = lines_of(file.content);
  const auto is_guard = [](std::string_view line) { return line == "#pragma once"; };
  if (std::count_if(lines.begin(), lines.end(), is_guard) != 1)
    findings.push_back({file.path, 0, "a header has one line '#pragma once'"});
  return findings;
}

namespace {

std::string without_cmake_comments(std::string_view content) {
  std::string text;
  for (const std::string_view line : lines_of(content)) {
    text += line.substr(0, line.find('#'));
    text += '\n';
  }
  return text;
}

bool names_file(std::string_view text, std::string_view name) {
  const auto is_path = [](char c) { return is_word(c) || c == '/' || c == '.' || c == '-'; };
  for (std::size_t at = text.find(name); at != nowhere; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_path(text[at - 1])) && (end == text.size() || !is_path(text[end]))) return true;
  }
  return false;
}

}  // namespace

Findings check_registered(const std::vector<SourceFile>& cmake_files,
                          const std::vector<std::string>& sources) {
  std::vector<SourceFile> lists;  // path: the folder
  for (const SourceFile& file : cmake_files) {
    const auto folder = std::filesystem::path("/" + file.path).parent_path();
    lists.push_back({folder.generic_string(), without_cmake_comments(file.content)});
  }
  Findings findings;
  for (const std::string& source : sources) {
    const std::filesystem::path path("/" + source);
    const bool named = std::any_of(lists.begin(), lists.end(), [&](const SourceFile& list) {
      return names_file(list.content, path.lexically_relative(list.path).generic_string());
    });
    if (!named) findings.push_back({source, 0, "no CMakeLists.txt names this file, so nothing builds it"});
  }
  return findings;
}

Findings check_top_level(const std::vector<std::string>& names) {
  static const std::vector<std::string> allowed = {
      "CMakeLists.txt", "CMakePresets.json", "sim",          "algorithms",
      "topologies",     "kernels",           "experiments",  "tests",
      "README.md",      "quickstart.sh",     "CHANGELOG.md", "LICENSE"};
  Findings findings;
  for (const std::string& name : names)
    if (!starts_with(name, ".") && name != "build" &&
        std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      findings.push_back({name, 0, "the architecture has no such file or folder at the top"});
  return findings;
}

}  // namespace collsim::tidy
