// Text <-> quantities: "8 MiB", "400 Gbit/s", "1.25 us".
//
// Grammar     digits [ "." digits ] [ spaces ] unit. No sign, no exponent, no digit groups, no locale.
// Units       sizes B, kB MB GB TB (powers of 1000), KiB MiB GiB TiB (powers of 1024); bandwidths any size
//             unit + "/s", and bit/s kbit/s Mbit/s Gbit/s Tbit/s (powers of 1000); times ps ns us ms s.
// Exactness   Decimal arithmetic in integers: a value that is no whole number of bytes, bytes per second or
//             picoseconds is an error, never rounded.
// Errors      A QuantityError value; nothing is thrown.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim {

struct QuantityError {
  std::string message;   // "'500' has no unit"
  std::string expected;  // "such as '500 ns'"
  std::string hint;      // the nearest right spelling, or empty
};

std::variant<Bytes, QuantityError> bytes_from_text(std::string_view text);
std::variant<Bandwidth, QuantityError> bandwidth_from_text(std::string_view text);
std::variant<Duration, QuantityError> duration_from_text(std::string_view text);

// The units of each kind, smallest first, as they may be written.
const std::vector<std::string>& size_units();
const std::vector<std::string>& bandwidth_units();
const std::vector<std::string>& time_units();

// Exact, with the largest unit that divides: "8 MiB", "1025 KiB", "1 MB", "1001 B". bytes_from_text reads it
// back to the same value if it is not negative.
std::string text_from(Bytes size);
// For people, rounded to two decimals: "160.80 us", "0 ns", "500 ps".
std::string text_from(Duration time);
// For people, rounded to two decimals, without trailing zeros: "450 GB/s", "12.5 GB/s".
std::string text_from(Bandwidth rate);

// `text` in quotes for a message: cut after 60 bytes, control characters shown as '?'.
std::string quoted(std::string_view text);

}  // namespace collsim
