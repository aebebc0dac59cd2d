#include "kernels/primitives.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "kernels/primitive_plans.hpp"
#include "sim/core/check.hpp"

namespace collsim::kernels {
namespace {

constexpr std::int64_t smallest_size = 4 << 10;
constexpr std::int64_t tiny_size = 4;
constexpr std::int64_t tiny_chain = 512;
constexpr std::int64_t shortest_chain = 2;
constexpr std::int64_t shortest_long_chain = 6;
// Of the cache, what the places of a few runs take together, if the memory allows.
constexpr std::int64_t footprint_of_cache = 2;
constexpr std::int64_t footprint_of_run = std::int64_t{16} << 20;
constexpr std::int64_t sets_max = 16;
constexpr std::int64_t memory_share = 4;  // a quarter of what is free

Duration median_of(std::vector<Duration> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

class Measurement {
 public:
  Measurement(Backend& backend, const MeasureOptions& options) : backend_(backend), options_(options) {
    for (Rank rank = 0; rank < options.ranks; ++rank)
      device_.push_back(backend.device_of(rank, options.ranks));
  }

  Duration launch() {
    const Plan plan = empty_plan(options_.ranks);
    const std::unique_ptr<Execution> execution = backend_.prepare(plan, {});
    for (int i = 0; i < options_.warmup; ++i) execution->run();
    std::vector<Duration> times;
    for (int i = 0; i < options_.runs; ++i) times.push_back(execution->run());
    return median_of(std::move(times));
  }

  // Of hardly any bytes, in one chain.
  Duration tiny(PrimitiveKind kind, bool around) {
    ChainsSpec spec = spec_for(kind, tiny_size, 1);
    spec.length = tiny_chain;
    spec.slots = 1;
    spec.around = around;
    return time_of_one(spec);
  }

  PrimitiveSample sample(PrimitiveKind kind, std::int64_t bytes, std::int32_t concurrent) {
    const ChainsSpec spec = spec_for(kind, bytes, concurrent);
    PrimitiveSample result;
    result.kind = kind;
    result.bytes = bytes;
    result.concurrent = concurrent;
    result.time = time_of_one(spec);
    const Int128 moved = Int128{bytes} * concurrent * picoseconds_per_second;
    result.total = Bandwidth::bytes_per_second(static_cast<std::int64_t>(moved / result.time.picoseconds()));
    result.traffic_per_byte = shape_of(kind).traffic;
    return result;
  }

 private:
  ChainsSpec spec_for(PrimitiveKind kind, std::int64_t bytes, std::int32_t concurrent) const {
    const PrimitiveShape shape = shape_of(kind);
    ChainsSpec spec;
    spec.kind = kind;
    spec.bytes = bytes;
    spec.ranks = options_.ranks;
    spec.chains = concurrent;
    spec.device = device_;
    const std::int64_t operation = (shape.outputs + shape.stagings) * bytes * concurrent;
    spec.length = std::clamp(footprint_of_run / operation, shortest_long_chain, chain_max);
    spec.slots = std::clamp(footprint() / operation, std::int64_t{1}, spec.length);
    return spec;
  }

  std::int64_t footprint() const {
    return std::min({footprint_of_cache * backend_.cache_bytes(), options_.footprint_max,
                     backend_.free_bytes() / memory_share});
  }

  // Enough sets of buffers that the runs of a chain together have the footprint.
  std::int32_t sets_for(const Plan& plan) const {
    const std::int64_t sets = footprint() / std::max<std::int64_t>(plan.memory_bytes(), 1);
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(sets, 1, sets_max));
  }

  std::unique_ptr<Execution> prepared(const Plan& plan) {
    PrepareOptions how;
    how.sets = sets_for(plan);
    return backend_.prepare(plan, how);
  }

  // From a long and a short chain, run in turn, so that what slows the machine meets both.
  Duration time_of_one(const ChainsSpec& spec) {
    ChainsSpec brief = spec;
    brief.length = std::max(shortest_chain, spec.length / 4);
    brief.slots = std::min(spec.slots, brief.length);
    const Plan long_plan = chains_plan(spec);
    const Plan short_plan = chains_plan(brief);
    const std::unique_ptr<Execution> long_run = prepared(long_plan);
    const std::unique_ptr<Execution> short_run = prepared(short_plan);
    std::vector<Duration> long_times;
    std::vector<Duration> short_times;
    for (int i = 0; i < options_.warmup + options_.runs; ++i) {
      const Duration of_long = long_run->run();
      const Duration of_short = short_run->run();
      if (i < options_.warmup) continue;
      long_times.push_back(of_long);
      short_times.push_back(of_short);
    }
    const Duration whole = median_of(std::move(long_times));
    const Duration part = median_of(std::move(short_times));
    std::int64_t one = (whole - part).picoseconds() / (spec.length - brief.length);
    // A machine with other work may take longer for the short chain; then the start is not taken away.
    if (one <= 0) one = whole.picoseconds() / spec.length;
    return Duration::picoseconds(std::max<std::int64_t>(one, 1));
  }

  Backend& backend_;
  const MeasureOptions& options_;
  std::vector<int> device_;  // [rank]
};

constexpr std::array local_kinds = {PrimitiveKind::copy, PrimitiveKind::reduce, PrimitiveKind::reduce_many,
                                    PrimitiveKind::fused, PrimitiveKind::exchange};

// The kinds of which the rates are made; of the others the largest size is enough.
bool is_basic(PrimitiveKind kind) {
  return kind == PrimitiveKind::copy || kind == PrimitiveKind::reduce || kind == PrimitiveKind::exchange;
}

std::vector<std::int64_t> sizes_of(PrimitiveKind kind, std::int64_t bytes_large) {
  return is_basic(kind) ? sample_sizes(bytes_large) : std::vector<std::int64_t>{bytes_large};
}

// 1 and all ranks; for the largest size also the powers of two between.
std::vector<std::int32_t> concurrencies(PrimitiveKind kind, bool largest, std::int32_t ranks) {
  std::vector<std::int32_t> result = {1};
  if (largest && is_basic(kind))
    for (std::int32_t count = 2; count < ranks; count *= 2) result.push_back(count);
  if (ranks > 1) result.push_back(ranks);
  return result;
}

const PrimitiveSample& sample_of(const MachineCosts& costs, PrimitiveKind kind, std::int64_t bytes,
                                 std::int32_t concurrent) {
  const auto found = std::find_if(costs.samples.begin(), costs.samples.end(), [&](const auto& sample) {
    return sample.kind == kind && sample.bytes == bytes && sample.concurrent == concurrent;
  });
  COLLSIM_CHECK(found != costs.samples.end());
  return *found;
}

// What a reduction takes after the copy that brought its second source.
Bandwidth reduce_rate(const MachineCosts& costs, std::int64_t bytes, std::int32_t concurrent) {
  const PrimitiveSample& both = sample_of(costs, PrimitiveKind::exchange, bytes, concurrent);
  const Duration rest = both.time - sample_of(costs, PrimitiveKind::copy, bytes, concurrent).time;
  // On a machine with other work the difference may be nothing: then that of memory that no cache holds.
  const PrimitiveSample& cold = sample_of(costs, PrimitiveKind::reduce, bytes, concurrent);
  if (rest < Duration::picoseconds(cold.time.picoseconds() / 8)) return cold.total;
  const Int128 moved = Int128{bytes} * concurrent * picoseconds_per_second;
  return Bandwidth::bytes_per_second(static_cast<std::int64_t>(moved / rest.picoseconds()));
}

void add_rates(MachineCosts& costs, std::int64_t bytes) {
  costs.copy_one = sample_of(costs, PrimitiveKind::copy, bytes, 1).total;
  costs.copy_all = sample_of(costs, PrimitiveKind::copy, bytes, costs.ranks).total;
  costs.reduce_one = reduce_rate(costs, bytes, 1);
  costs.reduce_all = reduce_rate(costs, bytes, costs.ranks);
}

void add_peers(MachineCosts& costs, Measurement& measurement, std::int64_t bytes_large) {
  for (const std::int64_t bytes : sample_sizes(bytes_large))
    for (const std::int32_t concurrent : concurrencies(PrimitiveKind::peer_copy, false, costs.ranks))
      costs.samples.push_back(measurement.sample(PrimitiveKind::peer_copy, bytes, concurrent));
  costs.peer = sample_of(costs, PrimitiveKind::peer_copy, bytes_large, 1).total;
  const Duration tiny = measurement.tiny(PrimitiveKind::peer_copy, false);
  costs.peer_latency = std::max(tiny - costs.operation, Duration());
}

}  // namespace

const char* name_of(PrimitiveKind kind) {
  switch (kind) {
    case PrimitiveKind::copy:
      return "copy";
    case PrimitiveKind::reduce:
      return "reduce";
    case PrimitiveKind::reduce_many:
      return "reduce of 8";
    case PrimitiveKind::fused:
      return "reduce, copy and send";
    case PrimitiveKind::exchange:
      return "copy, then reduce";
    case PrimitiveKind::peer_copy:
      return "copy to another device";
  }
  return "";
}

std::vector<std::int64_t> sample_sizes(std::int64_t bytes_large) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = smallest_size; bytes < bytes_large; bytes *= 16) sizes.push_back(bytes);
  sizes.push_back(bytes_large);
  return sizes;
}

