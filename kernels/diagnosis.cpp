#include "kernels/diagnosis.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "kernels/plan_orders.hpp"
#include "sim/core/check.hpp"
#include "sim/core/random.hpp"
#include "sim/model/contract.hpp"
#include "sim/model/contributions.hpp"

namespace collsim::kernels {
namespace {

constexpr std::int64_t word = 8;  // bytes of an element
constexpr std::int64_t digits = 16;
constexpr std::int64_t words_max = 64;    // of a cell
constexpr std::int64_t parts_max = 1024;  // in which contributors are counted
constexpr std::uint64_t random_orders = 4;

// The schedule with cells of so many words, all of the same size.
Schedule counting(const Schedule& schedule, std::int64_t words) {
  Schedule result = schedule;
  const Layout& layout = schedule.layout;
  result.layout = Layout(layout.cells() * words, word, {layout.regions()}, layout.blocks());
  if (layout.scratch_regions() > 1)
    result.layout.set_scratch_regions(layout.scratch_regions());
  else if (layout.scratch_cells() > 0)
    result.layout.set_scratch_blocks(layout.scratch_blocks());
  result.collective.datatype = Datatype::uint64;
  result.collective.reduction = ReductionOp::sum;
  result.collective.bytes = Bytes(layout.cells() * words * word);
  return result;
}

// All contributors, numbered by rank, then by place: what the rank holds in the cells of output and scratch,
// and of input where there is one.
class Contributors {
 public:
  explicit Contributors(const Schedule& schedule)
      : contract_(schedule),
        in_place_(schedule.in_place),
        ranks_(schedule.ranks),
        cells_(schedule.layout.cells()),
        buffers_(cells_ + schedule.layout.scratch_cells()),
        stride_(buffers_ + (in_place_ ? 0 : cells_)) {}

  std::int64_t count() const { return ranks_ * stride_; }
  // Of a cell of output, or of scratch after those.
  std::int64_t in_buffers(Rank rank, std::int64_t cell) const { return rank * stride_ + cell; }
  // What a rank does not give is as undefined in input as in output.
  std::int64_t in_input(Rank rank, std::int64_t cell) const {
    return rank * stride_ + (contract_.gives(rank, cell) ? buffers_ + cell : cell);
  }
  Contribution at(std::int64_t number) const {
    const auto rank = static_cast<Rank>(number / stride_);
    const std::int64_t place = number % stride_;
    return place < buffers_ ? held_before(contract_, cells_, rank, place, in_place_)
                            : held_before(contract_, cells_, rank, place - buffers_, true);
  }
  std::uint64_t token(std::int64_t number) const { return token(at(number)); }
  static std::uint64_t token(const Contribution& of) {
    return mix64(mix64(static_cast<std::uint64_t>(of.rank) + 1) ^ static_cast<std::uint64_t>(of.cell));
  }

 private:
  Contract contract_;
  bool in_place_;
  std::int64_t ranks_;
  std::int64_t cells_;
  std::int64_t buffers_;  // cells of output and scratch
  std::int64_t stride_;
};

struct WrongCell {
  Rank rank = 0;
  std::int64_t cell = 0;
  std::uint64_t token = 0;  // that it holds
  Contributions found;
};

class Examination {
 public:
  Examination(const Schedule& schedule, Backend& backend);
  Diagnosis diagnose();

 private:
  using Order = std::optional<std::vector<std::int32_t>>;  // nothing: in parallel

  void fill(std::int64_t part);
  void upload(std::int32_t area, std::int64_t cells, std::int64_t part,
              std::span<const std::int64_t> numbers);
  void run(const Order& order, std::int64_t part);
  // Downloads a rank's output into output_.
  void fetch(Rank rank);
  std::uint64_t word_of(std::int64_t cell, std::int64_t index) const {
    return output_[static_cast<std::size_t>(cell * words_ + index)];
  }
  // Sets wrong_ to the first wrong cells; how many there are.
  std::int64_t find_wrong();
  void count_part(std::int64_t part);
  void explain(const Order& order);
  bool try_order(const Order& order);
  std::string sentence(WrongCell& item) const;

