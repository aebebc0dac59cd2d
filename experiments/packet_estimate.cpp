#include "experiments/packet_estimate.hpp"

#include <algorithm>
#include <variant>

#include "sim/model/schedule.hpp"

namespace collsim::program {

namespace {

class Counter {
 public:
  Counter(const Topology& topology, const Job& job, Bytes mtu) : topology_(topology), job_(job), mtu_(mtu) {}

  std::int64_t of_stream(Rank rank, std::int32_t stream) {
    const Schedule& schedule = *job_.schedule;
    binding_.clear();
    schedule.bind(rank, stream, binding_);
    std::int64_t hops = 0;
    for (const Loop& loop : schedule.programs[static_cast<std::size_t>(binding_.program)].loops)
      for (const OperationTemplate& operation : loop.body) {
        const std::int64_t links = links_of(rank, operation);
        if (links > 0) hops += loop.trips * links * packets_of(operation);
      }
    return hops;
  }

 private:
  Rank seat(Rank rank) const {
    return job_.rank_map.empty() ? rank : job_.rank_map[static_cast<std::size_t>(rank)];
  }

  std::int64_t packets_of(const OperationTemplate& operation) const {
    const Chunk chunk = resolve(operation.chunk, binding_.bases.data(), 0);
    const std::int64_t bytes = size_of(job_.schedule->layout, chunk).count();
    return std::max<std::int64_t>(1, (bytes + mtu_.count() - 1) / mtu_.count());
  }

  // That the operation puts packets on; of an aggregation, the share of one member.
  std::int64_t links_of(Rank rank, const OperationTemplate& operation) {
    const auto slot = static_cast<std::size_t>(operation.peer);
    if (operation.kind == OperationKind::send) {
      const Peer& peer = binding_.peers[slot];
      links_.clear();
      topology_.route(seat(rank), seat(peer.rank), peer.channel, links_);
      return static_cast<std::int64_t>(links_.size());
    }
    if (operation.kind != OperationKind::aggregate) return 0;
    AggregationGroup group = job_.schedule->group(binding_.groups[slot]);
    for (Rank& member : group.members) member = seat(member);
    const auto path = topology_.aggregation(group);
    const auto* tree = std::get_if<AggregationPath>(&path);
    if (tree == nullptr) return 0;
    return static_cast<std::int64_t>((tree->links.size() + group.members.size() - 1) / group.members.size());
  }

  const Topology& topology_;
  const Job& job_;
  Bytes mtu_;
  Binding binding_;
  std::vector<LinkId> links_;
};

}  // namespace

std::int64_t packet_hops(const Topology& topology, const std::vector<Job>& jobs, Bytes mtu,
                         std::int64_t most) {
  std::int64_t hops = 0;
  for (const Job& job : jobs) {
    Counter counter(topology, job, mtu);
    for (Rank rank = 0; rank < job.schedule->ranks && hops <= most; ++rank)
      for (std::int32_t stream = 0; stream < job.schedule->stream_count(rank) && hops <= most; ++stream)
        hops += counter.of_stream(rank, stream);
  }
  return hops;
}

}  // namespace collsim::program