MachineCosts measure(Backend& backend, const MeasureOptions& options) {
  COLLSIM_CHECK(options.ranks >= 1 && options.ranks >= backend.devices());
  COLLSIM_CHECK(options.bytes_large >= smallest_size && options.bytes_large % tiny_size == 0);
  COLLSIM_CHECK(options.runs >= 1 && options.warmup >= 0);
  Measurement measurement(backend, options);
  MachineCosts costs;
  costs.device = backend.name();
  costs.description = backend.description();
  costs.ranks = options.ranks;
  costs.devices = backend.devices();
  costs.launch = measurement.launch();
  costs.operation = measurement.tiny(PrimitiveKind::reduce, false);
  costs.handover = options.ranks > 1 ? measurement.tiny(PrimitiveKind::reduce, true) : costs.operation;
  for (const PrimitiveKind kind : local_kinds)
    for (const std::int64_t bytes : sizes_of(kind, options.bytes_large))
      for (const std::int32_t concurrent : concurrencies(kind, bytes == options.bytes_large, options.ranks))
        costs.samples.push_back(measurement.sample(kind, bytes, concurrent));
  add_rates(costs, options.bytes_large);
  if (costs.devices > 1) add_peers(costs, measurement, options.bytes_large);
  return costs;
}

}  // namespace collsim::kernels