  const Schedule& original_;
  Contributors contributors_;
  std::int64_t words_;
  std::int64_t parts_;
  Schedule schedule_;
  Contract contract_;
  Plan plan_;
  std::unique_ptr<Execution> execution_;
  std::vector<std::uint64_t> output_;
  std::vector<WrongCell> wrong_;
  Diagnosis diagnosis_;
  bool right_once_ = false;
};

std::int64_t words_for(std::int64_t contributors) {
  return std::min(1 + (contributors + digits - 1) / digits, words_max);
}

Plan planned(const Schedule& schedule) {
  auto made = plan_of(schedule, {});
  COLLSIM_CHECK(std::holds_alternative<Plan>(made));
  return std::get<Plan>(std::move(made));
}

Examination::Examination(const Schedule& schedule, Backend& backend)
    : original_(schedule),
      contributors_(schedule),
      words_(words_for(contributors_.count())),
      parts_((contributors_.count() - 1) / ((words_ - 1) * digits) + 1),
      schedule_(counting(schedule, words_)),
      contract_(schedule_),
      plan_(planned(schedule_)),
      execution_(backend.prepare(plan_, {})),
      output_(static_cast<std::size_t>(schedule.layout.cells() * words_)) {}

void Examination::upload(std::int32_t area, std::int64_t cells, std::int64_t part,
                         std::span<const std::int64_t> numbers) {
  std::vector<std::uint64_t> values(static_cast<std::size_t>(cells * words_));
  const std::int64_t first = part * (words_ - 1) * digits;  // contributor
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    std::uint64_t* const words = values.data() + cell * words_;
    const std::int64_t number = numbers[static_cast<std::size_t>(cell)];
    words[0] = contributors_.token(number);
    const std::int64_t counted = number - first;
    if (counted >= 0 && counted < (words_ - 1) * digits)
      words[1 + counted / digits] = std::uint64_t{1} << static_cast<unsigned>(4 * (counted % digits));
  }
  execution_->upload(area, 0, std::as_bytes(std::span(values)));
}

// What every rank holds before a run.
void Examination::fill(std::int64_t part) {
  const std::int64_t cells = schedule_.layout.cells();
  const std::int64_t scratch = schedule_.layout.scratch_cells();
  std::vector<std::int64_t> numbers;
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    numbers.clear();
    for (std::int64_t cell = 0; cell < cells + scratch; ++cell)
      numbers.push_back(contributors_.in_buffers(rank, cell));
    const std::span<const std::int64_t> all = numbers;
    upload(plan_.output[place], cells, part, all);
    if (plan_.scratch[place] >= 0)
      upload(plan_.scratch[place], scratch, part, all.subspan(static_cast<std::size_t>(cells)));
    if (plan_.input[place] < 0) continue;
    numbers.clear();
    for (std::int64_t cell = 0; cell < cells; ++cell) numbers.push_back(contributors_.in_input(rank, cell));
    upload(plan_.input[place], cells, part, numbers);
  }
}

void Examination::run(const Order& order, std::int64_t part) {
  fill(part);
  if (order)
    execution_->run_in_order(*order);
  else
    execution_->run();
}

void Examination::fetch(Rank rank) {
  execution_->download(plan_.output[static_cast<std::size_t>(rank)], 0,
                       std::as_writable_bytes(std::span(output_)));
}

std::int64_t Examination::find_wrong() {
  const std::int64_t cells = schedule_.layout.cells();
  std::int64_t count = 0;
  wrong_.clear();
  std::vector<std::uint64_t> sums;  // [cell]: what all ranks give
  if (contract_.sums()) {
    sums.resize(static_cast<std::size_t>(cells));
    for (Rank rank = 0; rank < schedule_.ranks; ++rank)
      for (std::int64_t cell = 0; cell < cells; ++cell)
        sums[static_cast<std::size_t>(cell)] += Contributors::token(Contribution{rank, cell, 1});
  }
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
    fetch(rank);
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      if (contract_.wants(rank, cell) == Contract::Wants::nothing) continue;
      std::uint64_t wanted = 0;
      if (contract_.sums()) {
        wanted = sums[static_cast<std::size_t>(cell)];
      } else {
        const Contract::Origin origin = contract_.origin(rank, cell);
        wanted = Contributors::token(Contribution{origin.rank, origin.cell, 1});
      }
      if (word_of(cell, 0) == wanted) continue;
      ++count;
      if (wrong_.size() < findings_max) wrong_.push_back(WrongCell{rank, cell, word_of(cell, 0), {}});
    }
  }
  return count;
}

