#include "tests/sim/report/sample_points.hpp"

#include <utility>

namespace collsim {

namespace {

class CableRoutes : public RouteRule {
 public:
  void route(Rank source, Rank, std::int32_t, std::vector<LinkId>& links) const override {
    links.push_back(LinkId(source));
  }
};

}  // namespace

Point ring_point() {
  Point point;
  point.cluster = "1 node of 8 GPUs on nvswitch";
  point.collective = {CollectiveKind::all_reduce, Bytes(8 << 20), Datatype::float32, ReductionOp::sum};
  point.algorithm = "ring";
  point.ranks = 8;
  point.nodes = 1;
  point.network = "fluid";
  point.seed = 1;
  point.channels = 1;
  point.slices = 1;
  point.time = Duration::picoseconds(160'800'640);
  point.bound = {Duration::picoseconds(146'800'640), "rank"};
  // Every GPU sends 14 blocks of 1 MiB.
  point.bottleneck =
      LinkUse{"node0/gpu0 -> node0/nvswitch0", Bytes(14 << 20), Bandwidth::gigabytes_per_second(100)};
  point.messages = 112;
  point.events = 224;
  point.method = RunMethod{true, 8, 1};
  point.fingerprint = 0x0123456789abcdefULL;
  point.proven = true;
  return point;
}

Point impossible_point(Bytes size) {
  Point point = ring_point();
  point.algorithm = "sharp";
  point.collective.bytes = size;
  point.channels = 0;
  point.slices = 0;
  point.status = PointStatus::impossible;
  point.reason = "no switch of the fabric reduces";
  point.time.reset();
  point.bottleneck.reset();
  point.messages = 0;
  point.events = 0;
  point.method.reset();
  point.fingerprint.reset();
  point.proven = false;
  return point;
}

Point deadlock_point() {
  Point point = impossible_point(Bytes(12));
  point.algorithm = "ring";
  point.ranks = 3;
  point.status = PointStatus::deadlock;
  point.reason = "2 streams wait for ever";
  point.blocked = {{0, 0, 1, 5, "chunk from rank 2 on channel 0"}, {0, 1, 0, 4, "a free slot to rank 2"}};
  return point;
}

Topology cable_topology() {
  Topology::Parts parts;
  parts.name = "2 nodes on \"a cable\"";
  parts.placement.nodes = 2;
  parts.vertices = {{VertexKind::gpu, 0, 0, 0}, {VertexKind::gpu, 0, 1, 0}};
  const Bandwidth bandwidth = Bandwidth::gigabytes_per_second(1);
  const Duration latency = Duration::nanoseconds(100);
  parts.links = {{VertexId(0), VertexId(1), bandwidth, latency},
                 {VertexId(1), VertexId(0), bandwidth, latency}};
  parts.routes = std::make_shared<CableRoutes>();
  parts.cuts = {{"rank", 2, 2'000'000'000, 1'000'000'000}, {"bisection", 2, 2'000'000'000, 1'000'000'000}};
  parts.latency_max = latency;
  return Topology(std::move(parts));
}

}  // namespace collsim
