// Reading MSCCL files: what is there, what is malformed and where, and that hostile text ends in a finding.
#include <doctest/doctest.h>

#include <string>

#include "tests/algorithms/msccl_samples.hpp"

using namespace collsim;
using namespace collsim::testing;
using algorithms::MscclBuffer;
using algorithms::MscclFile;
using algorithms::MscclFinding;
using algorithms::MscclLimits;
using algorithms::MscclStep;
using algorithms::MscclStepType;

namespace {

// `text` with the first `from` replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

std::string text_of_warnings(const MscclFile& file) {
  std::string text;
  for (const MscclFinding& each : file.warnings)
    text += std::to_string(each.place.line) + ": " + each.text + "; NCCL " + each.nccl + "\n";
  return text;
}

}  // namespace

TEST_CASE("The reader of MSCCL files keeps every attribute and every line") {
  const MscclFile file = file_of(exchange_of_two());
  CHECK(file.name == "sample");
  CHECK(file.protocol == "Simple");
  CHECK(file.kind == CollectiveKind::all_reduce);
  CHECK(file.chunks == 2);
  CHECK(file.ranks == 2);
  CHECK(file.in_place);
  CHECK_FALSE(file.out_of_place);
  CHECK(file.bytes_min == 0);
  CHECK(file.bytes_max == 0);
  CHECK(file.warnings.empty());
  CHECK(file.steps() == 8);
  REQUIRE(file.gpus.size() == 2);
  CHECK(file.gpus[1].input_chunks == 2);
  CHECK(file.gpus[1].tbs[0].send == 0);
  const MscclStep& step = file.step(1, 0, 1);
  CHECK(step.type == MscclStepType::rrc);
  CHECK(step.source_buffer == MscclBuffer::i);
  CHECK(step.source == 1);
  CHECK(step.count == 1);
  CHECK(step.line == 13);
  CHECK(text_of(file.place(1, 0, 1)) == "gpu 1, tb 0, step 1");
}

TEST_CASE("The reader of MSCCL files takes thread blocks by id and every collective by its name") {
  const std::string gpus = gpu(1, 1, 1, 0, tb(1, -1, -1, 3, {}) + tb(0, 0, -1, 2, {})) + gpu(0, 1, 1, 0, "");
  const MscclFile file = file_of(algo("broadcast", 2, 1, 4, false, true, gpus));
  CHECK(file.gpus[1].tbs[0].channel == 2);
  CHECK(file.gpus[1].tbs[1].channel == 3);
  const std::pair<const char*, CollectiveKind> names[] = {
      {"allreduce", CollectiveKind::all_reduce}, {"reducescatter", CollectiveKind::reduce_scatter},
      {"allgather", CollectiveKind::all_gather}, {"broadcast", CollectiveKind::broadcast},
      {"reduce", CollectiveKind::reduce},        {"scatter", CollectiveKind::scatter},
      {"gather", CollectiveKind::gather},        {"alltoall", CollectiveKind::all_to_all}};
  for (const auto& each : names)
    CHECK(file_of(algo(each.first, 1, 1, 1, false, true, gpu(0, 1, 1, 0, ""))).kind == each.second);
}

TEST_CASE("The reader of MSCCL files warns of what NCCL ignores or refuses") {
  const std::string good = exchange_of_two();
  CHECK(text_of_warnings(file_of(with(with(good, " minBytes=\"0\"", ""), " maxBytes=\"0\"", ""))) ==
        "1: no minBytes and maxBytes; NCCL ignores the file: without a range of sizes it never takes it\n");
  CHECK(text_of_warnings(file_of(with(good, " outofplace=\"0\"", ""))) ==
        "1: no outofplace; NCCL ignores the file: it does not know which calls may use it\n");
  CHECK(text_of_warnings(file_of(with(good, "inplace=\"1\"", "inplace=\"0\""))) ==
        "1: neither inplace nor outofplace is 1; NCCL never takes the file\n");
  CHECK(text_of_warnings(file_of(with(good, "<tb ", "<copy i_off=\"0\"/><copy i_off=\"1\"/>\n<tb "))) ==
        "3: unknown element 'copy'; NCCL ignores it\n");
  CHECK(text_of_warnings(file_of("<?xml version=\"1.0\"?>\n" + good)) ==
        "1: an XML declaration <?xml ...?>; NCCL cannot read it and refuses the file\n");
  CHECK(text_of_warnings(file_of(with(good, " s=\"1\"", " s=\"7\""))) ==
        "5: it says s=7 and is step 1; NCCL numbers steps by their place\n");
  CHECK(text_of_warnings(file_of("<!-- a comment -->\n" + good)).empty());
  const std::string scattered = algo("reduce_scatter", 1, 1, 1, true, true, gpu(0, 1, 1, 0, ""));
  CHECK(text_of_warnings(file_of(scattered)) ==
        "1: coll is 'reduce_scatter'; NCCL knows it as 'reducescatter' and refuses the file\n");
}

