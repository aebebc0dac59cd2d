#include "algorithms/registry.hpp"

#include "algorithms/all_reduce.hpp"
#include "algorithms/common.hpp"
#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

std::vector<AlgorithmInfo> registry() {
  const std::vector<CollectiveKind> reduces = {CollectiveKind::all_reduce};
  return {
      {"ring",
       "",
       "reduce-scatter and all-gather around a ring, one or more channels",
       "Patarasuk and Yuan, JPDC 69(2), 2009; NCCL src/device/all_reduce.h runRing",
       reduces,
       {"channels", "slices", "slots", "channel_bandwidth", "order"},
       true,
       &ring},
      {"double_binary_tree",
       "tree",
       "two binary trees, each reduces and broadcasts half, pipelined in slices",
       "Sanders, Speck, Traeff, Parallel Computing 35(12), 2009; NCCL src/graph/trees.cc",
       reduces,
       {"channels", "slices", "slots", "channel_bandwidth", "order"},
       true,
       &double_binary_tree},
      {"binomial_tree",
       "",
       "reduce to a root and broadcast along a binomial tree",
       "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005",
       reduces,
       {"slots", "channel_bandwidth", "root"},
       true,
       &binomial_tree},
      {"cascade",
       "",
       "a reduce-scatter at every level of the cluster and the all-gathers back",
       "Cho et al., BlueConnect, MLSys 2019",
       reduces,
       {"channels", "slices", "slots", "channel_bandwidth", "levels"},
       true,
       &cascade},
      {"two_shot",
       "",
       "direct reduce-scatter and direct all-gather between all pairs",
       "TensorRT-LLM and FlashInfer two-shot all-reduce",
       reduces,
       {"slots", "channel_bandwidth"},
       true,
       &two_shot},
      {"nvls",
       "",
       "all-reduce by the switches inside one node",
       "NVIDIA/nccl-tests pull request 239 (bytes a link carries)",
       reduces,
       {"channels", "slices"},
       true,
       &nvls},
      {"sharp",
       "",
       "all-reduce by the switches of the fabric, one tree a rail",
       "Graham et al., COM-HPC 2016 and ISC 2020",
       reduces,
       {"slices", "slots", "channel_bandwidth"},
       true,
       &sharp},
  };
}

}  // namespace

const std::vector<AlgorithmInfo>& all() {
  static const std::vector<AlgorithmInfo> table = registry();
  return table;
}

const AlgorithmInfo* find(std::string_view name) {
  for (const AlgorithmInfo& info : all())
    if (info.name == name || (!info.alias.empty() && info.alias == name)) return &info;
  return nullptr;
}

ScheduleOrReason make_schedule(const AlgorithmRequest& request, const Collective& collective,
                               const Placement& placement) {
  const AlgorithmInfo* info = find(request.name);
  COLLSIM_CHECK_MSG(info != nullptr, request.name);
  if (auto wrong = check_options(request.options, placement.ranks())) return *wrong;
  return info->make(collective, placement, request.options);
}

}  // namespace collsim::algorithms
