// Right files, made wrong at random: the reader must always give either an experiment or errors.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/core/random.hpp"
#include "tests/sim/config/fixture.hpp"
#include "tests/sim/config/full_experiment.hpp"

using namespace collsim;

namespace {

const std::vector<std::string> tokens = {"cluster:",
                                         "nodes:",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         "\n",
                                         "\n  ",
                                         ": ",
                                         ", ",
                                         "&a ",
                                         "*a",
                                         "<<: *a",
                                         "-",
                                         "- ",
                                         "0",
                                         "-1",
                                         "1e9",
                                         "8 MiB",
                                         "1 TiB",
                                         "5 ns",
                                         "50 GB/s",
                                         "\"",
                                         "'",
                                         "|\n",
                                         ">\n",
                                         "~",
                                         "? ",
                                         "---\n",
                                         "...",
                                         "!!str ",
                                         "#",
                                         "\t",
                                         "99999999999999999999",
                                         "true",
                                         "auto",
                                         "ring",
                                         "%YAML 1.2\n",
                                         "\xef\xbb\xbf",
                                         "\xff",
                                         "\r\n"};

std::size_t index(Random& random, std::size_t count) { return static_cast<std::size_t>(random.below(count)); }

std::string mutated(std::string text, Random& random) {
  const std::size_t changes = random.below(2) == 0 ? 1 : 1 + index(random, 6);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = index(random, text.size() + 1);
    const std::size_t length = index(random, random.below(4) == 0 ? 40 : 3);
    switch (random.below(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random.below(256)));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      case 3:
        text.insert(at, tokens[index(random, tokens.size())]);
        break;
      default: {
        const std::string piece = text.substr(index(random, text.size() + 1), index(random, 60));
        text.insert(at, piece);
      }
    }
  }
  return text;
}

void check_one_of_value_and_errors(const std::string& text, const std::vector<Override>& overrides) {
  const ReadResult result = read(text, overrides);
  CHECK(result.experiment.has_value() != result.diagnostics.has_errors());
  for (const Diagnostic& item : result.diagnostics.items()) {
    CHECK_FALSE(item.message.empty());
    CHECK_FALSE(item.place.file.empty());
  }
  result.diagnostics.text();
}

}  // namespace

TEST_CASE("Whatever is done to a file, there is an experiment or there are errors, never both or neither") {
  int right = 0;
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::string text = mutated(full_experiments()[index(random, full_experiments().size())], random);
    CAPTURE(text);
    check_one_of_value_and_errors(text, {});
    right += read(text).experiment.has_value() ? 1 : 0;
  }
  CHECK(right > 100);  // some stay right, or the mutations are too coarse to test the later checks
  CHECK(right < 2'000);
}

TEST_CASE("Whatever is given to --set, there is an experiment or there are errors") {
  const std::vector<std::string> keys = {"cluster.nodes", "cluster",   "algorithm[0].channels",
                                         "size[0]",       "size.from", "cluster.fabric.links[0].to",
                                         "seed",          "a.b.c",     "cluster.nodes[1].node.gpus",
                                         "network.mtu",   "routing",   "jobs[0].ranks",
                                         "faults[1]",     "skew[0]",   "background[0].load"};
  const std::vector<std::string> values = {
      "8", "ring",        "[8 MiB, 1 GiB]", "{kind: torus}", "",
      "~", "{from: 4 B}", "0-6:2",          "50 %",          "{rank: 1, speed: 1/2}"};
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Override override_{keys[index(random, keys.size())], values[index(random, values.size())]};
    if (random.below(2) == 0) override_.key = mutated(override_.key, random);
    if (random.below(2) == 0) override_.value = mutated(override_.value, random);
    CAPTURE(override_.key);
    CAPTURE(override_.value);
    check_one_of_value_and_errors(full_experiments()[index(random, full_experiments().size())], {override_});
  }
}

TEST_CASE("Deep nesting of any kind ends in an error") {
  for (const std::string piece : {"[", "{a: ", "- ", "? ", "{? ", "[{", "!a [", "&a ["}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += piece;
    CAPTURE(piece);
    CHECK(read(text).diagnostics.has_errors());
  }
  CHECK(read(std::string(16 << 20, '[')).diagnostics.text() ==
        "x.yaml: error: the values are nested too deeply\n  expected at most 64 levels\n");
  std::string indented;
  for (int i = 0; i < 200; ++i) indented += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  CHECK(read(indented).diagnostics.has_errors());
}
