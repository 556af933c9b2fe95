#include "text_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace weir {

Result<std::string> ReadTextFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: is a folder", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(ErrorCode::kNotFound, fmt::format("{}: cannot read it", path));
  if (file.peek() == std::ifstream::traits_type::eof()) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: is empty", path));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace weir
