// Every mistake has its own message, and the whole text of it is compared.
//
// Update  COLLSIM_UPDATE_GOLDEN=1 writes the real texts into messages.txt instead of comparing them.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/sim/config/fixture.hpp"

using namespace collsim;

namespace {

struct Case {
  std::string name;
  std::vector<Override> overrides;
  std::string text;
  std::string expected;
};

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

const std::string messages_path = COLLSIM_SOURCE_DIR "/tests/sim/config/messages.txt";

// The file with the texts that the reader gives now.
std::string with_real_texts() {
  std::ifstream stream(messages_path);
  std::string result;
  std::string text;
  std::vector<Override> overrides;
  bool in_expected = false;
  for (std::string line; std::getline(stream, line);) {
    if (starts_with(line, "== ")) {
      text.clear();
      overrides.clear();
      in_expected = false;
    }
    if (!in_expected) result += line + "\n";
    if (starts_with(line, "== ") || in_expected) continue;
    if (line == "--") {
      in_expected = true;
      result += read(text, overrides).diagnostics.text();
    } else if (starts_with(line, "$ ")) {
      const std::size_t equals = line.find('=');
      overrides.push_back({line.substr(2, equals - 2), line.substr(equals + 1)});
    } else {
      text += line + "\n";
    }
  }
  return result;
}

std::vector<Case> cases() {
  std::ifstream stream(messages_path);
  REQUIRE(stream.good());
  std::vector<Case> result;
  bool in_expected = false;
  for (std::string line; std::getline(stream, line);) {
    if (starts_with(line, "== ")) {
      result.push_back({line.substr(3), {}, "", ""});
      in_expected = false;
    } else if (result.empty()) {
      continue;  // the file's own comment
    } else if (line == "--") {
      in_expected = true;
    } else if (in_expected) {
      result.back().expected += line + "\n";
    } else if (starts_with(line, "$ ")) {
      const std::size_t equals = line.find('=');
      result.back().overrides.push_back({line.substr(2, equals - 2), line.substr(equals + 1)});
    } else {
      result.back().text += line + "\n";
    }
  }
  return result;
}

const std::string right =
    "cluster:\n"
    "  nodes: 2\n"
    "  fabric: {kind: switch, bandwidth: 50 GB/s}\n"
    "algorithm: ring\n"
    "size: 1 KiB\n";

}  // namespace

TEST_CASE("The reader says exactly what is wrong, case by case of messages.txt") {
  if (std::getenv("COLLSIM_UPDATE_GOLDEN") != nullptr) {
    const std::string text = with_real_texts();
    std::ofstream(messages_path) << text;
  }
  const std::vector<Case> all = cases();
  CHECK(all.size() > 100);
  for (const Case& one : all) {
    CAPTURE(one.name);
    const ReadResult result = read(one.text, one.overrides);
    CHECK(result.diagnostics.text() == one.expected);
    CHECK(result.experiment.has_value() != result.diagnostics.has_errors());
    CHECK_FALSE(result.diagnostics.empty());
  }
}

TEST_CASE("Bytes that are no text are named, wherever they stand") {
  const auto said = [](std::string text) { return read(text).diagnostics.text(); };
  const std::string expected =
      "x.yaml:1:10: error: not YAML: a control character (byte 0)\n"
      "  cluster: ?1\n"
      "           ^\n"
      "  expected text in UTF-8\n";
  CHECK(said(std::string("cluster: \0001\n", 12)) == expected);
  CHECK(said("cluster:\n  nodes: \x04\n") ==
        "x.yaml:2:10: error: not YAML: a control character (byte 4)\n"
        "    nodes: ?\n"
        "           ^\n"
        "  expected text in UTF-8\n");
}

TEST_CASE("A file of more than 16 MiB is refused before it is parsed") {
  CHECK(read(std::string((16 << 20) + 1, ' ')).diagnostics.text() ==
        "x.yaml: error: the file is too large\n  expected at most 16 MiB\n");
}

