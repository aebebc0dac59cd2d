// What verify found, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "algorithms/msccl_check.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/proof.hpp"
#include "sim/report/point.hpp"

namespace collsim::program {

// Of one algorithm on one cluster.
struct Verdict {
  std::string algorithm;
  Collective collective;
  std::int32_t ranks = 1;
  std::int32_t nodes = 1;
  std::string status;  // proven, refuted, undecided (the proof would cost too much), impossible
  std::string reason;  // of impossible
  Proof proof;
};

// Of one MSCCL file.
struct FileVerdict {
  std::string path;
  algorithms::MscclFile file;
  std::int32_t slots = slots_default;
  std::vector<algorithms::MscclCheck> checks;  // one for each kind of call
  std::vector<Point> points;                   // on the cluster that was given
};

std::string text_of(const Verdict& verdict);
std::string text_of(const FileVerdict& verdict);
std::string json_of(const std::vector<Verdict>& verdicts);
std::string json_of(const FileVerdict& verdict);

const char* name_of(algorithms::MscclCheck::Verdict verdict);

}  // namespace collsim::program
