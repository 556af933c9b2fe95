// How many answers each key has running, against its limit.
//
// Threads: the I/O thread. Ownership: KeyUse outlives its leases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/api_keys.h"

namespace weir {

class KeyUse {
 public:
  explicit KeyUse(const ApiKeys& keys) : keys_(keys), running_(keys.count()) {}

  // How many more answers this key may have; UINT32_MAX without a limit.
  [[nodiscard]] uint32_t Free(size_t key) const {
    const uint32_t limit = keys_.rights(key).answers_max;
    return limit == 0 ? UINT32_MAX : limit - running_[key];
  }

 private:
  friend class KeyLease;
  const ApiKeys& keys_;
  std::vector<uint32_t> running_;  // by key
};

class KeyLease {
 public:
  // Requires count <= use.Free(key).
  KeyLease(KeyUse& use, size_t key, uint32_t count) : use_(use), key_(key), count_(count) {
    use_.running_[key_] += count_;
  }
  KeyLease(const KeyLease&) = delete;
  KeyLease& operator=(const KeyLease&) = delete;
  ~KeyLease() { use_.running_[key_] -= count_; }

 private:
  KeyUse& use_;
  const size_t key_;
  const uint32_t count_;
};

}  // namespace weir
