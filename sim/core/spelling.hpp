// nearest(): the right spelling that a mistyped word most likely means.
//
// Distance    Levenshtein (insert, delete, replace), all of cost 1. Ties go to the earlier candidate.
// Complexity  O(candidates * length^2); a word of more than 64 bytes has no near one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collsim {

// The candidate nearest to `word` by edit distance, if it is at most max(1, length / 3) away; else "".
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace collsim
