#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

#include "experiments/commands.hpp"
#include "experiments/device_errors.hpp"
#include "experiments/files.hpp"
#include "experiments/hardware_preset_writer.hpp"

namespace collsim::program {

namespace {

constexpr std::int64_t nccl_smallest = std::int64_t{1} << 20;
constexpr std::int64_t nccl_largest = std::int64_t{1} << 28;
constexpr int nccl_warmup = 5;
constexpr int nccl_runs = 20;
// Of so many ranks the places of the largest sample are 16 GiB.
constexpr std::int64_t ranks_max = 256;

// "2026-12-01", UTC.
std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::int32_t ranks_of(const CalibrateCommand& command, int devices) {
  if (command.ranks == 0) return std::max(devices, 2);
  if (command.ranks < devices)
    throw Stop{ExitCode::usage, fmt::format("collsim: --ranks {}: there are {} GPUs, expected at least one "
                                            "rank on each (CUDA_VISIBLE_DEVICES hides some)\n",
                                            command.ranks, devices)};
  if (command.ranks > ranks_max)
    throw Stop{ExitCode::usage,
               fmt::format("collsim: --ranks {}: calibrate measures at most {} ranks that work at a time\n",
                           command.ranks, ranks_max)};
  return static_cast<std::int32_t>(command.ranks);
}

// Nothing where there is no NCCL: then there is no comparison with it.
std::vector<NcclTime> nccl_times(int devices) {
  std::vector<NcclTime> times;
  if (devices < 2) return times;
  try {
    for (std::int64_t bytes = nccl_smallest; bytes <= nccl_largest; bytes *= 16)
      times.push_back({bytes, kernels::nccl_all_reduce_time(bytes, nccl_warmup, nccl_runs)});
  } catch (const kernels::DeviceError& error) {
    if (error.kind() != kernels::DeviceError::Kind::missing) throw;
  }
  return times;
}

Calibration calibration_of(const CalibrateCommand& command, const Options& options) {
  const std::unique_ptr<kernels::Backend> backend = backend_of(command.device, command.workers);
  kernels::MeasureOptions measure;
  measure.ranks = ranks_of(command, backend->devices());
  if (!options.quiet) {
    std::fputs(fmt::format("collsim: measuring {} ({}), {} {}\n", backend->name(), backend->description(),
                           measure.ranks, measure.ranks == 1 ? "rank" : "ranks")
                   .c_str(),
               stderr);
  }
  Calibration calibration;
  calibration.costs = kernels::measure(*backend, measure);
  calibration.date = today();
  calibration.version = COLLSIM_VERSION;
  calibration.command =
      fmt::format("collsim calibrate --device {} --ranks {}", backend->name(), measure.ranks);
  if (backend->threads() > 0) calibration.command += fmt::format(" --workers {}", backend->threads());
  if (backend->name() == "cuda") calibration.nccl = nccl_times(backend->devices());
  if (shares_devices(calibration.costs) && !options.quiet)
    std::fputs("collsim: several ranks share each GPU; what they share is not modelled\n", stderr);
  return calibration;
}

}  // namespace

ExitCode calibrate(const CalibrateCommand& command, const Options& options) {
  OutputFile preset(command.output.empty() ? "-" : command.output);
  OutputFile json(options.json);
  if (json.is_stdout() && preset.is_stdout())
    throw Stop{ExitCode::usage, "collsim: --json - and --output - both ask for standard output\n"};
  Calibration calibration;
  on_device([&] { calibration = calibration_of(command, options); });
  preset.write(preset_text(calibration));
  if (json.wanted()) json.write(costs_json(calibration));
  // The preset holds the table too.
  if (!preset.is_stdout() && !json.is_stdout()) write_stdout(costs_text(calibration));
  return ExitCode::done;
}

}  // namespace collsim::program