TEST_CASE("The reader of MSCCL files names what is malformed, where, and what would be right") {
  const std::string good = exchange_of_two();
  const std::string step = "gpu 0, tb 0, step 1: ";
  CHECK(failure_of(good).empty());
  CHECK(failure_of("") ==
        "1:1: no well-formed XML: no element found; expected an MSCCL algorithm, <algo ...>");
  CHECK(failure_of("<system/>") ==
        "1:1: it begins with 'system', which is no MSCCL algorithm; expected <algo ...>");
  CHECK(failure_of("<algo") ==
        "1:1: no well-formed XML: unclosed token; expected an MSCCL algorithm, <algo ...>");
  CHECK(failure_of(with(good, "</tb>", "</tc>")) == "8:3: no well-formed XML: mismatched tag");
  CHECK(failure_of(with(good, "type=\"rrc\"", "type=\"rrx\"")) ==
        "5:13: " + step +
            "type is 'rrx'; expected one of s, r, rcs, rrc, rrs, rrcs, cpy, re, nop; did you mean "
            "'rrc'?");
  CHECK(failure_of(with(good, "type=\"rrc\" srcbuf=\"i\"", "type=\"rrc\" srcbuf=\"q\"")) ==
        "5:24: " + step + "srcbuf is 'q'; expected one of i, o, s; did you mean 'i'?");
  CHECK(failure_of(with(good, "type=\"rrc\" srcbuf=\"i\" srcoff=\"0\"",
                        "type=\"rrc\" srcbuf=\"i\" srcoff=\"zero\"")) ==
        "5:35: " + step + "srcoff is 'zero', which is no whole number; expected -1073741824 to 1073741824");
  CHECK(failure_of(with(good, "type=\"rrc\" srcbuf=\"i\" srcoff=\"0\"", "type=\"rrc\" srcbuf=\"i\"")) ==
        "5:1: " + step + "<step> has no srcoff; expected the attribute srcoff");
  CHECK(
      failure_of(with(good, "coll=\"allreduce\"", "coll=\"allreduec\"")).find("did you mean 'allreduce'?") !=
      std::string::npos);
  CHECK(failure_of(with(good, "coll=\"allreduce\"", "coll=\"send\"")).find("1:") == 0);
  CHECK(failure_of(with(good, "proto=\"Simple\"", "proto=\"simple\"")).find("did you mean 'Simple'?") !=
        std::string::npos);
  CHECK(failure_of(with(good, "<gpu id=\"1\"", "<gpu id=\"0\"")) ==
        "10:6: gpu 0: gpu 0 is there twice; expected one <gpu> a gpu");
  CHECK(failure_of(with(good, "<gpu id=\"1\"", "<gpu id=\"2\"")) == "10:6: id is 2; expected 0 to 1");
  CHECK(failure_of(algo("allreduce", 2, 2, 1, true, false, gpu(0, 2, 0, 0, ""))) ==
        "1:0: gpu 1 is missing; expected a <gpu> for each of 2");
  CHECK(failure_of(algo("allreduce", 1, 1, 1, true, false, gpu(0, 1, 0, 0, tb(1, -1, -1, 0, {}))))
            .find("gpu 0: tb 0 is missing; expected ids from 0 on without gaps") != std::string::npos);
  CHECK(failure_of(with(good, "send=\"1\"", "send=\"0\"")).find("its peer is gpu 0 itself") !=
        std::string::npos);
  CHECK(failure_of(with(good, "<tb ", "hello<tb ")).find("text between the elements: 'hello'") !=
        std::string::npos);
  CHECK(failure_of(algo("allgather", 2, 3, 1, true, false, gpu(0, 1, 3, 0, "") + gpu(1, 1, 3, 0, "")))
            .find("nchunksperloop is 3, which is no equal part for each of 2 gpus; expected a multiple of "
                  "ngpus") != std::string::npos);
}

