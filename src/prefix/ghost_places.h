// Where resume points were that were evicted, found by the tile in which they lay.
//
// A request learns so that it would have resumed there, also when nothing is left of that prefix.
// Set-associative: the newest few places of each set stay, so that nothing grows; where many
// prompts part in one tile most are forgotten.
//
// Ownership: plain values. Threads: one caller. O(1). Memory: 100 to 200 bytes a resume point, and
// 200 KB.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

class GhostPlaces {
 public:
  struct Place {
    uint64_t tile = 0;   // names all whole tiles before it
    uint64_t key = 0;    // of the resume point
    uint32_t count = 0;  // tokens behind these; 0: none
  };

  // `point_count`: about how many resume points there can be.
  explicit GhostPlaces(size_t point_count) : sets_(std::bit_ceil(kFewSets + point_count / 2)) {}

  void Add(const Place& place) {
    Set& set = sets_[IndexOf(place.tile)];
    for (const Place& other : set.places) {
      if (other.key == place.key && other.tile == place.tile) return;
    }
    set.places[set.next] = place;
    set.next = (set.next + 1) % kWays;
  }
  // Those in this tile, and others.
  [[nodiscard]] std::span<const Place> Near(uint64_t tile) const {
    return sets_[IndexOf(tile)].places;
  }

 private:
  static constexpr size_t kFewSets = 1024;
  static constexpr uint32_t kWays = 8;
  struct Set {
    std::array<Place, kWays> places{};
    uint32_t next = 0;
  };
  [[nodiscard]] size_t IndexOf(uint64_t tile) const { return (tile >> 32) & (sets_.size() - 1); }
  std::vector<Set> sets_;
};

}  // namespace weir
