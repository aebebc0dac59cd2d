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
    if (inner.form == config::Form::later) continue;
    const std::string inner_path = path.empty() ? inner.name : path + "." + inner.name;
    paths.insert(inner_path);
    collect(inner, inner_path, paths);
  }
}

std::set<std::string> table_paths() {
  std::set<std::string> paths;
  collect(config::experiment_table(test_registries()), "", paths);
  return paths;
}

}  // namespace

TEST_CASE("The schema is JSON of the draft that it names") {
  const Json json = schema();
  CHECK(json["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  CHECK(json["type"] == "object");
  CHECK(json["required"] == Json::array({"cluster", "algorithm"}));
  CHECK(json["else"]["required"] == Json::array({"size"}));  // of all but a barrier
  CHECK(json["if"]["properties"]["collective"]["const"] == "barrier");
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
    for (const std::string& path : table_paths()) {
      // A key was written if its own place is not that of what encloses it.
      for (const std::string& start :
           {std::string(), std::string("[0]"), std::string("[1]"), std::string("[2]"), std::string("[3]"),
            std::string("[4]"), std::string("[5]"), std::string("[6]")}) {
        std::string indexed = path;
        const std::size_t end = path.rfind('.');
        if (!start.empty() && end == std::string::npos) continue;
        if (!start.empty()) indexed.insert(end, start);
        const Diagnostic own = result.at(indexed);
        const Diagnostic around = result.at(indexed.substr(0, indexed.find_last_of(".")));
        if (own.place.line != 0 && (own.place.line != around.place.line ||
                                    own.place.column != around.place.column || end == std::string::npos))
          written.insert(path);
      }
    }
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
  CHECK_FALSE(json["properties"].contains("jobs"));
}
