// The tightest cuts of a flow network, exactly: what each kind of collective must push through them.
//
// Each returns the FlowLimit of largest share / capacity over all cuts. The bounds and their computation by
// single-sink flows: ForestColl (arXiv 2402.06787) for gather_limit; the ratios are found by Dinkelbach's
// iteration (Management Science 13(7), 1967) on integers: every cut found is violated by the ratio before it,
// so the last one is the maximum.
#pragma once

#include <vector>

#include "topologies/flow.hpp"

namespace collsim::topologies {

// All terminals get the parts of all: over sets Q that lack a terminal, (terminals in Q) / (terminals) of the
// bytes leave Q. O(terminals) flows. Sets `sink` to a terminal outside the tightest Q.
FlowLimit gather_limit(FlowNetwork& network, std::int32_t& sink);
// One terminal's bytes reach every other: the smallest maximum flow from it, to `sink`.
FlowLimit broadcast_limit(FlowNetwork& network, std::int32_t root, std::int32_t& sink);
// One terminal sends every other a part.
FlowLimit scatter_limit(FlowNetwork& network, std::int32_t root);

// Every terminal ends with a sum over all, and none is formed outside terminals. Over partitions of the
// terminals into m groups, together 2 (m - 1) times the bytes leave groups whose exits are their minimum
// cuts (Patarasuk and Yuan, JPDC 69(2), 2009). The tightest partition is that of the Dilworth truncation of
// the cut function, found greedily, one flow a terminal (Frank and Tardos, Math. Programming 42, 1988).
// Where there are only terminals and links carry as much each way this is what a packing of spanning trees
// reaches (Nash-Williams 1961, Tutte 1961). Sets `groups` to m.
FlowLimit partition_limit(FlowNetwork& network, std::int32_t& groups);

// Terminal a sends weight[a] * weight[b] / parts of the bytes to every other terminal b. Over all sets of
// terminals where there are at most `all_max`, one flow a set; else over single ones and the first 1, 2, 3,
// ... of them, which is a bound but may not be the tightest.
FlowLimit exchange_limit(FlowNetwork& network, const std::vector<std::int64_t>& weight, std::int64_t parts,
                         std::int32_t all_max);

}  // namespace collsim::topologies
