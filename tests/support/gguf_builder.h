// Writes GGUF files in memory, right ones and wrong ones.
//
// Keys and tensors appear in the order of the calls; counts can be overridden to lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

class GgufBuilder {
 public:
  uint32_t version = 3;
  std::string magic = "GGUF";
  std::optional<uint64_t> tensor_count;  // instead of the true one
  std::optional<uint64_t> key_count;
  uint64_t alignment = 32;  // of the data; a key is written only by Integer()

  // Type numbers of the GGUF specification.
  enum : uint32_t {
    kU8 = 0,
    kU32 = 4,
    kI32 = 5,
    kF32 = 6,
    kBool = 7,
    kString = 8,
    kArray = 9,
    kU64 = 10,
    kI64 = 11,
    kF64 = 12
  };

  GgufBuilder& U32(std::string_view key, uint32_t value) { return Scalar(key, kU32, value); }
  GgufBuilder& U64(std::string_view key, uint64_t value) { return Scalar(key, kU64, value); }
  GgufBuilder& I32(std::string_view key, int32_t value) { return Scalar(key, kI32, value); }
  GgufBuilder& F32(std::string_view key, float value) { return Scalar(key, kF32, value); }
  GgufBuilder& F64(std::string_view key, double value) { return Scalar(key, kF64, value); }
  GgufBuilder& Bool(std::string_view key, uint8_t value) { return Scalar(key, kBool, value); }
  GgufBuilder& String(std::string_view key, std::string_view value) {
    Key(key, kString);
    Text(pairs_, value);
    return *this;
  }
  GgufBuilder& Strings(std::string_view key, const std::vector<std::string>& values) {
    ArrayHead(key, kString, values.size());
    for (const std::string& value : values) Text(pairs_, value);
    return *this;
  }
  template <class T>
  GgufBuilder& Array(std::string_view key, uint32_t type, const std::vector<T>& values) {
    ArrayHead(key, type, values.size());
    for (const T value : values) Number(pairs_, value);
    return *this;
  }
  // A key with the bytes of its value as given.
  GgufBuilder& Raw(std::string_view key, uint32_t type, std::string_view bytes) {
    Key(key, type);
    pairs_ += bytes;
    return *this;
  }

  // A tensor of zero bytes; `offset` lies about where it is.
  GgufBuilder& Tensor(std::string_view name, std::vector<uint64_t> shape, uint32_t ggml_type,
                      uint64_t byte_count, std::optional<uint64_t> offset = {}) {
    Text(table_, name);
    Number(table_, static_cast<uint32_t>(shape.size()));
    for (const uint64_t dim : shape) Number(table_, dim);
    Number(table_, ggml_type);
    Number(table_, offset.value_or(data_.size()));
    data_.resize((data_.size() + byte_count + alignment - 1) / alignment * alignment);
    ++tensors_;
    return *this;
  }
  GgufBuilder& F32Tensor(std::string_view name, std::vector<uint64_t> shape) {
    uint64_t bytes = 4;
    for (const uint64_t dim : shape) bytes *= dim;
    return Tensor(name, std::move(shape), 0, bytes);
  }
  std::string& data() { return data_; }  // after the last tensor was added

  [[nodiscard]] std::string Header() const {
    std::string out = magic;
    Number(out, version);
    Number(out, tensor_count.value_or(tensors_));
    Number(out, key_count.value_or(keys_));
    return out + pairs_ + table_;
  }
  [[nodiscard]] std::vector<std::byte> Bytes() const {
    std::string out = Header();
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    out += data_;
    std::vector<std::byte> bytes(out.size());
    std::memcpy(bytes.data(), out.data(), out.size());
    return bytes;
  }

  template <class T>
  static void Number(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  static void Text(std::string& out, std::string_view text) {
    Number(out, uint64_t{text.size()});
    out += text;
  }

 private:
  void Key(std::string_view key, uint32_t type) {
    Text(pairs_, key);
    Number(pairs_, type);
    ++keys_;
  }
  void ArrayHead(std::string_view key, uint32_t type, uint64_t count) {
    Key(key, kArray);
    Number(pairs_, type);
    Number(pairs_, count);
  }
  template <class T>
  GgufBuilder& Scalar(std::string_view key, uint32_t type, T value) {
    Key(key, type);
    Number(pairs_, value);
    return *this;
  }

  std::string pairs_;
  std::string table_;
  std::string data_;
  uint64_t keys_ = 0;
  uint64_t tensors_ = 0;
};

}  // namespace weir::test