TEST_CASE("Line ends of Windows and a byte order mark change nothing") {
  std::string windows = "\xef\xbb\xbf";
  for (const char c : right) windows += c == '\n' ? "\r\n" : std::string(1, c);
  const ReadResult result = read(windows);
  CHECK(result.diagnostics.text().empty());
  CHECK(result.experiment.has_value());
  CHECK(read("\xef\xbb\xbf"
             "cluster: 1\r\nalgorithm: ring\r\nsize: 4 B\r\n")
            .diagnostics.text() ==
        "x.yaml:1:10: error: cluster: '1' is not a map\n"
        "  cluster: 1\n"
        "           ^\n"
        "  expected a map with preset, nodes, node, fabric, sites\n");
}

TEST_CASE("The caret stands under what is meant, behind tabs and letters of several bytes") {
  CHECK(read("\"\xc3\xa4\xc3\xb6\": {a: 1}\n")
            .diagnostics.text()
            .find("  \"\xc3\xa4\xc3\xb6\": {a: 1}\n  ^\n") != std::string::npos);
  const ReadResult result =
      read("cluster: {node: {gpus: \"\xc3\xa4\"}, nodes:\t0}\nalgorithm: ring\nsize: 4 B\n");
  CHECK(result.diagnostics.text() ==
        "x.yaml:1:24: error: cluster.node.gpus: '\xc3\xa4' is not a whole number\n"
        "  cluster: {node: {gpus: \"\xc3\xa4\"}, nodes:\t0}\n"
        "                         ^\n"
        "  expected a whole number from 1 to 16777216\n"
        "x.yaml:1:38: error: cluster.nodes: '0' is too small\n"
        "  cluster: {node: {gpus: \"\xc3\xa4\"}, nodes:\t0}\n"
        "                                     \t^\n"
        "  expected a whole number from 1 to 16777216, or a list of: a map with count, preset, node\n");
}

TEST_CASE("A long line is shown around the place that is meant") {
  const std::string text =
      "size: [" + std::string(300, ' ') + "4 B, 5 X, " + std::string(300, ' ') + "8 B]\n";
  CHECK(read("cluster: {}\nalgorithm: ring\n" + text).diagnostics.text() ==
        "x.yaml:3:313: error: size[1]: '5 X' has the unknown unit 'X'\n"
        "  ..." +
            std::string(55, ' ') + "4 B, 5 X, " + std::string(95, ' ') +
            "...\n"
            "  " +
            std::string(63, ' ') +
            "^\n"
            "  expected one of B, kB, KiB, MB, MiB, GB, GiB, TB, TiB\n"
            "  did you mean 'B'?\n");
}

TEST_CASE("Twenty errors are shown in the order of the file, then how many more there are") {
  std::string text = right;
  for (int i = 0; i < 25; ++i) text += "unknown" + std::to_string(i) + ": 1\n";
  const std::string said = read(text).diagnostics.text();
  for (int i = 0; i < 25; ++i) {
    const std::string start =
        "x.yaml:" + std::to_string(6 + i) + ":1: error: unknown" + std::to_string(i) + ": ";
    CHECK((said.find(start) != std::string::npos) == (i < 20));
  }
  const std::string end = "... and 5 more errors\n";
  CHECK(said.substr(said.size() - end.size()) == end);
}

TEST_CASE("A hundred thousand mistakes are counted in reasonable time and space") {
  std::string text = right;
  for (int i = 0; i < 100'000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const std::string said = read(text).diagnostics.text();
  const std::string end = "... and 99980 more errors\n";
  CHECK(said.substr(said.size() - end.size()) == end);
}

TEST_CASE("An escape sequence in a file does not reach the terminal") {
  const std::string said = read("\"a\\e[31m\": 1\n").diagnostics.text();
  CHECK(said.find('\x1b') == std::string::npos);
  CHECK(said.find("a?[31m: unknown key") != std::string::npos);
}
