#include "kernels/cpu_machine.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <thread>

namespace collsim::kernels {
namespace {

// The number after `key` in a file of lines "key value".
std::optional<std::int64_t> number_after(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const std::size_t digit = line.find_first_of("0123456789", key.size());
    if (digit == std::string::npos) return {};
    return std::stoll(line.substr(digit));
  }
  return {};
}

// A file that is one number, in bytes or with a K or M after it.
std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (!(file >> number)) return {};
  char unit = ' ';
  file >> unit;
  return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
}

// What is left of a limit of this process, whose use is the given number of /proc/self/statm, in pages.
std::int64_t left_of(int resource, int statm_field, std::int64_t free) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return free;
  if (limit.rlim_cur == RLIM_INFINITY) return free;
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  for (int field = 0; field <= statm_field; ++field) file >> pages;
  if (!file) return free;
  const std::int64_t used = pages * sysconf(_SC_PAGESIZE);
  const auto most = static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, rlim_t{1} << 62));
  return std::clamp<std::int64_t>(most - used, 0, free);
}

// Of a control group what files keep in memory counts as used, but can be had.
std::int64_t left_of_group(std::int64_t free) {
  const auto most = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!most || !used) return free;
  const auto files = number_after("/sys/fs/cgroup/memory.stat", "inactive_file ").value_or(0);
  return std::clamp<std::int64_t>(*most - *used + files, 0, free);
}

}  // namespace

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 10, "model name") != 0) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

std::int64_t last_cache_bytes() {
  for (const int level : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const std::int64_t bytes = sysconf(level); bytes > 0) return bytes;
  std::int64_t bytes = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string path = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size";
    bytes = std::max(bytes, number_in(path).value_or(0));
  }
  return bytes > 0 ? bytes : std::int64_t{64} << 20;
}

std::int64_t free_memory_bytes() {
  std::int64_t free = std::int64_t{1} << 62;
  if (const auto kib = number_after("/proc/meminfo", "MemAvailable:")) free = *kib * 1024;
  free = left_of(RLIMIT_AS, 0, free);
  free = left_of(RLIMIT_DATA, 5, free);
  return left_of_group(free);
}

}  // namespace collsim::kernels
