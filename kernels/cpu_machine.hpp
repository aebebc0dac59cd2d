// What this machine has: processors, caches, free memory. From Linux; elsewhere the fallbacks that are named
// below. Internal to kernels.
#pragma once

#include <cstdint>
#include <string>

namespace collsim::kernels {

// Processors that this process may run on (its affinity), at least 1.
int usable_processors();
// "AMD EPYC", or empty where /proc/cpuinfo names none.
std::string processor_name();
// Of the last level: what sysconf says, else what sysfs says of processor 0, else 64 MiB.
std::int64_t last_cache_bytes();
// What this process can still allocate and touch: MemAvailable of /proc/meminfo, or what is left of the
// process's limits (RLIMIT_AS, RLIMIT_DATA) or of its memory control group (version 2) where that is less.
// Without any of them 2^62.
std::int64_t free_memory_bytes();

}  // namespace collsim::kernels
