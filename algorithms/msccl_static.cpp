#include "algorithms/msccl_static.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace collsim::algorithms {
namespace {

// MSCCL_MAX_NUM_STEPS, MAXCHANNELS, MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL, MSCCL_MAX_COUNT
// (msccl-executor-nccl, src/include/msccl/msccl_struct.h); RCCL's has 256 steps.
constexpr std::size_t steps_max = 64;
constexpr std::size_t steps_max_rccl = 256;
constexpr std::int32_t channels_max_nccl = 32;
constexpr std::int32_t peers_max = 32;
constexpr std::int32_t count_end = 72;
constexpr std::int32_t dependent_tb_max = 127;  // int8_t mscclThreadBlock::dependentBid
constexpr std::int32_t offset_max = 32767;      // int16_t mscclTransmission::srcOffset

std::string plural(std::int64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

const char* word_of(MscclBuffer buffer) {
  return buffer == MscclBuffer::i ? "input" : buffer == MscclBuffer::o ? "output" : "scratch";
}

struct Operand {
  MscclBuffer buffer;
  std::int32_t offset;
  bool used;
  bool written;
};

class StepCheck {
 public:
  StepCheck(const MscclIndex& index, const MscclPlaces& places, MscclFindings& findings)
      : index_(index), places_(places), findings_(findings) {}

  void check(std::int32_t number) {
    const MscclStep& step = index_.step(number);
    if (step.type == MscclStepType::nop) return;
    const Operand source{step.source_buffer, step.source, loads(step.type), false};
    const Operand target{step.target_buffer, step.target, stores(step.type), true};
    for (const Operand& operand : {source, target}) check_operand(number, step, operand);
    if (stores(step.type) && step.target_buffer == MscclBuffer::i && !places_.in_place())
      findings_.error(index_.place(number),
                      std::string(name_of(step.type)) + " writes " +
                          chunk_text(step.target_buffer, step.target, step.count) +
                          ", but out of place the input stays as it is",
                      "overwrites the caller's send buffer");
    check_peer(number, step);
  }

 private:
  void check_operand(std::int32_t number, const MscclStep& step, const Operand& operand) {
    const Rank gpu = index_.gpu_of(number);
    const std::int32_t size = places_.size(gpu, operand.buffer);
    const std::int32_t declared = places_.declared(gpu, operand.buffer);
    const bool inside = operand.offset >= 0 && std::int64_t{operand.offset} + step.count <= size;
    const std::string has = "gpu " + std::to_string(gpu) + " has " +
                            plural(size, (std::string(word_of(operand.buffer)) + " chunk").c_str());
    const std::string chunk = chunk_text(operand.buffer, operand.offset, step.count);
    if (!operand.used) {
      if (inside || operand.offset < 0) return;
      findings_.warning(index_.place(number), std::string(operand.written ? "dstoff" : "srcoff") +
                                                  ", which " + std::string(name_of(step.type)) +
                                                  " does not use, points outside: " + chunk + "; " + has);
      return;
    }
    const bool looked_at = step.type != MscclStepType::rrc;
    const bool refused = looked_at && (operand.offset < -1 || operand.offset >= declared);
    if (!inside)
      return findings_.error(index_.place(number),
                             std::string(name_of(step.type)) + (operand.written ? " into " : " of ") + chunk +
                                 " is outside: " + has,
                             refused           ? "refuses the file"
                             : operand.written ? "writes beyond the buffer"
                                               : "reads beyond the buffer");
    if (std::int64_t{operand.offset} + step.count > declared)
      findings_.warning(index_.place(number),
                        chunk + " is there, but gpu " + std::to_string(gpu) + " declares " +
                            std::string(name_of(operand.buffer)) + "_chunks=" + std::to_string(declared),
                        refused ? "refuses the file" : "");
  }

  void check_peer(std::int32_t number, const MscclStep& step) {
    const MscclIndex::Tb& tb = index_.tb(index_.tb_of(number));
    const MscclThreadBlock& block =
        index_.file().gpus[static_cast<std::size_t>(tb.gpu)].tbs[static_cast<std::size_t>(tb.tb)];
    for (const bool receiving : {false, true}) {
      if (!(receiving ? receives : sends)(step.type) || (receiving ? block.receive : block.send) >= 0)
        continue;
      findings_.error(index_.place(number),
                      std::string(name_of(step.type)) + (receiving ? " receives" : " sends") +
                          ", but its thread block has " + (receiving ? "recv" : "send") + "=-1",
                      "refuses the file");
    }
  }

  const MscclIndex& index_;
  const MscclPlaces& places_;
  MscclFindings& findings_;
};

std::string connection_text(const MscclIndex::Link& link) {
  return "from gpu " + std::to_string(link.source) + " to gpu " + std::to_string(link.target) +
         " on channel " + std::to_string(link.channel);
}

void check_link(const MscclIndex& index, const MscclIndex::Link& link, MscclFindings& findings) {
  const std::size_t pairs = std::min(link.sends.size(), link.receives.size());
  for (std::size_t i = 0; i < pairs; ++i) {
    const MscclStep& sent = index.step(link.sends[i]);
    const MscclStep& received = index.step(link.receives[i]);
    if (sent.count == received.count) continue;
    const MscclFinding::Place sender = index.place(link.sends[i]);
    return findings.error(index.place(link.receives[i]),
                          std::string(name_of(received.type)) + " takes " + plural(received.count, "chunk") +
                              ", but message " + std::to_string(i) + " " + connection_text(link) +
                              ", sent by " + text_with_line(sender) + ", has " + std::to_string(sent.count),
                          "mixes up the data of the two or hangs", sender);
  }
  if (link.sends.size() == link.receives.size()) return;
  const bool more_sends = link.sends.size() > link.receives.size();
  const std::int32_t surplus = more_sends ? link.sends[pairs] : link.receives[pairs];
  const std::int32_t other = more_sends ? link.receiver : link.sender;
  const MscclFinding::Place partner = other >= 0 ? index.place_of_tb(other) : MscclFinding::Place{};
  std::string text = std::string(name_of(index.step(surplus).type)) + (more_sends ? " sends" : " receives") +
                     " message " + std::to_string(pairs) + " " + connection_text(link) + ", but ";
  text += other >= 0
              ? text_with_line(partner) + (more_sends ? " receives " : " sends ") + std::to_string(pairs)
              : "no thread block of gpu " + std::to_string(more_sends ? link.target : link.source) +
                    (more_sends ? " receives there" : " sends there");
  findings.error(
      index.place(surplus), std::move(text),
      more_sends ? "hangs once the slots are full, or leaves the message to the next call" : "hangs",
      partner);
}

// Steps that name a dependency on a step that is not there.
bool exists(const MscclIndex& index, Rank gpu, const MscclStep& step) {
  if (step.dependency_tb >= index.tbs_of(gpu)) return false;
  const MscclIndex::Tb& tb = index.tb(index.number_of(gpu, step.dependency_tb));
  return step.dependency_step >= 0 && step.dependency_step < tb.count;
}

void check_dependency(const MscclIndex& index, std::int32_t number, MscclFindings& findings) {
  const MscclStep& step = index.step(number);
  const Rank gpu = index.gpu_of(number);
  const std::string wanted =
      "step " + std::to_string(step.dependency_step) + " of tb " + std::to_string(step.dependency_tb);
  if (!exists(index, gpu, step))
    return findings.error(index.place(number), "it waits for " + wanted + ", which does not exist", "hangs");
  const MscclIndex::Tb& tb = index.tb(index.number_of(gpu, step.dependency_tb));
  const std::int32_t target = tb.first + step.dependency_step;
  const std::int32_t found = index.waits_for(number);
  const MscclFinding::Place other = index.place(target);
  std::string text = "it waits for " + wanted + " (line " + std::to_string(other.line) + "), ";
  if (index.step(target).type == MscclStepType::nop)
    text += "a nop, which never tells";
  else if (index.step(target).has_dependents)
    text += "which NCCL numbers lower: a nop before it waits for nothing, or a step after nops does";
  else
    text += "which has hasdep=0";
  if (found == MscclIndex::never)
    return findings.error(index.place(number), text + ", and no later step there tells",
                          "hangs: nobody tells that the step is done", other);
  if (found != target)
    findings.warning(index.place(number), std::move(text),
                     "waits for step " + std::to_string(found - tb.first) + " there, the next that tells",
                     other);
}

void check_tb(const MscclIndex& index, std::int32_t number, MscclFindings& findings) {
  const MscclIndex::Tb& tb = index.tb(number);
  const MscclFile& file = index.file();
  const MscclThreadBlock& block =
      file.gpus[static_cast<std::size_t>(tb.gpu)].tbs[static_cast<std::size_t>(tb.tb)];
  const MscclFinding::Place place = index.place_of_tb(number);
  if (tb.count == 0) findings.warning(place, "the thread block has no steps");
  if (tb.count > 0 && block.send >= 0 && tb.send_link < 0)
    findings.warning(place, "it has send=" + std::to_string(block.send) + " and never sends");
  if (tb.count > 0 && block.receive >= 0 && tb.receive_link < 0)
    findings.warning(place, "it has recv=" + std::to_string(block.receive) + " and never receives");
  if (block.channel >= channels_max_nccl)
    findings.warning(place, "it has chan=" + std::to_string(block.channel), "has channels 0 to 31");
  else if (block.channel >= file.channels)
    findings.warning(place,
                     "it has chan=" + std::to_string(block.channel) + ", but nchannels is " +
                         std::to_string(file.channels),
                     "connects the first nchannels channels only, and hangs");
  if (block.steps.size() > steps_max)
    findings.warning(place, "it has " + std::to_string(block.steps.size()) + " steps",
                     block.steps.size() > steps_max_rccl
                         ? "refuses the file: it takes 64 in a thread block (RCCL 256)"
                         : "refuses the file: it takes 64 in a thread block; RCCL takes 256");
}

// What NCCL's parser makes of the steps of one thread block.
void check_steps_of_tb(const MscclIndex& index, const MscclIndex::Tb& tb, MscclFindings& findings) {
  bool pending = false;  // nops wait for the next step
  for (std::int32_t i = tb.first; i < tb.first + tb.count; ++i) {
    const MscclStep& step = index.step(i);
    if (step.dependency_tb > dependent_tb_max)
      findings.warning(index.place(i), "it waits for tb " + std::to_string(step.dependency_tb),
                       "keeps the number in 8 bits: at most 127");
    if (step.type == MscclStepType::nop) {
      if (step.dependency_tb < 0)
        findings.warning(
            index.place(i), "a nop that waits for nothing",
            "does not count it: dependencies on later steps of this thread block are off by one");
      if (step.has_dependents)
        findings.warning(index.place(i), "a nop with hasdep=1", "never tells that a nop is done");
      pending = pending || step.dependency_tb >= 0;
      continue;
    }
    if (step.count >= count_end)
      findings.warning(index.place(i), "cnt is " + std::to_string(step.count),
                       "refuses the file: it takes at most 71");
    if (std::max(step.source, step.target) > offset_max)
      findings.warning(index.place(i), "an offset above 32767", "keeps offsets in 16 bits");
    if (pending && step.dependency_tb < 0)
      findings.warning(index.place(i), "it follows a nop and has no dependency of its own",
                       "refuses the file: the last of several dependencies belongs to the step itself");
    pending = false;
  }
}

// How many thread blocks of a gpu have a peer on one channel.
void check_channels(const MscclIndex& index, MscclFindings& findings) {
  std::map<std::pair<Rank, std::int32_t>, std::pair<std::int32_t, std::int32_t>> peers;
  const MscclFile& file = index.file();
  for (std::size_t gpu = 0; gpu < file.gpus.size(); ++gpu)
    for (const MscclThreadBlock& tb : file.gpus[gpu].tbs) {
      auto& count = peers[{static_cast<Rank>(gpu), tb.channel}];
      if (tb.send >= 0 && ++count.first == peers_max + 1)
        findings.warning({static_cast<Rank>(gpu), -1, -1, file.gpus[gpu].line},
                         "more than 32 thread blocks send on channel " + std::to_string(tb.channel),
                         "refuses the file");
      if (tb.receive >= 0 && ++count.second == peers_max + 1)
        findings.warning({static_cast<Rank>(gpu), -1, -1, file.gpus[gpu].line},
                         "more than 32 thread blocks receive on channel " + std::to_string(tb.channel),
                         "refuses the file");
    }
}

// The generator writes the sender's chunk as source of an rrc, the runtime reads it as local operand.
void check_operands_of_rrc(const MscclIndex& index, MscclFindings& findings) {
  std::int64_t count = 0;
  std::int32_t first = -1;
  for (std::int32_t i = 0; i < index.steps(); ++i) {
    const MscclStep& step = index.step(i);
    if (step.type != MscclStepType::rrc) continue;
    if (step.source_buffer == step.target_buffer && step.source == step.target) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return;
  const MscclStep& step = index.step(first);
  findings.warning(index.place(first),
                   plural(count, "rrc") + (count == 1 ? " has" : " have") +
                       " another source than target, as " +
                       chunk_text(step.source_buffer, step.source, step.count) + " and " +
                       chunk_text(step.target_buffer, step.target, step.count) + " here",
                   "stores the message plus its own source; MSCCLang means the target plus the message, and "
                   "writes the sender's chunk as source");
}

}  // namespace

void MscclFindings::add(MscclFinding finding) {
  std::int64_t& count = finding.severity == MscclFinding::Severity::error ? errors_ : warnings_;
  if (++count <= static_cast<std::int64_t>(kept_max)) items_.push_back(std::move(finding));
}

void MscclFindings::error(MscclFinding::Place place, std::string text, std::string nccl,
                          MscclFinding::Place other) {
  add({MscclFinding::Severity::error, place, other, 0, std::move(text), {}, {}, std::move(nccl)});
}

void MscclFindings::warning(MscclFinding::Place place, std::string text, std::string nccl,
                            MscclFinding::Place other) {
  add({MscclFinding::Severity::warning, place, other, 0, std::move(text), {}, {}, std::move(nccl)});
}

std::string text_with_line(const MscclFinding::Place& place) {
  return text_of(place) + (place.line > 0 ? " (line " + std::to_string(place.line) + ")" : "");
}

void check_steps(const MscclIndex& index, const MscclPlaces& places, MscclFindings& findings) {
  StepCheck check(index, places, findings);
  for (std::int32_t i = 0; i < index.steps(); ++i) check.check(i);
}

void check_links(const MscclIndex& index, MscclFindings& findings) {
  for (const MscclIndex::Shared& shared : index.shared()) {
    const MscclFinding::Place other = index.place_of_tb(shared.first);
    const MscclIndex::Tb& tb = index.tb(shared.second);
    const MscclIndex::Link& link = index.link(shared.receives ? tb.receive_link : tb.send_link);
    findings.error(index.place_of_tb(shared.second),
                   std::string(shared.receives ? "it receives" : "it sends") + " on the connection " +
                       connection_text(link) + ", as does " + text_with_line(other),
                   "mixes up their messages", other);
  }
  for (const MscclIndex::Link& link : index.links())
    if (index.shared().empty()) check_link(index, link, findings);
}

void check_dependencies(const MscclIndex& index, MscclFindings& findings) {
  for (std::int32_t i = 0; i < index.steps(); ++i)
    if (index.step(i).dependency_tb >= 0) check_dependency(index, i, findings);
}

void check_limits(const MscclIndex& index, MscclFindings& findings) {
  const MscclFile& file = index.file();
  if (file.channels > channels_max_nccl)
    findings.warning({-1, -1, -1, file.line}, "nchannels is " + std::to_string(file.channels),
                     "has at most 32 channels");
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(index.tbs().size()); ++number) {
    check_tb(index, number, findings);
    check_steps_of_tb(index, index.tb(number), findings);
  }
  check_channels(index, findings);
  check_operands_of_rrc(index, findings);
}

}  // namespace collsim::algorithms
