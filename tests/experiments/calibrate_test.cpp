// calibrate: what it writes reads back as the cluster that was measured, and what it refuses.
// The measuring itself is tested in tests/kernels/primitives_test.cpp, all together by tests/gpu_check.
#include <doctest/doctest.h>

#include <string>

#include "experiments/device_errors.hpp"
#include "experiments/hardware_preset_writer.hpp"
#include "experiments/inputs.hpp"
#include "tests/experiments/program_runner.hpp"

using namespace collsim;
using namespace collsim::program;

namespace {

Bandwidth gigabytes(std::int64_t count) { return Bandwidth::gigabytes_per_second(count); }

Calibration made_up(std::int32_t ranks, int devices) {
  Calibration result;
  result.date = "2026-12-01";
  result.command = "collsim calibrate --device cpu";
  result.version = "0.1.0";
  kernels::MachineCosts& costs = result.costs;
  costs.device = "cpu";
  costs.description = "2 threads, some processor";
  costs.ranks = ranks;
  costs.devices = devices;
  costs.samples = {
      {kernels::PrimitiveKind::copy, 8 << 20, 2, Duration::microseconds(1600), gigabytes(10), 2}};
  costs.launch = Duration::microseconds(7);
  costs.operation = Duration::nanoseconds(200);
  costs.handover = Duration::nanoseconds(1200);
  costs.copy_one = gigabytes(6);
  costs.copy_all = gigabytes(10);
  costs.reduce_one = gigabytes(4);
  costs.reduce_all = Bandwidth::bytes_per_second(7'123'456'789);
  if (devices > 1) {
    costs.peer = gigabytes(300);
    costs.peer_latency = Duration::nanoseconds(900);
  }
  return result;
}

Experiment read_back(const Calibration& calibration) {
  WorkFolder folder;
  folder.write("machine.yaml", preset_text(calibration));
  const std::string file = folder.path() + "/x.yaml";
  const ReadResult read = read_checked("cluster: {preset: machine.yaml}\nalgorithm: ring\nsize: 1 MiB\n",
                                       file, {}, true, ReadFor::run);
  CHECK(read.diagnostics.text() == "");
  build_topology(read);
  return *read.experiment;
}

}  // namespace

TEST_CASE("The preset of ranks that share a device is a shared memory") {
  const Experiment experiment = read_back(made_up(4, 1));
  const NodeSpec& node = experiment.cluster.node;
  CHECK(node.gpus == 4);
  CHECK(node.interconnect.kind == InterconnectKind::shared_memory);
  CHECK(node.interconnect.bandwidth == gigabytes(6));
  CHECK(node.interconnect.latency == Duration::nanoseconds(500));  // a message crosses two links
  CHECK(node.interconnect.total == gigabytes(10));
  CHECK(node.interconnect.reduce_total == Bandwidth::bytes_per_second(7'123'456'000));
  CHECK(node.gpu.reduce_bandwidth == gigabytes(4));
  CHECK(node.gpu.copy_bandwidth == gigabytes(6));
  CHECK(node.gpu.send_overhead == Duration::nanoseconds(200));
  CHECK(experiment.launch_overhead == Duration::microseconds(7));
}

TEST_CASE("The preset of one rank has no interconnect") {
  CHECK(read_back(made_up(1, 1)).cluster.node.interconnect.kind == InterconnectKind::none);
}

TEST_CASE("The preset of one rank a GPU is a full mesh of peer copies") {
  const NodeSpec node = read_back(made_up(4, 4)).cluster.node;
  CHECK(node.gpus == 4);
  CHECK(node.interconnect.kind == InterconnectKind::full_mesh);
  CHECK(node.interconnect.bandwidth == gigabytes(300));
  CHECK(node.interconnect.latency == Duration::nanoseconds(900));
}

TEST_CASE("What the preset does not model is said in it") {
  const std::string sentence = "What they share is not modelled";
  CHECK(preset_text(made_up(4, 2)).find(sentence) != std::string::npos);
  CHECK(preset_text(made_up(4, 4)).find(sentence) == std::string::npos);
  CHECK(preset_text(made_up(4, 1)).find(sentence) == std::string::npos);
}

TEST_CASE("The table of costs has a line for each sample with rate and traffic") {
  const std::string text = costs_text(made_up(2, 1));
  CHECK(text.find("primitive                   bytes  ranks  time of one       GB/s    traffic\n"
                  "copy                        8 MiB      2      1.60 ms      10.00      20.00\n") == 0);
  CHECK(text.find("an empty run                             7.00 us\n") != std::string::npos);
  CHECK(costs_json(made_up(2, 1)).find("\"copy_all_bytes_per_s\": 10000000000") != std::string::npos);
}

TEST_CASE("calibrate refuses an output that cannot be written before it measures") {
  const WorkFolder folder;
  const Run run = folder.run({"calibrate", "-o", "no/such/folder.yaml"});
  CHECK(run.exit_code == 2);
  CHECK(run.out.empty());
  CHECK(run.err == "collsim: cannot write 'no/such/folder.yaml': No such file or directory\n");
}

TEST_CASE("calibrate without a GPU says why and leaves no file") {
  const std::string why = kernels::why_no_cuda();
  if (why.empty()) return;  // there is one: tests/gpu_check measures it
  const WorkFolder folder;
  const Run run = folder.run({"calibrate", "--device", "cuda", "-o", "machine.yaml"});
  CHECK(run.exit_code == 69);
  CHECK(run.err == "collsim: " + why + "\n");
  CHECK(folder.names().empty());
}

TEST_CASE("calibrate refuses more ranks than it measures") {
  const WorkFolder folder;
  const Run run = folder.run({"calibrate", "--ranks", "257", "-o", "machine.yaml"});
  CHECK(run.exit_code == 2);
  CHECK(run.err == "collsim: --ranks 257: calibrate measures at most 256 ranks that work at a time\n");
  CHECK(folder.names().empty());
}

TEST_CASE("Each kind of device error has its exit code") {
  using Kind = kernels::DeviceError::Kind;
  CHECK(exit_code_of(Kind::missing) == ExitCode::no_device);
  CHECK(exit_code_of(Kind::failed) == ExitCode::no_device);
  CHECK(exit_code_of(Kind::memory) == ExitCode::limit);
  CHECK(exit_code_of(Kind::unsupported) == ExitCode::negative);
  CHECK_THROWS_AS(on_device([] { throw kernels::DeviceError(Kind::memory, "too large"); }), Stop);
}

TEST_CASE("A device error is told with what differs from run to run") {
  using Kind = kernels::DeviceError::Kind;
  CHECK(stop_of({Kind::memory, "too large"}).message == "collsim: too large\n");
  const kernels::DeviceError error(Kind::memory, "the buffers need 2.00 GiB", "1.00 GiB are free");
  CHECK(std::string(error.what()) == "the buffers need 2.00 GiB");
  CHECK(stop_of(error).message == "collsim: the buffers need 2.00 GiB; 1.00 GiB are free\n");
}