// Adds what the wrong cells hold of the contributors of this part.
void Examination::count_part(std::int64_t part) {
  const std::int64_t first = part * (words_ - 1) * digits;
  Rank fetched = -1;
  for (WrongCell& item : wrong_) {
    if (item.rank != fetched) fetch(item.rank);
    fetched = item.rank;
    for (std::int64_t i = 0; i < words_ - 1; ++i) {
      std::uint64_t counts = word_of(item.cell, 1 + i);
      for (std::int64_t digit = 0; counts != 0; ++digit, counts >>= 4) {
        const std::int64_t number = first + i * digits + digit;
        if ((counts & 15U) == 0 || number >= contributors_.count()) continue;
        Contribution contribution = contributors_.at(number);
        contribution.count = static_cast<std::int64_t>(counts & 15U);
        item.found.push_back(contribution);
      }
    }
  }
}

std::string Examination::sentence(WrongCell& item) const {
  std::sort(item.found.begin(), item.found.end(),
            [](const Contribution& a, const Contribution& b) { return a.key() < b.key(); });
  std::uint64_t sum = 0;
  for (const Contribution& contribution : item.found)
    sum += Contributors::token(contribution) * static_cast<std::uint64_t>(contribution.count);
  const std::string found =
      sum == item.token
          ? difference_of(original_.layout, item.found,
                          wanted_in(contract_, item.rank, item.cell, schedule_.ranks), item.cell)
          : "holds a wrong sum";
  return "rank " + std::to_string(item.rank) + ": " + text_of_cell(original_.layout, item.cell) + " " + found;
}

// Of the run in `order`, which has just been with part 0.
void Examination::explain(const Order& order) {
  count_part(0);
  // Another run in parallel may have other results.
  for (std::int64_t part = 1; order && parts_ <= parts_max && part < parts_; ++part) {
    run(order, part);
    count_part(part);
  }
  for (WrongCell& item : wrong_)
    diagnosis_.findings.push_back(
        CellFinding{item.rank, item.cell, ProofFailure{item.rank, -1, -1, sentence(item)}});
}

// Whether there is more to be learnt from other orders.
bool Examination::try_order(const Order& order) {
  run(order, 0);
  ++diagnosis_.orders_run;
  const std::int64_t wrong = find_wrong();
  right_once_ = right_once_ || wrong == 0;
  if (wrong > 0 && diagnosis_.wrong_cells == 0) {
    diagnosis_.wrong_cells = wrong;
    explain(order);
  }
  diagnosis_.only_in_some_orders = right_once_ && diagnosis_.wrong_cells > 0;
  return !diagnosis_.only_in_some_orders;
}

Diagnosis Examination::diagnose() {
  const std::int32_t streams = stream_count_of(plan_);
  const std::int32_t delayed = std::min(streams, delayed_streams_max);
  bool more = try_order(order_of(plan_, OrderKind::as_planned)) &&
              try_order(order_of(plan_, OrderKind::latest_first));
  for (std::int64_t i = 0; i < delayed && more; ++i)
    more = try_order(order_delaying(plan_, static_cast<std::int32_t>(i * streams / delayed)));
  for (std::uint64_t seed = 1; seed <= random_orders && more; ++seed)
    more = try_order(order_of(plan_, OrderKind::random, seed));
  if (more) try_order(std::nullopt);
  return std::move(diagnosis_);
}

}  // namespace

Diagnosis diagnose(const Schedule& schedule, Backend& backend) {
  return Examination(schedule, backend).diagnose();
}

}  // namespace collsim::kernels
