#include "algorithms/msccl_index.hpp"

#include <algorithm>
#include <tuple>

namespace collsim::algorithms {
namespace {

struct End {
  Rank source;
  Rank target;
  std::int32_t channel;
  bool receives;
  std::int32_t tb;
  auto connection() const { return std::tuple(source, target, channel); }
  auto key() const { return std::tuple(source, target, channel, receives, tb); }
};

// Whether NCCL adds this step to the transfer of the step before: sums into one target run as one.
bool fused(const MscclStep& step, const MscclStep* before) {
  return before != nullptr && step.type == MscclStepType::re && before->type == MscclStepType::re &&
         step.dependency_tb < 0 && !before->has_dependents && step.target_buffer == before->target_buffer &&
         step.target == before->target && step.source_buffer == before->source_buffer;
}

}  // namespace

MscclIndex::MscclIndex(const MscclFile& file) : file_(file) {
  for (std::size_t gpu = 0; gpu < file.gpus.size(); ++gpu) {
    first_tb_.push_back(static_cast<std::int32_t>(tbs_.size()));
    const std::vector<MscclThreadBlock>& tbs = file.gpus[gpu].tbs;
    for (std::size_t tb = 0; tb < tbs.size(); ++tb) {
      const auto number = static_cast<std::int32_t>(tbs_.size());
      tbs_.push_back({static_cast<Rank>(gpu), static_cast<std::int32_t>(tb), steps(),
                      static_cast<std::int32_t>(tbs[tb].steps.size()), -1, -1});
      for (const MscclStep& step : tbs[tb].steps) {
        steps_.push_back(&step);
        tb_of_.push_back(number);
      }
    }
  }
  connect();
  resolve_dependencies();
}

MscclFinding::Place MscclIndex::place_of_tb(std::int32_t number) const {
  const Tb& owner = tb(number);
  const MscclGpu& gpu = file_.gpus[static_cast<std::size_t>(owner.gpu)];
  return {owner.gpu, owner.tb, -1, gpu.tbs[static_cast<std::size_t>(owner.tb)].line};
}

void MscclIndex::connect() {
  std::vector<End> ends;
  for (std::size_t number = 0; number < tbs_.size(); ++number) {
    const Tb& tb = tbs_[number];
    const MscclThreadBlock& block =
        file_.gpus[static_cast<std::size_t>(tb.gpu)].tbs[static_cast<std::size_t>(tb.tb)];
    const auto uses = [&block](bool (*how)(MscclStepType)) {
      return std::any_of(block.steps.begin(), block.steps.end(),
                         [how](const MscclStep& step) { return how(step.type); });
    };
    const auto owner = static_cast<std::int32_t>(number);
    if (block.send >= 0 && uses(sends)) ends.push_back({tb.gpu, block.send, block.channel, false, owner});
    if (block.receive >= 0 && uses(receives))
      ends.push_back({block.receive, tb.gpu, block.channel, true, owner});
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.key() < b.key(); });
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const End& end = ends[i];
    if (i == 0 || ends[i - 1].connection() != end.connection())
      links_.push_back({end.source, end.target, end.channel, -1, -1, {}, {}});
    Link& link = links_.back();
    std::int32_t& side = end.receives ? link.receiver : link.sender;
    if (side >= 0) shared_.push_back({side, end.tb, end.receives});
    if (side < 0) side = end.tb;
    Tb& tb = tbs_[static_cast<std::size_t>(end.tb)];
    (end.receives ? tb.receive_link : tb.send_link) = static_cast<std::int32_t>(links_.size()) - 1;
    for (std::int32_t step = tb.first; step < tb.first + tb.count; ++step)
      if ((end.receives ? receives : sends)(this->step(step).type))
        (end.receives ? link.receives : link.sends).push_back(step);
  }
}

// For each number of a step: the first step that publishes it or a higher one, or `never`. NCCL counts
// transfers, and the dependencies of nops that precede them; a nop itself publishes nothing.
std::vector<std::int32_t> MscclIndex::published(const Tb& tb) const {
  std::vector<std::int32_t> result(static_cast<std::size_t>(tb.count), never);
  std::vector<std::pair<std::int32_t, std::int32_t>> flags;  // (number, step)
  std::int32_t number = 0;
  std::int32_t dependencies = 0;
  const MscclStep* before = nullptr;
  for (std::int32_t i = tb.first; i < tb.first + tb.count; ++i) {
    const MscclStep& step = this->step(i);
    if (step.dependency_tb >= 0) ++dependencies;
    if (step.type == MscclStepType::nop) continue;
    if (!fused(step, before)) {
      number += std::max(dependencies - 1, 0);
      dependencies = 0;
    }
    if (step.has_dependents) flags.emplace_back(number, i);
    before = &step;
    ++number;
  }
  std::size_t next = flags.size();
  for (std::int32_t wanted = tb.count - 1; wanted >= 0; --wanted) {
    while (next > 0 && flags[next - 1].first >= wanted) --next;
    if (next < flags.size()) result[static_cast<std::size_t>(wanted)] = flags[next].second;
  }
  return result;
}

void MscclIndex::resolve_dependencies() {
  std::vector<std::vector<std::int32_t>> of_tb(tbs_.size());
  waits_for_.assign(steps_.size(), none);
  for (std::int32_t i = 0; i < steps(); ++i) {
    const MscclStep& step = this->step(i);
    const Rank gpu = gpu_of(i);
    if (step.dependency_tb < 0) continue;
    std::int32_t& target = waits_for_[static_cast<std::size_t>(i)];
    target = never;
    if (step.dependency_tb >= tbs_of(gpu)) continue;
    const std::int32_t number = number_of(gpu, step.dependency_tb);
    const Tb& tb = this->tb(number);
    if (step.dependency_step < 0 || step.dependency_step >= tb.count) continue;
    std::vector<std::int32_t>& known = of_tb[static_cast<std::size_t>(number)];
    if (known.empty()) known = published(tb);
    target = known[static_cast<std::size_t>(step.dependency_step)];
  }
}

}  // namespace collsim::algorithms
