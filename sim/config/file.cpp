#include "sim/config/file.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "sim/core/quantity_text.hpp"

namespace collsim {
namespace {

constexpr std::size_t piece = std::size_t{64} << 10;

Diagnostic failure(const std::string& path, const std::string& message, const std::string& expected = "") {
  Diagnostic diagnostic;
  diagnostic.place.file = path.empty() ? "''" : path;
  diagnostic.message = message;
  diagnostic.expected = expected;
  return diagnostic;
}

}  // namespace

std::variant<std::string, Diagnostic> read_file(const std::string& path, std::int64_t bytes_max) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return failure(path, "no such file");
  if (std::filesystem::is_directory(status)) return failure(path, "is a directory", "a file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return failure(path, "cannot be read");
  std::string text;
  std::string buffer(piece, '\0');
  while (stream) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    text.append(buffer, 0, static_cast<std::size_t>(stream.gcount()));
    if (static_cast<std::int64_t>(text.size()) > bytes_max)
      return failure(path, "the file is too large", "at most " + text_from(Bytes(bytes_max)));
  }
  if (stream.bad()) return failure(path, "cannot be read");
  return text;
}

}  // namespace collsim
