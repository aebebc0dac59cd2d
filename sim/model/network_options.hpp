// NetworkOptions: which model decides how long a transfer takes, and what the packet model is told.
//
// Sources     MTU default: the largest of InfiniBand and RoCE (IBTA architecture specification, 4,096 bytes
// of
//             payload). ECN marking between two thresholds: RED (Floyd and Jacobson 1993); the rate control
//             is in the manner of DCQCN (Zhu et al., SIGCOMM 2015), whose names and default times it keeps.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/units.hpp"

namespace collsim {

enum class NetworkKind : std::uint8_t { fluid, packet };
const char* name_of(NetworkKind kind);  // "fluid", "packet"

enum class Switching : std::uint8_t { cut_through, store_and_forward };

// A switch marks packets that leave a queue longer than k_min with a probability that grows linearly to
// mark_max_ppm at k_max; above k_max it marks all of them.
struct EcnSpec {
  Bytes k_min;
  Bytes k_max;
  std::int32_t mark_max_ppm = 1'000'000;  // parts per million
};

// DCQCN at the sender. Rates are those of one connection; the start is the rate of its first link.
struct RateControlSpec {
  Duration notification_interval =
      Duration::microseconds(50);  // at most one notification (CNP) per connection
  Duration alpha_interval = Duration::microseconds(55);
  Duration increase_interval = Duration::microseconds(55);
  std::int32_t gain_shift = 8;      // g = 1/256
  std::int32_t recovery_steps = 5;  // of fast recovery, before rates increase additively
  Bandwidth additive = Bandwidth::bytes_per_second(5'000'000);   // 40 Mbit/s
  Bandwidth hyper = Bandwidth::bytes_per_second(25'000'000);     // 200 Mbit/s
  Bandwidth rate_min = Bandwidth::bytes_per_second(12'500'000);  // 100 Mbit/s
};

struct PacketSpec {
  Bytes mtu = Bytes(4096);  // payload of a packet
  Bytes header;             // of every packet, on every link
  Switching switching = Switching::cut_through;
  // Of the input of a link, for each virtual channel. Absent: what keeps the link busy, bandwidth * 2
  // latency, and 4 packets. A sender holds a packet until there is room (credits; no packet is ever dropped).
  std::optional<Bytes> buffer;
  // For segments of an aggregation at a switch of its tree, each group. Absent: as for a link.
  std::optional<Bytes> reduction_buffer;
  // Virtual channels. Absent: as many as keep the routes of the run from waiting in a circle.
  std::optional<std::int32_t> virtual_channels;
  std::optional<EcnSpec> ecn;
  std::optional<RateControlSpec> rate_control;  // needs ecn
};

struct NetworkOptions {
  NetworkKind kind = NetworkKind::fluid;
  PacketSpec packet;
};

}  // namespace collsim
