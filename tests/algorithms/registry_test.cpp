// The registry, the options it refuses and the reasons it gives.
#include <doctest/doctest.h>

#include "algorithms/registry.hpp"
#include "tests/algorithms/ideal_placement.hpp"

using namespace collsim;
using collsim::testing::ideal_placement;

namespace {

std::string reason(const AlgorithmRequest& request, const Placement& placement, std::int64_t bytes = 1024) {
  Collective collective;
  collective.bytes = Bytes(bytes);
  const auto made = algorithms::make_schedule(request, collective, placement);
  const auto* impossible = std::get_if<Impossible>(&made);
  return impossible != nullptr ? impossible->reason : "possible";
}

}  // namespace

TEST_CASE("The registry lists the algorithms of predict in their order") {
  std::vector<std::string> names;
  for (const algorithms::AlgorithmInfo& info : algorithms::all())
    if (info.in_predict) names.emplace_back(info.name);
  CHECK(names == std::vector<std::string>{"ring", "double_binary_tree", "binomial_tree", "cascade",
                                          "two_shot", "nvls", "sharp"});
}

TEST_CASE("The registry finds by name and alias, and nothing for other names") {
  CHECK(algorithms::find("tree") == algorithms::find("double_binary_tree"));
  CHECK(algorithms::find("ring")->name == "ring");
  CHECK(algorithms::find("") == nullptr);
  CHECK(algorithms::find("Ring") == nullptr);
}

TEST_CASE("Options out of range are refused with the range") {
  const Placement placement = ideal_placement(1, 8);
  AlgorithmRequest request{"ring", {}};
  request.options.channels = 0;
  CHECK(reason(request, placement) == "channels is 0; it must be 1 to 64");
  request.options.channels = 65;
  CHECK(reason(request, placement) == "channels is 65; it must be 1 to 64");
  request.options.channels.reset();
  request.options.slices = 1025;
  CHECK(reason(request, placement) == "slices is 1025; it must be 1 to 1024");
  request.options.slices.reset();
  request.options.slots = -1;
  CHECK(reason(request, placement) == "slots is -1; it must be 1 to 1048576");
  request.options.slots.reset();
  request.options.channel_bandwidth = Bandwidth();
  CHECK(reason(request, placement) == "channel_bandwidth must be greater than 0");
  AlgorithmRequest binomial{"binomial_tree", {}};
  binomial.options.root = 8;
  CHECK(reason(binomial, placement) == "root is 8; it must be 0 to 7");
}

TEST_CASE("Cascade refuses levels that do not make the ranks") {
  AlgorithmRequest request{"cascade", {}};
  request.options.levels = {3, 4};
  CHECK(reason(request, ideal_placement(1, 8)) ==
        "the product of levels [3, 4] is not the number of ranks, 8");
  request.options.levels = {8, 0};
  CHECK(reason(request, ideal_placement(1, 8)) == "levels [8, 0]: every level must be at least 1");
  request.options.levels = {1 << 30, 1 << 30, 1 << 30};
  CHECK(reason(request, ideal_placement(1, 8)) ==
        "the product of levels [1073741824, 1073741824, 1073741824] is not the number of ranks, 8");
}

TEST_CASE("In-network algorithms say why a cluster cannot run them") {
  Placement placement = ideal_placement(4, 8);
  CHECK(reason({"nvls", {}}, placement) == "nvls works inside one node; this cluster has 4");
  placement.fabric_reduction.enabled = false;
  CHECK(reason({"sharp", {}}, placement) == "no switch of the fabric reduces");
  placement = ideal_placement(1, 8);
  CHECK(reason({"sharp", {}}, placement) == "sharp needs at least 2 nodes; this cluster has 1");
  placement.node_reduction.enabled = false;
  CHECK(reason({"nvls", {}}, placement) == "no switch of the node reduces");
}

TEST_CASE("Slices keep aggregations below the largest message that the switches take") {
  Placement placement = ideal_placement(4, 1);
  placement.fabric_reduction.message_size_max = Bytes(1000);
  CHECK(reason({"sharp", {}}, placement, 4096) == "possible");
  AlgorithmRequest request{"sharp", {}};
  request.options.slices = 4;
  CHECK(reason(request, placement, 4096) ==
        "an aggregation of 1024 bytes is above the 1000 bytes that the switches take; more slices make it "
        "smaller");
  request.options.slices = 5;
  CHECK(reason(request, placement, 4096) == "possible");
}
