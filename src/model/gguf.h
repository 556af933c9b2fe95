// Reads GGUF files (versions 2 and 3, little-endian, one part) through a bounds-checked memory map.
//
// Every count, offset and length in the file is checked before use: a truncated, foreign or damaged
// file gives an Error that names the place, the tensor or the key; it never crashes or allocates
// more than a small multiple of the file.
//
// Ownership: GgufFile owns the mapping; spans and views into it die with it. Threads: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "quant/weight_type.h"

namespace weir {

enum class GgufValueType : uint32_t {
  kUint8 = 0,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
};

struct GgufTensor {
  std::string name;
  WeightType type = WeightType::kF32;
  std::vector<uint64_t> shape;  // as in the file: shape[0] is the contiguous dimension (columns)
  std::span<const std::byte> bytes;  // of exactly the size that type and shape say
};

class GgufFile {
 public:
  static Result<GgufFile> Open(const std::string& path);
  // The same over bytes in memory (tests, fuzzing); `bytes` must stay and be 8-byte aligned.
  static Result<GgufFile> FromBytes(std::span<const std::byte> bytes, std::string name);

  // Metadata only: tensors() is empty and whatever follows the metadata is not looked at, so files
  // with foreign tensor types, further parts or missing tensors are fine (`weir plan`).
  static Result<GgufFile> OpenMetadata(const std::string& path);
  static Result<GgufFile> MetadataFromBytes(std::span<const std::byte> bytes, std::string name);

  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;
  ~GgufFile();

  // Metadata. nullopt / an empty vector when absent; an Error when present with another type.
  // Integers accept every integer type that holds the value; floats accept f32 and f64.
  [[nodiscard]] bool Has(std::string_view key) const;
  // Elements of an array; nullopt when absent or not an array.
  [[nodiscard]] std::optional<uint64_t> ArrayCount(std::string_view key) const;
  [[nodiscard]] Result<std::optional<uint64_t>> Unsigned(std::string_view key) const;
  [[nodiscard]] Result<std::optional<double>> Float(std::string_view key) const;
  [[nodiscard]] Result<std::optional<bool>> Bool(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::string_view>> String(std::string_view key) const;
  [[nodiscard]] Result<std::vector<std::string_view>> Strings(std::string_view key) const;
  [[nodiscard]] Result<std::vector<double>> Floats(std::string_view key) const;
  [[nodiscard]] Result<std::vector<int64_t>> Integers(std::string_view key) const;  // also bools

  // All keys in file order, with a short printable form of each value (for `weir inspect`): one
  // line, at most `max_elements` elements of an array and 80 bytes of a string.
  struct KeyText {
    std::string_view key;
    GgufValueType type;
    std::string text;
  };
  [[nodiscard]] std::vector<KeyText> Describe(uint32_t max_elements) const;

  [[nodiscard]] const std::vector<GgufTensor>& tensors() const;
  [[nodiscard]] const GgufTensor* FindTensor(std::string_view name) const;
  // Everything before the tensors' data, as it stands in the file: metadata and tensor table.
  [[nodiscard]] std::span<const std::byte> header() const;
  [[nodiscard]] uint32_t version() const;
  [[nodiscard]] uint64_t file_bytes() const;
  [[nodiscard]] const std::string& path() const;

  // Tells the system that the tensors' pages are no longer needed in memory (after packing).
  void DropPages() const;

 private:
  struct State;
  explicit GgufFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir
