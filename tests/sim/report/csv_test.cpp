#include <doctest/doctest.h>

#include "sim/report/json.hpp"
#include "tests/sim/report/sample_points.hpp"

namespace collsim {

TEST_SUITE_BEGIN("report");

namespace {

const std::string names =
    "collective,algorithm,cluster,ranks,nodes,bytes,count,datatype,reduction,network,seed,channels,slices,"
    "time_ps,"
    "algbw_gb_per_s,busbw_gb_per_s,lower_bound_ps,bound_reason,optimality,bottleneck_link,bottleneck_"
    "utilization,"
    "messages,events,fingerprint,proven,status,reason,"
    "executor,streams,classes,root,options,chosen,predicted_ps,"
    "routing,placement,job,job_start_ps,job_finish_ps,job_alone_ps,repeats,p5_ps,p95_ps,healthy_time_ps,"
    "packets,packet_hops,packet_marks,packet_queue_max_bytes,packet_queue_link\n";
// Of a point that has none of what only some experiments ask for.
const std::string none(15, ',');

}  // namespace

TEST_CASE("csv_text has a row of names and a row per point, with empty cells for what is absent") {
  CHECK(csv_text({ring_point(), impossible_point(Bytes(1024))}) ==
        names +
            "all_reduce,ring,1 node of 8 GPUs on "
            "nvswitch,8,1,8388608,2097152,float32,sum,fluid,1,1,1,160800640,"
            "52.16775256615894,91.29356699077815,146800640,rank,0.9129356699077814,node0/gpu0 -> "
            "node0/nvswitch0,"
            "0.9129356699077814,112,224,0123456789abcdef,true,ok,,sweeps,8,1,,,," +
            none +
            "\n"
            "all_reduce,sharp,1 node of 8 GPUs on "
            "nvswitch,8,1,1024,256,float32,sum,fluid,1,0,0,,,,146800640,rank,,,,"
            "0,0,,false,impossible,no switch of the fabric reduces,,,,,,," +
            none + "\n");
}

TEST_CASE("csv_text quotes as RFC 4180 says") {
  Point point = impossible_point(Bytes(1024));
  point.reason = "levels [2, 4] \"do not\"\nfit";
  const std::string text = csv_text({point});
  CHECK(text.substr(text.find(",impossible,")) ==
        ",impossible,\"levels [2, 4] \"\"do not\"\"\nfit\",,,,,,," + none + "\n");
}

TEST_CASE("csv_text has the root, the options and what a selection took") {
  Point point = ring_point();
  point.collective = {CollectiveKind::broadcast, Bytes(4), Datatype::float32, ReductionOp::sum, 3};
  point.options = "channels: 8, form: a";
  point.chosen = "ring, ll128";
  point.predicted = Duration::picoseconds(17);
  const std::string text = csv_text({point});
  CHECK(text.find("\nbroadcast,ring,") != std::string::npos);
  CHECK(text.find(",float32,,fluid,") != std::string::npos);  // nothing is reduced
  CHECK(text.ends_with(",3,\"channels: 8, form: a\",\"ring, ll128\",17" + none + "\n"));
}

TEST_SUITE_END();

}  // namespace collsim
