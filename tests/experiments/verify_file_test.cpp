// verify FILE.xml and export msccl: MSCCL files in and out of the program.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/algorithms/msccl_samples.hpp"
#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

TEST_CASE("verify proves an MSCCL file and says how many slots it needs") {
  const WorkFolder folder;
  folder.write("ring.xml", testing::fused_ring(4));
  const Run run = folder.run({"verify", "ring.xml"});
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  CHECK(run.out == "ring.xml: all_reduce on 4 gpus, in place: proven, 24 messages, 8 slots (2 are enough)\n");
}

TEST_CASE("verify refutes an MSCCL file at the step that is wrong") {
  const WorkFolder folder;
  std::string text = testing::plain_ring(2);
  folder.write("ring.xml", text.replace(text.find("type=\"rrc\""), 10, "type=\"r\""));
  Run run = folder.run({"verify", "ring.xml"});
  CHECK(run.exit_code == 1);
  CHECK(run.out.find(
            "ring.xml: all_reduce on 2 gpus, in place: refuted, 4 messages, 8 slots (1 is enough)\n"
            "  ring.xml:5: error: gpu 0, tb 0, step 1: r overwrites i[1] before anyone has read it\n") == 0);
  folder.write("ring.xml", testing::fused_ring(3));
  run = folder.run({"verify", "ring.xml", "--set", "algorithm.slots=1"});
  CHECK(run.exit_code == 1);
  CHECK(run.out.find("refuted, 12 messages, 1 slot (2 are enough)\n") != std::string::npos);
  CHECK(run.out.find(
            "step 1: deadlock: rrs waits for one of 1 slot to gpu 1; gpu 1, tb 0, step 1 (line 14) comes "
            "first\n    NCCL hangs\n") != std::string::npos);
}

TEST_CASE("run and verify agree on an MSCCL file that deadlocks with few slots") {
  const WorkFolder folder;
  folder.write("ag.xml", testing::gather_ring(4, true));
  const auto verify = [&folder](const std::string& slots) {
    return folder.run({"verify", "ag.xml", "--set", "algorithm.slots=" + slots});
  };
  const auto run = [&folder](const std::string& slots) {
    folder.write("ag.yaml",
                 "cluster:\n  nodes: 1\n  node:\n    gpus: 4\n"
                 "    interconnect: {kind: nvswitch, bandwidth: 100 GB/s}\n"
                 "collective: all_gather\nsize: 4 KiB\nalgorithm: [{name: ag.xml, slots: " +
                     slots + "}]\n");
    return folder.run({"run", "ag.yaml", "--json", "-", "--quiet"});
  };
  Run verified = verify("1");
  CHECK(verified.exit_code == 1);
  CHECK(verified.out.find("refuted, 12 messages, 1 slot (2 are enough)\n") != std::string::npos);
  Run ran = run("1");
  CAPTURE(ran.out);
  CHECK(ran.exit_code == 1);
  CHECK(ran.out.find("with 1 slot the file deadlocks; 2 are enough") != std::string::npos);
  CHECK(ran.out.find("\"proven\": true") == std::string::npos);
  verified = verify("2");
  CHECK(verified.exit_code == 0);
  CHECK(verified.out.find("proven, 12 messages, 2 slots (2 are enough)\n") != std::string::npos);
  ran = run("2");
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("\"proven\": true") != std::string::npos);
}

TEST_CASE("verify says what NCCL does with an MSCCL file without a range of sizes") {
  const WorkFolder folder;
  std::string text = testing::plain_ring(2);
  folder.write("ring.xml", text.replace(text.find(" minBytes=\"0\" maxBytes=\"0\""), 26, ""));
  const Run run = folder.run({"verify", "ring.xml"});
  CHECK(run.exit_code == 0);
  CHECK(run.out ==
        "ring.xml: all_reduce on 2 gpus, in place: proven, 4 messages, 8 slots (1 is enough)\n"
        "  ring.xml:1:1: warning: no minBytes and maxBytes\n"
        "    NCCL ignores the file: without a range of sizes it never takes it\n");
}

