// MscclIndex: the steps of a file in flat arrays, and who is connected with whom. Internal to the msccl
// files.
//
// Complexity  O(steps log steps) time, O(steps) memory.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/msccl_file.hpp"

namespace collsim::algorithms {

class MscclIndex {
 public:
  struct Tb {
    Rank gpu = 0;
    std::int32_t tb = 0;
    std::int32_t first = 0;  // its first step
    std::int32_t count = 0;
    std::int32_t send_link = -1;  // -1: it never sends
    std::int32_t receive_link = -1;
  };
  // A connection that is used. With several senders or receivers only the first is named.
  struct Link {
    Rank source = 0;
    Rank target = 0;
    std::int32_t channel = 0;
    std::int32_t sender = -1;  // in tbs
    std::int32_t receiver = -1;
    std::vector<std::int32_t> sends;  // steps, in order
    std::vector<std::int32_t> receives;
  };
  // Two thread blocks that send, or receive, on one connection.
  struct Shared {
    std::int32_t first = 0;
    std::int32_t second = 0;
    bool receives = false;
  };

  explicit MscclIndex(const MscclFile& file);

  const MscclFile& file() const { return file_; }
  const std::vector<Tb>& tbs() const { return tbs_; }
  const std::vector<Link>& links() const { return links_; }
  const std::vector<Shared>& shared() const { return shared_; }
  std::int32_t steps() const { return static_cast<std::int32_t>(steps_.size()); }
  const MscclStep& step(std::int32_t number) const { return *steps_[static_cast<std::size_t>(number)]; }
  std::int32_t tb_of(std::int32_t step) const { return tb_of_[static_cast<std::size_t>(step)]; }
  const Tb& tb(std::int32_t number) const { return tbs_[static_cast<std::size_t>(number)]; }
  const Link& link(std::int32_t number) const { return links_[static_cast<std::size_t>(number)]; }
  Rank gpu_of(std::int32_t step) const { return tb(tb_of(step)).gpu; }
  // REQUIRES: the gpu has it
  std::int32_t number_of(Rank gpu, std::int32_t tb) const {
    return first_tb_[static_cast<std::size_t>(gpu)] + tb;
  }
  std::int32_t tbs_of(Rank gpu) const {
    return static_cast<std::int32_t>(file_.gpus[static_cast<std::size_t>(gpu)].tbs.size());
  }
  MscclFinding::Place place(std::int32_t step) const {
    const Tb& owner = tb(tb_of(step));
    return file_.place(owner.gpu, owner.tb, step - owner.first);
  }
  MscclFinding::Place place_of_tb(std::int32_t number) const;
  // The step whose end lets `step` go, as NCCL does it: the first step of the thread block it depends on that
  // publishes a number not below the wanted one. none: it depends on nobody; never: no such step.
  static constexpr std::int32_t none = -1;
  static constexpr std::int32_t never = -2;
  std::int32_t waits_for(std::int32_t step) const { return waits_for_[static_cast<std::size_t>(step)]; }

 private:
  void connect();
  void resolve_dependencies();
  std::vector<std::int32_t> published(const Tb& tb) const;

  const MscclFile& file_;
  std::vector<Tb> tbs_;
  std::vector<std::int32_t> first_tb_;  // [gpu]
  std::vector<const MscclStep*> steps_;
  std::vector<std::int32_t> tb_of_;
  std::vector<std::int32_t> waits_for_;
  std::vector<Link> links_;
  std::vector<Shared> shared_;
};

}  // namespace collsim::algorithms
