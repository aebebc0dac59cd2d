#include "sim/config/jobs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/config/sizes.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/core/spelling.hpp"

namespace collsim::config {
namespace {

bool is_number(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class JobsBinder {
 public:
  JobsBinder(const Value& root, std::int64_t ranks, const Registries& registries, Findings& findings)
      : root_(root), ranks_(ranks), registries_(registries), findings_(findings) {}

  Extent bind(std::vector<JobSpec>& jobs) {
    const std::vector<Value>& items = root_["jobs"].items;
    bind_names(items);
    extent_.ranks = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      jobs.push_back(bind_job(items[i], i));
      listed_ranks_ += jobs.back().ranks.size();
      if (listed_ranks_ <= static_cast<std::size_t>(ranks_max)) continue;
      findings_.error("jobs", "the jobs list too many ranks", "at most " + std::to_string(ranks_max));
      break;
    }
    warn_unused();
    return std::move(extent_);
  }

 private:
  void bind_names(const std::vector<Value>& items) {
    std::map<std::string, std::size_t> number;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Value& name = items[i]["name"];
      const std::string path = indexed_path("jobs", i) + ".name";
      names_.push_back(name.given ? name.text : "job" + std::to_string(i));
      if (is_number(names_.back()))
        findings_.error(path, quoted(names_.back()) + " is a number", "a name that no job has as its number");
      const auto [first, is_new] = number.emplace(names_.back(), i);
      if (!is_new)
        findings_.error(path,
                        "jobs[" + std::to_string(first->second) + "] is also named " + quoted(names_.back()),
                        "a name for each job");
    }
  }

  JobSpec bind_job(const Value& value, std::size_t number) {
    const std::string path = indexed_path("jobs", number);
    JobSpec job;
    job.name = names_[number];
    job.start = Instant() + duration_of(value["start"]);
    if (value["after"].given) job.after = after(value["after"].text, number, path + ".after");
    if (value["ranks"].given)
      job.ranks = distinct_numbers(value["ranks"], path + ".ranks", ranks_, "rank", findings_);
    const std::int64_t ranks = job.ranks.empty() ? ranks_ : static_cast<std::int64_t>(job.ranks.size());
    if (const auto [key, algorithm] = own_or_common(value, path, "algorithm"); algorithm)
      job.algorithm = request_from(*algorithm, key, registries_, findings_);
    bind_collective(value, path, ranks, job.collective);
    return job;
  }

  // An earlier job, by its name or its number.
  std::int32_t after(const std::string& text, std::size_t number, const std::string& path) {
    const auto earlier = names_.begin() + static_cast<std::ptrdiff_t>(number);
    const std::string expected = number == 0 ? "no `after`, because this is the first job"
                                             : "name or number of a job that stands before this one";
    auto found = std::find(names_.begin(), names_.end(), text);
    constexpr std::size_t digits_max = 6;
    if (is_number(text) && text.size() <= digits_max && std::stoul(text) < names_.size())
      found = names_.begin() + static_cast<std::ptrdiff_t>(std::stoul(text));
    if (found == names_.end())
      findings_.error(path, "there is no job " + quoted(text), expected,
                      nearest(text, std::vector<std::string>(names_.begin(), earlier)));
    else if (found == earlier)
      findings_.error(path, "the job would wait for itself", expected);
    else if (found > earlier)
      findings_.error(path, "the job " + quoted(text) + " stands after this one", expected);
    else
      return static_cast<std::int32_t>(found - names_.begin());
    return -1;
  }

  // The value of a job's key with its path, or the experiment's one; none, and said so, where it has several.
  std::pair<std::string, const Value*> own_or_common(const Value& job, const std::string& path,
                                                     const std::string& key) {
    const std::string own = joined_path(path, key);
    if (job[key].given) return {own, &job[key]};
    const auto common = each(root_[key], key);
    used_.insert(key);
    const bool one = common.size() == 1 && (key == "algorithm" || common.front().second->keys.empty());
    if (one) return common.front();
    findings_.error(own, "missing",
                    key + (common.empty() ? ", here or beside jobs"
                                          : "; the experiment has several, so that each job needs its own"));
    return {own, nullptr};
  }

  // The name of a job's key, or of the experiment's.
  const std::string& name_or_common(const Value& job, const std::string& key) {
    if (job[key].given) return job[key].text;
    used_.insert(key);
    return root_[key].text;
  }

  void bind_collective(const Value& value, const std::string& path, std::int64_t ranks, Collective& result) {
    result.kind = *collective_from_name(name_or_common(value, "collective"));
    result.datatype = *datatype_from_name(name_or_common(value, "datatype"));
    if (reduces(result.kind) || value["reduction"].given)
      result.reduction = *reduction_from_name(name_or_common(value, "reduction"));
    warn_useless_keys(value, path, result.kind, findings_);
    if (has_root(result.kind)) {
      const bool own = value["root"].given;
      result.root = static_cast<Rank>((own ? value : root_)["root"].number);
      if (!own) used_.insert("root");
      exists(result.root, ranks, own ? path + ".root" : "root", findings_);
    }
    bind_size(value, path, ranks, result);
    extent_.ranks += ranks;
  }

  void bind_size(const Value& value, const std::string& path, std::int64_t ranks, Collective& result) {
    if (result.kind == CollectiveKind::barrier && !value["size"].given) return;
    const auto [key, size] = own_or_common(value, path, "size");
    if (!size) return;
    SizeList list(result.kind, result.datatype, ranks, findings_);
    list.add(*size, key);
    list.warn_rounded(key);
    if (!list.sizes().empty()) result.bytes = list.sizes().front();
    extent_.bytes += Int128{ranks} * list.largest();
    extent_.vector = std::max<Int128>(extent_.vector, list.largest());
    if (list.largest() < largest_ || key.empty()) return;
    largest_ = list.largest();
    extent_.place = key;
    extent_.text = root_["jobs"].items.size() == 1
                       ? text_from(Bytes(largest_)) + " on " + std::to_string(ranks) + " ranks"
                       : "this and the other jobs";
  }

  // Keys of the experiment that no job falls back to.
  void warn_unused() {
    for (const char* key : {"collective", "algorithm", "size", "root", "datatype", "reduction"})
      if (root_[key].node && used_.count(key) == 0)
        findings_.warn(key, "has no effect, because no job needs it");
  }

  const Value& root_;
  std::int64_t ranks_;
  const Registries& registries_;
  Findings& findings_;
  std::vector<std::string> names_;
  std::set<std::string> used_;  // keys of the experiment
  std::size_t listed_ranks_ = 0;
  std::int64_t largest_ = 0;
  Extent extent_;
};

}  // namespace

Extent bind_jobs(const Value& root, std::int64_t ranks, const Registries& registries, Findings& findings,
                 std::vector<JobSpec>& jobs) {
  return JobsBinder(root, ranks, registries, findings).bind(jobs);
}

void warn_useless_keys(const Value& map, const std::string& path, CollectiveKind kind, Findings& findings) {
  const std::string none = "has no effect with collective " + std::string(name_of(kind));
  if (!has_root(kind) && map["root"].node) findings.warn(joined_path(path, "root"), none);
  if (!reduces(kind) && map["reduction"].node) findings.warn(joined_path(path, "reduction"), none);
  if (kind == CollectiveKind::barrier && map["datatype"].node)
    findings.warn(joined_path(path, "datatype"), none);
}

}  // namespace collsim::config