TEST_CASE("verify prices an MSCCL file on a cluster") {
  const WorkFolder folder;
  folder.write("ring.xml", testing::plain_ring(8));
  Run run = folder.run({"verify", "ring.xml", "--cluster", "dgx-h100", "--nodes", "1", "--size", "8MiB"});
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("\n  on 1 x dgx-h100, 8388608 B: ") != std::string::npos);
  run = folder.run({"verify", "ring.xml", "--cluster", "dgx-h100", "--nodes", "2"});
  CHECK(run.exit_code == 1);
  CHECK(run.out.find("impossible: the file is for 8 gpus, not 16\n") != std::string::npos);
}

TEST_CASE("verify of an MSCCL file that is malformed, missing or asked for otherwise is no proof") {
  const WorkFolder folder;
  folder.write("bad.xml", "<algo name=\"x\"><step/></algo>");
  CHECK(folder.run({"verify", "bad.xml"}).exit_code == 65);
  CHECK(folder.run({"verify", "none.xml"}).exit_code == 66);
  folder.write("ring.xml", testing::plain_ring(2));
  CHECK(folder.run({"verify", "ring.xml", "--ranks", "2"}).exit_code == 0);
  Run run = folder.run({"verify", "ring.xml", "--ranks", "3"});
  CHECK(run.exit_code == 65);
  CHECK(run.err.find("the file is for 2 gpus") != std::string::npos);
  run = folder.run({"verify", "ring.xml", "--collective", "all_gather"});
  CHECK(run.exit_code == 65);
  CHECK(run.err.find("the file does all_reduce") != std::string::npos);
}

TEST_CASE("verify writes what it finds in an MSCCL file as JSON") {
  const WorkFolder folder;
  std::string text = testing::plain_ring(2);
  folder.write("ring.xml", text.replace(text.find("srcoff=\"1\""), 10, "srcoff=\"7\""));
  const Run run = folder.run({"verify", "ring.xml", "--json", "-"});
  CHECK(run.exit_code == 1);
  const auto proof = nlohmann::json::parse(run.out).at("proofs").at(0);
  CHECK(proof.at("algorithm") == "ring.xml");
  CHECK(proof.at("status") == "refuted");
  CHECK(proof.at("in_place") == true);
  const auto finding = proof.at("findings").at(0);
  CHECK(finding.at("severity") == "error");
  CHECK(finding.at("gpu") == 0);
  CHECK(finding.at("tb") == 0);
  CHECK(finding.at("step") == 1);
  CHECK(finding.at("line") == 5);
}

TEST_CASE("export msccl writes a schedule that verify proves") {
  const WorkFolder folder;
  Run run = folder.run({"export", "msccl", "ring", "--ranks", "8", "-o", "ring.xml"});
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  CHECK(folder.run({"verify", "ring.xml"}).out ==
        "ring.xml: all_reduce on 8 gpus, in place: proven, 112 messages, 8 slots (1 is enough)\n");
  run = folder.run(
      {"export", "msccl", "synthesized", "--cluster", "dgx-h100", "--nodes", "1", "--quiet", "-o", "s.xml"});
  CHECK(run.exit_code == 0);
  CHECK(folder.run({"verify", "s.xml"}).exit_code == 0);
  run = folder.run({"export", "msccl", "nvls", "--ranks", "8"});
  CHECK(run.exit_code == 1);
  CHECK(run.out.empty());
  CHECK(run.err == "collsim: MSCCL has no reduction in switches\n");
  CHECK(folder.run({"export", "msccl", "auto", "--ranks", "8"}).exit_code == 65);
  CHECK(folder.run({"export", "msccl", "ring", "--ranks", "0"}).exit_code == 2);
}

TEST_SUITE_END();

}  // namespace collsim
