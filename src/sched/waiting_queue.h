// Waiting requests in the order in which they should begin.
//
// They sit in length buckets. Turns go round the buckets by weight (a smooth weighted round: short
// buckets oftener, none left out), and inside a bucket to the least remaining work. A request that
// was passed by kMostPassing which arrived after it is overdue: overdue ones go first in order of
// arrival, and nothing begins while the first of them finds no room. (One that waits for something
// that goes on meanwhile, kPass, holds up nobody.)
//
// Ownership: plain values. Threads: the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "sched/length_buckets.h"

namespace weir {

enum class QueuePolicy : uint8_t { kBuckets, kFifo };

struct WaitingRequest {
  RequestId id;
  uint64_t arrival = 0;  // rises with each request
  uint32_t length = 0;   // tokens by which it is put in a bucket
  uint64_t work = 0;     // tokens still to be computed, the answer's included
  // Requests that arrived later and began earlier. Who comes back keeps it.
  uint32_t passed_by = 0;
};

class WaitingQueue {
 public:
  static constexpr uint32_t kMostPassing = 32;
  // Requests of one bucket that may be without room at one pick: an offer costs something.
  static constexpr uint32_t kMostTries = 8;

  WaitingQueue(LengthBuckets buckets, QueuePolicy policy);

  void Add(const WaitingRequest& request);
  bool Remove(RequestId id);  // false: it is not here

  enum class Verdict : uint8_t {
    kTake,    // it begins
    kNoRoom,  // others may try, unless this one is overdue or the policy is kFifo
    kPass,    // it waits for something that goes on meanwhile: the next may try
  };
  // Offers requests in order until one is taken, which is removed; none if all were turned down.
  std::optional<WaitingRequest> Pick(const std::function<Verdict(const WaitingRequest&)>& offer);

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(waiting_.size()); }
  [[nodiscard]] uint32_t CountIn(uint32_t bucket) const { return counts_[bucket]; }
  [[nodiscard]] const LengthBuckets& buckets() const { return buckets_; }

 private:
  struct Entry {
    WaitingRequest request;
    uint32_t bucket = 0;
    [[nodiscard]] bool is_overdue() const { return request.passed_by >= kMostPassing; }
  };

  void SortByPolicy();
  WaitingRequest Take(size_t index);
  void TurnRound(uint32_t taken_bucket);

  LengthBuckets buckets_;
  QueuePolicy policy_;
  std::vector<Entry> waiting_;
  std::vector<uint32_t> counts_;  // by bucket
  std::vector<int64_t> turns_;    // by bucket: of the smooth weighted round
};

}  // namespace weir
