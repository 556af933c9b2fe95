// The values of a GGUF file's metadata, as checked views of its bytes.
//
// GgufCursor walks the bytes and never past their end; GgufValue is one key's value, checked as a
// whole when it was read, so that later access needs no checks.
//
// Ownership: views into the file. Threads: a cursor belongs to one; values are immutable.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/gguf.h"

namespace weir {

// Bytes of one value of a type; 0 for strings and arrays.
[[nodiscard]] uint32_t FixedBytes(GgufValueType type);
[[nodiscard]] std::string_view NameOf(GgufValueType type);

// A name from the file, fit for a one-line message: at most `max_bytes`, quoted, everything but
// printable ASCII and UTF-8 lead and continuation bytes escaped.
[[nodiscard]] std::string Quoted(std::string_view text, size_t max_bytes = 80);

class GgufCursor {
 public:
  explicit GgufCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] uint64_t offset() const { return offset_; }
  [[nodiscard]] uint64_t remaining() const { return bytes_.size() - offset_; }

  // kCorrupt, naming `what` and the offset, where the bytes end too early.
  template <class T>
  Result<T> Read(std::string_view what) {
    if (remaining() < sizeof(T)) return EndsEarly(what, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }
  Result<std::string_view> ReadString(std::string_view what);
  Result<std::span<const std::byte>> Skip(uint64_t byte_count, std::string_view what);

 private:
  [[nodiscard]] tl::unexpected<Error> EndsEarly(std::string_view what, uint64_t wanted) const;

  std::span<const std::byte> bytes_;
  uint64_t offset_ = 0;
};

struct GgufValue {
  GgufValueType type = GgufValueType::kUint8;          // of the value, kArray for arrays
  GgufValueType element_type = GgufValueType::kUint8;  // the same as `type` unless an array
  uint64_t count = 1;                                  // elements of an array
  std::span<const std::byte> bytes;                    // the elements, as in the file

  // Reads and checks one value of `type`, with everything inside it.
  static Result<GgufValue> Read(GgufCursor& cursor, GgufValueType type, std::string_view key);

  [[nodiscard]] bool IsInteger() const;  // integer elements of any width
  [[nodiscard]] bool IsFloat() const;

  // Element `index` of fixed-size elements. Requires the right kind and index < count.
  [[nodiscard]] int64_t IntegerAt(
      uint64_t index) const;  // uint64 beyond int64 wraps: see FitsInt64
  [[nodiscard]] double FloatAt(uint64_t index) const;
  [[nodiscard]] bool FitsInt64() const;

  // Calls take(view) for the first `max_count` strings. Requires element_type kString.
  template <class Take>
  void ForEachString(uint64_t max_count, Take take) const {
    GgufCursor cursor(bytes);
    for (uint64_t i = 0; i < std::min(count, max_count); ++i) take(*cursor.ReadString("string"));
  }

  // One printable line.
  [[nodiscard]] std::string Text(uint32_t max_elements) const;
};

}  // namespace weir