TEST_CASE("Hostile MSCCL files end in a finding") {
  const std::string bomb =
      "<!DOCTYPE algo [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n<algo name=\"&b;\"/>";
  CHECK(failure_of(bomb).find("a document type declaration") != std::string::npos);
  CHECK(failure_of("<algo name=\"&b;\"/>").find("undefined entity") != std::string::npos);
  const std::string good = exchange_of_two();
  CHECK(failure_of(with(good, "ngpus=\"2\"", "ngpus=\"1000000000\""))
            .find("ngpus is 1000000000; expected 1 to 4096") != std::string::npos);
  CHECK(failure_of(with(good, "nchunksperloop=\"2\"", "nchunksperloop=\"99999999999999999999\""))
            .find("nchunksperloop is 99999999999999999999; expected 1 to 1048576") != std::string::npos);
  CHECK(failure_of(with(good, "s_chunks=\"0\"", "s_chunks=\"4294967296\"")).find("s_chunks is 4294967296") !=
        std::string::npos);
  CHECK(failure_of(with(good, "cnt=\"1\"", "cnt=\"2000000000\"")).find("cnt is 2000000000") !=
        std::string::npos);
  CHECK(failure_of(with(good, "id=\"0\" send", "id=\"1000000000\" send")).find("id is 1000000000") !=
        std::string::npos);
  const std::string wide = algo("allreduce", 4096, 1 << 20, 1, true, false, "");
  CHECK(failure_of(wide).find("gpu 0 is missing") != std::string::npos);
  std::string many =
      algo("allreduce", 2, 1 << 20, 1, true, false, gpu(0, 0, 0, 1 << 20, "") + gpu(1, 0, 0, 1 << 20, ""));
  CHECK(failure_of(many).empty());  // 2^22 chunks are the limit
  many = algo("allreduce", 3, 1 << 20, 1, true, false,
              gpu(0, 0, 0, 1 << 20, "") + gpu(1, 0, 0, 1, "") + gpu(2, 0, 0, 1, ""));
  CHECK(
      failure_of(many).find("1048576 chunks and 1048576 of scratch on 3 gpus are more than can be checked") !=
      std::string::npos);
  std::string deep = "<algo name=\"x\">";
  for (int i = 0; i < 200'000; ++i) deep += "<x>";
  CHECK(failure_of(deep).find("<algo> has no proto") != std::string::npos);
  deep = with(good, "<tb ", std::string(3 * 100, ' ') + "<x><x><x><tb ");
  CHECK(failure_of(deep).find("mismatched tag") != std::string::npos);
  std::string nested = good.substr(0, good.find("<gpu"));
  for (int i = 0; i < 100; ++i) nested += "<x>";
  CHECK(failure_of(nested).find("elements are nested too deeply; expected at most 64 levels") !=
        std::string::npos);
  CHECK(failure_of(std::string(static_cast<std::size_t>(MscclLimits::text_bytes) + 1, ' '))
            .find("the file has 33554433 bytes") != std::string::npos);
  CHECK(failure_of(std::string("\xff\xfe\x00<", 4)).find("no well-formed XML") != std::string::npos);
}

TEST_CASE("An MSCCL file of too many thread blocks ends in a finding, with or without steps") {
  std::string tbs;
  for (int i = 0; i < MscclLimits::tbs; ++i)
    tbs += "<tb id=\"" + std::to_string(i) + "\" send=\"-1\" recv=\"-1\" chan=\"0\"/>\n";
  const auto text = [](const std::string& all) {
    return algo("allreduce", 2, 1, 1, true, false, gpu(0, 1, 1, 0, all) + gpu(1, 1, 1, 0, ""));
  };
  CHECK(failure_of(text(tbs)).empty());
  const std::string more = text(tbs + tb(static_cast<int>(MscclLimits::tbs), -1, -1, 0, {}));
  CHECK(
      failure_of(more) ==
      "131075:1: gpu 0: there are more thread blocks than can be checked; expected at most 131072 in a file");
  // Of all gpus together.
  const std::string other =
      algo("allreduce", 2, 1, 1, true, false, gpu(0, 1, 1, 0, tbs) + gpu(1, 1, 1, 0, tb(0, -1, -1, 0, {})));
  CHECK(failure_of(other).find("gpu 1: there are more thread blocks than can be checked") !=
        std::string::npos);
}

TEST_CASE("The reader of MSCCL files gives up after twenty errors, and keeps twenty warnings") {
  std::vector<std::string> steps;
  for (int i = 0; i < 100; ++i) steps.push_back(step("bad", "i", 0, "i", 0));
  const auto read = algorithms::read_msccl(
      algo("allreduce", 1, 1, 1, true, false, gpu(0, 1, 1, 0, tb(0, -1, -1, 0, steps))));
  REQUIRE(std::holds_alternative<std::vector<MscclFinding>>(read));
  CHECK(std::get<std::vector<MscclFinding>>(read).size() == 20);
  for (std::string& each : steps) each = "extra=\"1\" " + step("cpy", "i", 0, "i", 0);
  std::string odd = algo("allreduce", 1, 1, 1, true, false, gpu(0, 1, 1, 0, tb(0, -1, -1, 0, steps)));
  for (int i = 99; i > 0; --i) odd = with(odd, " s=\"" + std::to_string(i) + "\"", " s=\"0\"");
  CHECK(file_of(odd).warnings.size() == 20);
}
