// Zeroed arrays on 64-byte boundaries (one AVX-512 vector, one cache line); large ones ask for huge
// pages.
//
// Memory is touched only when written: an untouched slab costs address space, not RAM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace weir {

// The constructor stops the program when the system gives no more address space; whoever takes a
// count from outside compares it with the machine's memory before.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t bytes);
  ~AlignedBytes();
  AlignedBytes(AlignedBytes&& other) noexcept { *this = std::move(other); }
  AlignedBytes& operator=(AlignedBytes&& other) noexcept;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

template <class T>
class AlignedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedArray() = default;
  explicit AlignedArray(size_t count) : bytes_(count * sizeof(T)), count_(count) {}

  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(bytes_.data()); }
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] std::span<T> span() const { return {data(), count_}; }
  T& operator[](size_t i) const { return data()[i]; }

  // Keeps nothing of the old contents; grows only.
  void EnsureCount(size_t count) {
    if (count > count_) *this = AlignedArray(count);
  }

 private:
  AlignedBytes bytes_;
  size_t count_ = 0;
};

}  // namespace weir
