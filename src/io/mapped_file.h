// A whole file as read-only memory.
//
// Pages are read by the system when first touched. A file that shrinks while it is mapped raises
// SIGBUS on access: model files must not be changed in place.
//
// Ownership: the mapping ends with the object; bytes() must not outlive it. Threads: immutable.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace weir {

class MappedFile {
 public:
  // kNotFound: no such file; kIo: the system refused; kInvalidArgument: not a regular file, or
  // empty. The message holds the path and the system's words.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  // Tells the system that the pages are no longer needed; reading them again is still right.
  void DropPages() const;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace weir
