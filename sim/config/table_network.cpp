#include <utility>

#include "sim/config/table_parts.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/network_options.hpp"

namespace collsim::config {
namespace {

using namespace parts;

constexpr std::int64_t mtu_min = 64;
constexpr std::int64_t packet_max = std::int64_t{1} << 20;
constexpr std::int64_t nanosecond = 1'000;  // ps; the shortest interval of a rate control

Key limited(Key key, std::int64_t minimum, std::int64_t maximum) {
  key.minimum = minimum;
  key.maximum = maximum;
  return key;
}

Key interval(std::string name, std::string fallback, std::string description) {
  Key key = limited(duration(std::move(name), std::move(description)), nanosecond, duration_max);
  return with_default(std::move(key), std::move(fallback));
}

Key ecn_table() {
  return table("ecn", "switches mark packets that leave a long queue; none without it",
               {required(size("k_min", 0, "queue above which packets are marked")),
                required(size("k_max", 0, "queue above which all packets are marked")),
                with_default(part("mark_max", "part of the packets that is marked at k_max"), "1")});
}

Key rate_control_table() {
  Key key = table(
      "rate_control", "senders slow down when packets are marked; none without it",
      {with_default(choice("kind", {"dcqcn"}, "the rules by which they do"), "dcqcn"),
       interval("notification_interval", "50 us", "at most one notification of a connection in this time"),
       interval("alpha_interval", "55 us", "from one decay of alpha to the next"),
       interval("increase_interval", "55 us", "from one increase of the rate to the next"),
       with_default(integer("gain_shift", 1, 30, "the gain g of alpha is 1 / 2^gain_shift"), "8"),
       with_default(integer("recovery_steps", 1, 1'000, "of fast recovery, before rates increase"), "5"),
       with_default(bandwidth("additive", "step of the additive increase"), "40 Mbit/s"),
       with_default(bandwidth("hyper", "step of the hyper increase"), "200 Mbit/s"),
       with_default(bandwidth("rate_min", "no rate is below it"), "100 Mbit/s")});
  key.short_form = "kind";
  return key;
}

}  // namespace

Key routing_table() {
  using Kind = RoutingKind;
  Key kind =
      with_default(choice("kind",
                          enum_names<Kind>({Kind::minimal, Kind::d_mod_k, Kind::dimension_order, Kind::ecmp,
                                            Kind::spray, Kind::adaptive, Kind::valiant, Kind::table}),
                          "which way messages take; minimal: the fabric's own rule"),
                   "minimal");
  kind.noun = "routing";
  kind.mistaken = {{"rail_local", "{rail_local: true}, which goes with every kind"},
                   {"hash", "ecmp, which is a seeded choice at every switch"}};
  Key file = only_with(text("file", "the routing table, from the folder of the experiment"), {"table"});
  file.required_by = {"table"};
  file.noun = "a path";
  Key key =
      table("routing", "routes of messages",
            {std::move(kind), only_with(boolean("polarised", "false", "every switch hashes alike"), {"ecmp"}),
             boolean("rail_local", "false",
                     "between nodes: first over the interconnect to the GPU at the target's NIC number"),
             only_with(with_default(integer("paths", 1, 4'096, "routes of a connection, at most"), "64"),
                       {"spray", "adaptive"}),
             std::move(file)});
  key.short_form = "kind";
  key.fallback = "minimal";
  return key;
}

Key network_table() {
  const std::vector<std::string> packet = {"packet"};
  Key kind = with_default(
      choice("kind", {"fluid", "packet"}, "how messages share links: max-min fair, or packet by packet"),
      "fluid");
  kind.noun = "network";
  std::vector<Key> keys = {
      with_default(limited(size("mtu", mtu_min, "payload of a packet"), mtu_min, packet_max), "4 KiB"),
      with_default(limited(size("header", 0, "of every packet, on every link"), 0, packet_max), "0 B"),
      with_default(choice("switching", {"cut_through", "store_and_forward"}, "when a packet goes on"),
                   "cut_through"),
      automatic(size("buffer", 1, "of the input of a link, for each virtual channel")),
      automatic(size("reduction_buffer", 1, "for segments of an aggregation at a switch")),
      automatic(integer("virtual_channels", 1, 16, "of a link, against circles of waiting")),
      ecn_table(),
      rate_control_table()};
  for (Key& key : keys) key = only_with(std::move(key), packet);
  keys.insert(keys.begin(), std::move(kind));
  Key key = table("network", "the model of the network", std::move(keys));
  key.short_form = "kind";
  key.fallback = "fluid";
  return key;
}

}  // namespace collsim::config
