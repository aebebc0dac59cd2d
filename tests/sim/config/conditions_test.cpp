// Faults, skew, jitter, background and repeat, as an experiment says them.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/sim/config/accepted.hpp"
#include "tests/sim/config/full_experiment.hpp"

using namespace collsim;

namespace {

std::string with(const std::string& more) {
  return "cluster: {nodes: 8, fabric: {kind: switch, bandwidth: 50 GB/s}}\nalgorithm: ring\nsize: 4 B\n" +
         more;
}

std::string text_of(const std::optional<Factor>& factor) {
  if (!factor) return "none";
  return std::to_string(factor->numerator) + "/" + std::to_string(factor->denominator);
}

}  // namespace

TEST_CASE("Faults of links have what they say") {
  const std::vector<FaultSpec> faults = accepted(experiment_of_conditions()).conditions.faults;
  REQUIRE(faults.size() == 6);
  CHECK(faults[0].target == FaultTarget::link);
  CHECK(faults[0].name == "leaf0 -> spine1");
  CHECK(faults[0].at == Instant::picoseconds(1'000'000'000));
  CHECK(faults[0].bandwidth == Bandwidth::gigabytes_per_second(10));
  CHECK(faults[0].latency == Duration::microseconds(2));
  CHECK_FALSE(faults[0].down);
  CHECK_FALSE(faults[0].reroute.has_value());
  CHECK(faults[1].name == "leaf0 <-> spine1");
  CHECK(faults[1].at == Instant());
  CHECK(text_of(faults[1].bandwidth_factor) == "1/4");
  CHECK_FALSE(faults[1].bandwidth.has_value());
  CHECK_FALSE(faults[1].latency.has_value());
}

TEST_CASE("Faults of switches, NICs, ranks and the aggregation have what they say") {
  const std::vector<FaultSpec> faults = accepted(experiment_of_conditions()).conditions.faults;
  REQUIRE(faults.size() == 6);
  CHECK(faults[2].target == FaultTarget::switch_);
  CHECK(faults[2].name == "spine0");
  CHECK(faults[2].down);
  CHECK(faults[2].reroute == Duration::microseconds(10'000));
  CHECK(faults[3].target == FaultTarget::nic);
  CHECK(faults[3].name == "node2/nic0");
  CHECK_FALSE(faults[3].reroute.has_value());
  CHECK(faults[4].target == FaultTarget::rank);
  CHECK(faults[4].rank == 3);
  CHECK(text_of(faults[4].speed) == "2/3");
  CHECK(faults[5].target == FaultTarget::aggregation);
  CHECK(faults[5].fallback == "double_binary_tree");  // an alias gives the name
  CHECK(faults[5].reroute == Duration::microseconds(1));
  CHECK(faults[5].down);
}

TEST_CASE("All links of a switch or a NIC can be degraded") {
  const std::vector<FaultSpec> faults =
      accepted(
          with("faults: [{switch: a, bandwidth: 1 GB/s, latency: 1 us}, {nic: b, bandwidth_factor: 0.5}]\n"))
          .conditions.faults;
  CHECK(faults[0].target == FaultTarget::switch_);
  CHECK(faults[0].bandwidth == Bandwidth::gigabytes_per_second(1));
  CHECK(faults[0].latency == Duration::microseconds(1));
  CHECK(faults[1].target == FaultTarget::nic);
  CHECK(text_of(faults[1].bandwidth_factor) == "1/2");
  CHECK_FALSE(faults[1].down);
}

TEST_CASE("A part is exact, however it is written") {
  const auto part = [](const std::string& text) {
    return text_of(accepted(with("faults: [{rank: 0, speed: " + text + "}]\n")).conditions.faults[0].speed);
  };
  CHECK(part("0.5") == "1/2");
  CHECK(part("1/3") == "1/3");
  CHECK(part("2:6") == "1/3");
  CHECK(part("1") == "1/1");
  CHECK(part("100 %") == "1/1");
  CHECK(part("12.5%") == "1/8");
  CHECK(part("0.000001") == "1/1000000");
}

TEST_CASE("The place of every key of a fault is known") {
  const ReadResult result = read(experiment_of_conditions());
  const auto line = [&](std::string_view key) { return result.at(key).place.line; };
  const int first = line("faults[0]");
  CHECK(line("faults[2].switch") == first + 2);
  CHECK(line("faults[2].reroute") == first + 2);
  CHECK(result.at("faults[2].switch").place.column == 14);
  CHECK(line("faults[5].fallback") == first + 5);
  CHECK(line("background[0].link") > first + 5);
  CHECK(line("skew.deviation") > 0);
}

TEST_CASE("Skew and jitter are distributions, and skew can be a list") {
  const ConditionsSpec conditions = accepted(experiment_of_conditions()).conditions;
  CHECK(conditions.skew.distribution.kind == DistributionKind::normal);
  CHECK(conditions.skew.distribution.mean == Duration::microseconds(10));
  CHECK(conditions.skew.distribution.deviation == Duration::microseconds(2));
  CHECK(conditions.skew.ranks.empty());
  CHECK(conditions.jitter.kind == DistributionKind::exponential);
  CHECK(conditions.jitter.mean == Duration::nanoseconds(100));
  const SkewSpec listed = accepted(experiment_of_groups()).conditions.skew;
  CHECK(listed.distribution.is_zero());
  REQUIRE(listed.ranks.size() == 2);
  CHECK(listed.ranks[0].first == 1);
  CHECK(listed.ranks[0].second == Duration::microseconds(5));
  for (const char* name : {"constant", "uniform", "exponential", "pareto"})
    CHECK(accepted(with("jitter: {distribution: " + std::string(name) + ", mean: 1 us}\n"))
              .conditions.jitter.kind == *distribution_from_name(name));
  CHECK(accepted(with("")).conditions.is_empty());
}

TEST_CASE("Background is a load of links or a rate between ranks") {
  const std::vector<BackgroundSpec> background = accepted(experiment_of_conditions()).conditions.background;
  REQUIRE(background.size() == 2);
  CHECK(background[0].link == "leaf* -> spine*");
  CHECK(text_of(background[0].load) == "3/10");
  CHECK(background[1].from == 0);
  CHECK(background[1].to == 4);
  CHECK(background[1].rate == Bandwidth::gigabytes_per_second(10));
  CHECK_FALSE(background[1].load.has_value());
}

TEST_CASE("Repeating makes sense where something is random") {
  CHECK(accepted(with("")).repeat == 1);
  for (const char* random :
       {"routing: ecmp", "routing: valiant", "routing: {kind: table, file: x}",
        "jitter: {distribution: uniform, mean: 1 us}", "skew: {distribution: exponential, mean: 1 us}",
        "network: {kind: packet, ecn: {k_min: 0 B, k_max: 1 KiB}}"})
    CHECK(accepted(with("repeat: 10000\n" + std::string(random) + "\n")).repeat == 10'000);
  for (const char* fixed : {"routing: spray", "network: packet", "skew: [{rank: 0, delay: 1 us}]"})
    CHECK(read(with("repeat: 2\n" + std::string(fixed) + "\n")).diagnostics.items().size() == 1);
}

TEST_CASE("--set reaches into lists of faults and background") {
  const std::string text = with("faults: [{rank: 0, speed: 0.5}]\nbackground: [{link: a, load: 0.5}]\n");
  CHECK(accepted(text, {{"faults[0].rank", "7"}}).conditions.faults[0].rank == 7);
  CHECK(text_of(accepted(text, {{"background[0].load", "1"}}).conditions.background[0].load) == "1/1");
}

TEST_CASE("What faults, traffic and delays leave keeps times within int64") {
  const auto errors = [](const std::string& size, const std::string& more) {
    return read("cluster: {nodes: 8, fabric: {kind: switch, bandwidth: 1 MB/s}}\nalgorithm: ring\nsize: " +
                size + "\n" + more)
        .diagnostics.has_errors();
  };
  CHECK_FALSE(errors("100 GB", ""));
  CHECK(errors("100 GB", "faults: [{link: a, bandwidth_factor: 1 %}]\n"));
  CHECK(errors("100 GB", "faults: [{link: a, bandwidth: 1 kB/s}]\n"));
  CHECK(errors("100 GB", "background: [{link: a, load: 1}, {link: b, load: 1}, {link: c, load: 1}]\n"));
  CHECK(errors("100 GB", "network: {kind: packet, mtu: 64 B, header: 1 KiB}\n"));
  CHECK_FALSE(errors("4 B", "skew: {distribution: exponential, mean: 1 s}\n"));
  CHECK_FALSE(errors("4 B", "jitter: {distribution: exponential, mean: 1 ms}\n"));
  CHECK(errors("4 B", "jitter: {distribution: exponential, mean: 1000 s}\n"));
  CHECK(errors("4 B", "faults: [{link: a, latency: 1000 s}]\n"));
  CHECK_FALSE(errors("4 B", "faults: [{link: a, latency: 1 s}]\n"));
}
