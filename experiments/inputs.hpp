// Text in: an experiment file or the words of a command line become a checked Experiment and its Topology.
//
// Errors      Every function throws Stop with whole diagnostics: exit 65, or 66 where a file cannot be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/program.hpp"
#include "sim/config/experiment.hpp"
#include "sim/config/reader.hpp"
#include "sim/model/conditions.hpp"
#include "sim/model/topology.hpp"
#include "topologies/conditions.hpp"

namespace collsim::program {

// What the reader may know of algorithms and presets. `cluster_file`: a file that counts as a preset, or
// empty.
Registries registries(const std::string& cluster_file = {});

// text -> Experiment. Warnings go to stderr unless quiet.
ReadResult read_checked(std::string_view text, const std::string& file,
                        const std::vector<Override>& overrides, bool quiet, ReadFor purpose,
                        const std::string& cluster_file = {});

// Experiment -> Topology, with the routes of a table where it names one; what does not fit is said at the
// place of its key, or at its line of the table. `seed` decides hashed routes; default: that of the
// experiment.
Topology build_topology(const ReadResult& read, std::uint64_t seed);
Topology build_topology(const ReadResult& read);

// What conditions mean on a topology. Names that it does not have are said at the place of their key; ranks
// are its own.
topologies::Resolved resolved(const ReadResult& read, const Topology& topology, const ConditionsSpec& spec,
                              std::uint64_t seed);

// The words of `predict` and `verify`, each as the user wrote it; empty = not given.
struct ClusterWords {
  std::string cluster;     // a preset, or a file in the form of a preset or of an experiment
  std::int64_t nodes = 0;  // 0 = as the cluster says
  std::string collective;
  std::string algorithms;  // "ring,sharp"
  std::string sizes;       // "8MiB,1GiB" or "from:to" or "from:to:factor"
};
// As if the words had been an experiment file named "<command line>".
ReadResult read_words(const ClusterWords& words, const std::vector<Override>& overrides, bool quiet);

}  // namespace collsim::program
