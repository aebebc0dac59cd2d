#include "sim/config/diagnostic.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace collsim;

namespace {

Diagnostic error_at(const std::string& file, int line, int column, const std::string& message) {
  Diagnostic result;
  result.place = {file, line, column};
  result.message = message;
  return result;
}

}  // namespace

TEST_CASE("A diagnostic has the form that the design shows") {
  Diagnostics diagnostics;
  Diagnostic one = error_at("cluster.yaml", 4, 5, "unknown key");
  one.key = "cluster.fabric.bandwith";
  one.source = "    bandwith: 400 Gbit/s";
  one.expected = "one of kind, levels, radix, oversubscription, bandwidth, latency, reduction";
  one.hint = "bandwidth";
  diagnostics.add(one);
  CHECK(diagnostics.text() ==
        "cluster.yaml:4:5: error: cluster.fabric.bandwith: unknown key\n"
        "      bandwith: 400 Gbit/s\n"
        "      ^\n"
        "  expected one of kind, levels, radix, oversubscription, bandwidth, latency, reduction\n"
        "  did you mean 'bandwidth'?\n");
}

TEST_CASE("Diagnostics are sorted by file, line and column, and stay in order at one place") {
  Diagnostics diagnostics;
  diagnostics.add(error_at("b", 1, 1, "5"));
  diagnostics.add(error_at("a", 2, 1, "3"));
  diagnostics.add(error_at("a", 1, 7, "2"));
  diagnostics.add(error_at("a", 10, 1, "4"));
  diagnostics.add(error_at("a", 0, 0, "1"));
  diagnostics.add(error_at("b", 1, 1, "6"));
  CHECK(
      diagnostics.text() ==
      "a: error: 1\na:1:7: error: 2\na:2:1: error: 3\na:10:1: error: 4\nb:1:1: error: 5\nb:1:1: error: 6\n");
}

TEST_CASE("Only errors are errors, and both kinds are counted on their own") {
  Diagnostics diagnostics;
  CHECK(diagnostics.empty());
  CHECK(diagnostics.text().empty());
  Diagnostic warning = error_at("a", 1, 1, "w");
  warning.severity = Severity::warning;
  for (int i = 0; i < 21; ++i) diagnostics.add(warning);
  CHECK_FALSE(diagnostics.has_errors());
  for (int i = 0; i < 22; ++i) diagnostics.add(error_at("b", 1, 1, "e"));
  CHECK(diagnostics.has_errors());
  std::string expected;
  for (int i = 0; i < 20; ++i) expected += "a:1:1: warning: w\n";
  for (int i = 0; i < 20; ++i) expected += "b:1:1: error: e\n";
  CHECK(diagnostics.text() == expected + "... and 2 more errors\n... and 1 more warning\n");
}
