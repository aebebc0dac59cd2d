// Entries of the registry: rings and recursive exchanges.
#include "algorithms/exchanges.hpp"
#include "algorithms/registry.hpp"

namespace collsim::algorithms {
namespace {

using enum CollectiveKind;

std::vector<AlgorithmInfo> rings() {
  return {
      {"ring",
       "",
       "reduce-scatter and all-gather around a ring, one or more channels",
       "Patarasuk and Yuan, JPDC 69(2), 2009; NCCL src/device/all_reduce.h runRing",
       {all_reduce, reduce_scatter, all_gather, broadcast, reduce, barrier},
       {"channels", "slices", "slots", "channel_bandwidth", "order"},
       true,
       {},
       &ring},
      {"bidirectional_ring",
       "",
       "two rings that run against each other, half of the vector each",
       "Jain and Sabharwal, ICS 2010 (buckets in both directions)",
       {all_reduce, reduce_scatter, all_gather},
       {"channels", "slices", "slots", "channel_bandwidth", "order"},
       false,
       {},
       &bidirectional_ring},
      {"segmented_ring",
       "",
       "a ring that passes segments of its blocks on as they come, in one stream",
       "Open MPI coll_base_allreduce.c, ring_segmented, without its phases",
       {all_reduce, reduce_scatter, all_gather},
       {"channels", "slices", "slots", "channel_bandwidth", "order"},
       false,
       {},
       &segmented_ring},
  };
}

std::vector<AlgorithmInfo> butterflies() {
  return {
      {"recursive_doubling",
       "",
       "all that a rank has to peers at distances 1, 2, 4, ...; powers of a radix",
       "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005; MPICH; Open UCX UCC knomial",
       {all_reduce, all_gather, barrier},
       {"channel_bandwidth", "radix"},
       false,
       {"fold", "proxy"},
       &recursive_doubling,
       true},
      {"rabenseifner",
       "",
       "recursive halving and doubling: a reduce-scatter and the way back",
       "Rabenseifner, ICCS 2004; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005",
       {all_reduce, reduce_scatter, all_gather},
       {"channel_bandwidth", "radix"},
       false,
       {"doubling", "halving"},
       &rabenseifner,
       true},
      {"halving_doubling",
       "",
       "Gloo's halving-doubling on chunks, with binary blocks",
       "Gloo, gloo/allreduce_halving_doubling.h",
       {all_reduce},
       {"channel_bandwidth"},
       false,
       {},
       &halving_doubling,
       true},
      {"bcube",
       "",
       "Gloo's bcube: reduce-scatter and all-gather in groups of a base",
       "Gloo, gloo/allreduce_bcube.h",
       {all_reduce},
       {"channel_bandwidth", "radix"},
       false,
       {},
       &bcube,
       true},
      {"swing",
       "",
       "a butterfly whose peers swing to and fro, for rings and tori",
       "De Sensi et al., Swing, NSDI 2024",
       {all_reduce, reduce_scatter, all_gather},
       {"channels", "channel_bandwidth"},
       false,
       {"bandwidth", "latency"},
       &swing,
       true},
  };
}

std::vector<AlgorithmInfo> logarithmic_and_pairwise() {
  return {
      {"bruck",
       "",
       "blocks of 1, 2, 4, ... ranks in turn, any number of ranks; dissemination barrier",
       "Bruck et al., IEEE TPDS 8(11), 1997; Hensgen, Finkel, Manber, IJPP 17(1), 1988",
       {reduce_scatter, all_gather, all_to_all, barrier},
       {"channel_bandwidth", "radix"},
       false,
       {},
       &bruck,
       true},
      {"pat",
       "",
       "shifted binomial trees at once, far ranks first, all that goes one way in one message",
       "Jeaugey, PAT, arXiv 2506.20252; NCCL src/include/collectives.h",
       {reduce_scatter, all_gather},
       {"channel_bandwidth"},
       false,
       {},
       &pat,
       true},
      {"pairwise",
       "",
       "one partner a step, in N - 1 permutations",
       "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005; MPICH",
       {reduce_scatter, all_gather, all_to_all},
       {"channel_bandwidth"},
       false,
       {"rotation", "xor"},
       &pairwise,
       true},
  };
}

}  // namespace

std::vector<AlgorithmInfo> entries_of_rings_and_exchanges() {
  std::vector<AlgorithmInfo> entries = rings();
  for (auto* more : {&butterflies, &logarithmic_and_pairwise})
    for (AlgorithmInfo& info : more()) entries.push_back(std::move(info));
  return entries;
}

}  // namespace collsim::algorithms
