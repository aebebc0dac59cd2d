#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "sim/config/table.hpp"
#include "tests/sim/config/fixture.hpp"
#include "tests/sim/config/full_experiment.hpp"

using namespace collsim;
using Json = nlohmann::json;

namespace {

Json schema() { return Json::parse(experiment_schema(test_registries())); }

// The paths of all keys of a schema: every alternative and every element counts.
void collect(const Json& schema_part, const std::string& path, std::set<std::string>& paths) {
  if (schema_part.contains("anyOf"))
    for (const Json& alternative : schema_part["anyOf"]) collect(alternative, path, paths);
  if (schema_part.contains("items")) collect(schema_part["items"], path, paths);
  if (!schema_part.contains("properties")) return;
  CHECK(schema_part["additionalProperties"] == false);
  for (const auto& [name, inner] : schema_part["properties"].items()) {
    const std::string inner_path = path.empty() ? name : path + "." + name;
    paths.insert(inner_path);
    collect(inner, inner_path, paths);
  }
}

void collect(const config::Key& key, const std::string& path, std::set<std::string>& paths) {
  for (const config::Key& inner : key.keys) {
    if (inner.form == config::Form::moved) continue;
    const std::string inner_path = path.empty() ? inner.name : path + "." + inner.name;
    paths.insert(inner_path);
    collect(inner, inner_path, paths);
    for (const config::Key& list : inner.list) collect(list, inner_path, paths);
  }
}

std::set<std::string> table_paths() {
  std::set<std::string> paths;
  collect(config::experiment_table(test_registries()), "", paths);
  return paths;
}

bool differ(const Place& a, const Place& b) { return a.line != b.line || a.column != b.column; }

// Whether some value stands at `rest` below `path`, in any entry of the lists on the way.
bool is_written(const ReadResult& result, const std::string& path, const std::string& rest) {
  constexpr int entries_max = 8;
  const std::size_t dot = rest.find('.');
  const std::string name = rest.substr(0, dot);
  const std::string inner = path.empty() ? name : path + "." + name;
  const Place around = result.at(path).place;
  const Place own = result.at(inner).place;
  if (own.line == 0 || (!path.empty() && !differ(own, around))) return false;
  if (dot == std::string::npos) return true;
  const std::string left = rest.substr(dot + 1);
  if (is_written(result, inner, left)) return true;
  for (int i = 0; i < entries_max; ++i) {
    const std::string entry = inner + "[" + std::to_string(i) + "]";
    if (differ(result.at(entry).place, own) && is_written(result, entry, left)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("The schema is JSON of the draft that it names") {
  const Json json = schema();
  CHECK(json["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  CHECK(json["type"] == "object");
  CHECK(json["required"] == Json::array({"cluster"}));
  CHECK(json["if"]["required"] == Json::array({"jobs"}));  // jobs bring their own
  const Json& without_jobs = json["else"];
  CHECK(without_jobs["required"] == Json::array({"algorithm"}));
  CHECK(without_jobs["else"]["required"] == Json::array({"size"}));  // of all but a barrier
  CHECK(without_jobs["if"]["properties"]["collective"]["const"] == "barrier");
}

TEST_CASE("The schema names every key that the reader knows, and no other") {
  std::set<std::string> paths;
  collect(schema(), "", paths);
  CHECK(paths == table_paths());
  CHECK(paths.count("cluster.fabric.links.bandwidth") == 1);
  CHECK(paths.count("size.factor") == 1);
}

TEST_CASE("The reader accepts every key that the schema names") {
  std::set<std::string> written;
  for (const std::string& text : full_experiments()) {
    const ReadResult result = read(text);
    CHECK(result.diagnostics.text() == "");
    for (const std::string& path : table_paths())
      if (is_written(result, "", path)) written.insert(path);
  }
  for (const std::string& path : table_paths()) CHECK_MESSAGE(written.count(path) == 1, path);
}

TEST_CASE("The patterns of quantities accept what the reader accepts") {
  const Json json = schema();
  const Json& fabric = json["properties"]["cluster"]["properties"]["fabric"]["properties"];
  const std::regex bandwidth(fabric["bandwidth"]["pattern"].get<std::string>());
  const std::regex latency(fabric["latency"]["pattern"].get<std::string>());
  for (const char* text : {"400 Gbit/s", "1.2 TB/s", "50GB/s", " 1 B/s "})
    CHECK(std::regex_match(text, bandwidth));
  for (const char* text : {"400", "400 G", "1e3 B/s", "-1 B/s", "400 ns", ".5 B/s"})
    CHECK_FALSE(std::regex_match(text, bandwidth));
  CHECK(std::regex_match("1.25 us", latency));
  CHECK_FALSE(std::regex_match("5 min", latency));
}

TEST_CASE("The schema lists names with their aliases, and defaults with their types") {
  const Json json = schema();
  const Json names = json["properties"]["algorithm"]["anyOf"][0]["anyOf"][0]["anyOf"];
  CHECK(names[0]["enum"] == Json::array({"ring", "double_binary_tree", "cascade", "k_nomial_tree",
                                         "parameter_server", "nvls", "tree"}));
  CHECK(names[1]["pattern"] == ".\\.xml$");
  const Json options = json["properties"]["algorithm"]["anyOf"][0]["anyOf"][1]["properties"];
  CHECK(options["form"]["enum"] == Json::array({"bfs", "themis"}));
  CHECK(json["properties"]["seed"]["default"] == 1);
  CHECK(json["properties"]["datatype"]["default"] == "float32");
  CHECK(json["properties"]["cluster"]["properties"]["fabric"]["properties"]["reduction"]["default"] == false);
  const Json& properties = json["properties"];
  CHECK(properties["network"]["default"] == "fluid");
  CHECK(properties["network"]["anyOf"][0]["enum"] == Json::array({"fluid", "packet"}));
  CHECK(properties["credit_latency"]["anyOf"][1]["const"] == "route");
  CHECK(properties["placement"]["anyOf"][1]["type"] == "array");
  CHECK(properties["jobs"]["items"]["properties"]["after"]["type"] == Json::array({"string", "integer"}));
  CHECK(properties["skew"]["anyOf"][1]["items"]["required"] == Json::array({"rank", "delay"}));
  CHECK(properties["cluster"]["properties"]["nodes"]["anyOf"][0]["type"] == "integer");
  CHECK_FALSE(properties["cluster"]["properties"]["fabric"]["properties"].contains("routing"));
}
