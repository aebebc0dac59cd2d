// Small MSCCL files for tests.
#pragma once

#include <string>
#include <vector>

#include "algorithms/msccl_file.hpp"
#include "algorithms/msccl_reader.hpp"

namespace collsim::testing {

// <algo ...> of `gpus`, each "  <gpu ...>...</gpu>\n".
inline std::string algo(const std::string& coll, int ranks, int chunks, int channels, bool in_place,
                        bool out_of_place, const std::string& gpus) {
  return "<algo name=\"sample\" proto=\"Simple\" nchannels=\"" + std::to_string(channels) +
         "\" nchunksperloop=\"" + std::to_string(chunks) + "\" ngpus=\"" + std::to_string(ranks) +
         "\" coll=\"" + coll + "\" inplace=\"" + (in_place ? "1" : "0") + "\" outofplace=\"" +
         (out_of_place ? "1" : "0") + "\" minBytes=\"0\" maxBytes=\"0\">\n" + gpus + "</algo>\n";
}

inline std::string gpu(int id, int input, int output, int scratch, const std::string& tbs) {
  return "<gpu id=\"" + std::to_string(id) + "\" i_chunks=\"" + std::to_string(input) + "\" o_chunks=\"" +
         std::to_string(output) + "\" s_chunks=\"" + std::to_string(scratch) + "\">\n" + tbs + "</gpu>\n";
}

inline std::string tb(int id, int send, int receive, int channel, const std::vector<std::string>& steps) {
  std::string text = "<tb id=\"" + std::to_string(id) + "\" send=\"" + std::to_string(send) + "\" recv=\"" +
                     std::to_string(receive) + "\" chan=\"" + std::to_string(channel) + "\">\n";
  for (std::size_t i = 0; i < steps.size(); ++i)
    text += "<step s=\"" + std::to_string(i) + "\" " + steps[i] + "/>\n";
  return text + "</tb>\n";
}

// step("rrc", "i", 3, "o", 3) and what may follow: count, dependency, hasdep.
inline std::string step(const std::string& type, const std::string& source_buffer, int source,
                        const std::string& target_buffer, int target, int count = 1, int depid = -1,
                        int deps = -1, int hasdep = 0) {
  return "type=\"" + type + "\" srcbuf=\"" + source_buffer + "\" srcoff=\"" + std::to_string(source) +
         "\" dstbuf=\"" + target_buffer + "\" dstoff=\"" + std::to_string(target) + "\" cnt=\"" +
         std::to_string(count) + "\" depid=\"" + std::to_string(depid) + "\" deps=\"" + std::to_string(deps) +
         "\" hasdep=\"" + std::to_string(hasdep) + "\"";
}

inline std::string nop(int depid, int deps) { return step("nop", "i", -1, "o", -1, 0, depid, deps); }

// The first finding as text where reading fails.
inline std::string failure_of(const std::string& text) {
  const auto read = algorithms::read_msccl(text);
  const auto* findings = std::get_if<std::vector<algorithms::MscclFinding>>(&read);
  if (findings == nullptr) return "";
  const algorithms::MscclFinding& first = findings->front();
  std::string result = std::to_string(first.place.line) + ":" + std::to_string(first.column) + ": ";
  const std::string place = algorithms::text_of(first.place);
  if (!place.empty()) result += place + ": ";
  result += first.text;
  if (!first.expected.empty()) result += "; expected " + first.expected;
  if (!first.hint.empty()) result += "; did you mean '" + first.hint + "'?";
  return result;
}

// REQUIRES: the text is well formed
inline algorithms::MscclFile file_of(const std::string& text) {
  return std::get<algorithms::MscclFile>(algorithms::read_msccl(text));
}

// All-reduce of two gpus in place: each sends its half to be reduced and gets the sum of the other's.
inline std::string exchange_of_two() {
  std::string gpus;
  for (int g = 0; g < 2; ++g) {
    const int mine = g;
    const int other = 1 - g;
    gpus += gpu(g, 2, 0, 0,
                tb(0, other, other, 0,
                   {step("s", "i", other, "i", other), step("rrc", "i", mine, "i", mine),
                    step("s", "i", mine, "i", mine), step("r", "i", other, "i", other)}));
  }
  return algo("allreduce", 2, 2, 1, true, false, gpus);
}

// All-reduce around a ring in place, a send and a receive in turn: chunk c begins at gpu c. With several
// channels, the whole on each with n chunks of its own.
inline std::string plain_ring(int n, int channels = 1) {
  std::string gpus;
  for (int g = 0; g < n; ++g) {
    std::string tbs;
    for (int channel = 0; channel < channels; ++channel) {
      const auto chunk = [n, channel](int number) { return channel * n + ((number % n) + n) % n; };
      std::vector<std::string> steps = {step("s", "i", chunk(g), "i", chunk(g))};
      for (int k = 1; k <= 2 * n - 2; ++k) {
        const int c = chunk(g - k);
        steps.push_back(step(k < n ? "rrc" : "r", "i", c, "i", c));
        if (k < 2 * n - 2) steps.push_back(step("s", "i", c, "i", c));
      }
      tbs += tb(channel, (g + 1) % n, (g + n - 1) % n, channel, steps);
    }
    gpus += gpu(g, n * channels, 0, 0, tbs);
  }
  return algo("allreduce", n, n * channels, channels, true, false, gpus);
}

// The same with steps that receive and send: s, rrs, rrcs, rcs, r.
inline std::string fused_ring(int n, bool in_place = true) {
  std::string gpus;
  const std::string out = in_place ? "i" : "o";
  const auto chunk = [n](int number) { return ((number % n) + n) % n; };
  for (int g = 0; g < n; ++g) {
    std::vector<std::string> steps = {step("s", "i", g, out, g)};
    for (int k = 1; k <= 2 * n - 2; ++k) {
      const int c = chunk(g - k);
      const char* type = k < n - 1 ? "rrs" : k == n - 1 ? "rrcs" : k < 2 * n - 2 ? "rcs" : "r";
      steps.push_back(step(type, "i", c, out, c));
    }
    gpus += gpu(g, n, in_place ? 0 : n, 0, tb(0, (g + 1) % n, (g + n - 1) % n, 0, steps));
  }
  return algo("allreduce", n, n, 1, in_place, !in_place, gpus);
}

// All-reduce in place, everyone to everyone through scratch: thread block q exchanges with the q-th other
// gpu, the last one adds up once all have come. With several channels, the whole on each.
inline std::string all_pairs(int n, int channels = 1) {
  std::string gpus;
  for (int g = 0; g < n; ++g) {
    std::string tbs;
    for (int channel = 0; channel < channels; ++channel) {
      const int chunk = channel * n;  // the first of the channel, of its thread blocks, of its scratch
      const int scratch = channel * (n - 1);
      std::vector<std::string> sum;
      for (int q = 0; q + 2 < n; ++q) sum.push_back(nop(chunk + q, 1));
      for (int q = 0; q + 1 < n; ++q) {
        const int p = q < g ? q : q + 1;
        const int mine = chunk + g;
        const int other = chunk + p;
        tbs += tb(
            chunk + q, p, p, channel,
            {step("s", "i", other, "i", other), step("r", "s", scratch + q, "s", scratch + q, 1, -1, -1, 1),
             step("s", "i", mine, "i", mine, 1, chunk + n - 1, 2 * n - 4),
             step("r", "i", other, "i", other)});
        sum.push_back(step("re", "s", scratch + q, "i", mine, 1, q == 0 ? chunk + n - 2 : -1, q == 0 ? 1 : -1,
                           q + 2 == n ? 1 : 0));
      }
      tbs += tb(chunk + n - 1, -1, -1, channel, sum);
    }
    gpus += gpu(g, n * channels, 0, (n - 1) * channels, tbs);
  }
  return algo("allreduce", n, n * channels, channels, true, false, gpus);
}

// All-reduce in place of two nodes of two gpus: reduce-scatter inside, exchange across, all-gather inside.
inline std::string two_by_two() {
  std::string gpus;
  for (int g = 0; g < 4; ++g) {
    const int mine = g % 2;
    const int other = 1 - mine;
    gpus += gpu(
        g, 2, 0, 0,
        tb(0, g ^ 1, g ^ 1, 0,
           {step("s", "i", other, "i", other), step("rrc", "i", mine, "i", mine, 1, -1, -1, 1),
            step("s", "i", mine, "i", mine, 1, 1, 1), step("r", "i", other, "i", other)}) +
            tb(1, g ^ 2, g ^ 2, 0,
               {step("s", "i", mine, "i", mine, 1, 0, 1), step("rrc", "i", mine, "i", mine, 1, -1, -1, 1)}));
  }
  return algo("allreduce", 4, 2, 1, true, false, gpus);
}

// All-gather in place around a ring of rcs, `parts` chunks a gpu: one chunk after the other goes around, or
// each gpu sends all of its own first.
inline std::string gather_ring_in_parts(int n, int parts, bool own_first) {
  std::string gpus;
  for (int g = 0; g < n; ++g) {
    std::vector<std::string> steps;
    const int rounds = own_first ? 1 : parts;  // of n hops
    const int width = parts / rounds;          // chunks a hop
    for (int first = 0; first < parts; first += width)
      for (int hop = 0; hop < n; ++hop)
        for (int part = first; part < first + width; ++part) {
          const int c = (g - hop + n) % n * parts + part;
          steps.push_back(step(hop == 0 ? "s" : hop + 1 < n ? "rcs" : "r", "o", c, "o", c));
        }
    gpus += gpu(g, 0, n * parts, 0, tb(0, (g + 1) % n, (g + n - 1) % n, 0, steps));
  }
  return algo("allgather", n, n * parts, 1, true, false, gpus);
}

// All-gather around a ring of rcs. In place a gpu's part is o[g]; out of place it is i[0] and copied.
inline std::string gather_ring(int n, bool in_place) {
  std::string gpus;
  for (int g = 0; g < n; ++g) {
    std::vector<std::string> steps = {in_place ? step("s", "o", g, "o", g) : step("s", "i", 0, "o", g)};
    for (int k = 1; k < n; ++k) {
      const int c = (g - k + n) % n;
      steps.push_back(step(k + 1 < n ? "rcs" : "r", "o", c, "o", c));
    }
    std::string tbs = tb(0, (g + 1) % n, (g + n - 1) % n, 0, steps);
    if (!in_place) tbs += tb(1, -1, -1, 0, {step("cpy", "i", 0, "o", g)});
    gpus += gpu(g, in_place ? 0 : 1, n, 0, tbs);
  }
  return algo("allgather", n, n, 1, in_place, !in_place, gpus);
}

// All-to-all out of place, one thread block a pair.
inline std::string all_to_all(int n) {
  std::string gpus;
  for (int g = 0; g < n; ++g) {
    std::string tbs;
    for (int q = 0; q + 1 < n; ++q) {
      const int p = q < g ? q : q + 1;
      tbs += tb(q, p, p, 0, {step("s", "i", p, "o", p), step("r", "i", p, "o", p)});
    }
    tbs += tb(n - 1, -1, -1, 0, {step("cpy", "i", g, "o", g)});
    gpus += gpu(g, n, n, 0, tbs);
  }
  return algo("alltoall", n, n, 1, false, true, gpus);
}

}  // namespace collsim::testing
