// for_each_index(): a loop over independent work on several threads. What it computes does not depend on
// their number.
#pragma once

#include <cstddef>
#include <functional>

namespace collsim::program {

// Calls body(0) .. body(count - 1), each once, on `threads` threads (1 = on the caller's). The first
// exception, by index, is thrown again when all threads have ended.
void for_each_index(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& body);

}  // namespace collsim::program
