// Ids in order from cold to warm: one list whose links lie in an array, by id.
//
// Ownership: plain values. Threads: one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

// Id value 0 is none, and the place where the list's two ends meet.
template <class IdType>
class HeatList {
 public:
  [[nodiscard]] IdType coldest() const { return links_[0].warmer; }
  // None at the ends; Warmer(none) is the coldest.
  [[nodiscard]] IdType Warmer(IdType id) const { return links_[id.value()].warmer; }
  [[nodiscard]] IdType Colder(IdType id) const { return links_[id.value()].colder; }
  [[nodiscard]] size_t count() const { return count_; }

  // Requires `id` not to be in the list.
  void AddWarmest(IdType id) { AddColderThan(id, IdType()); }
  void AddColdest(IdType id) { AddColderThan(id, coldest()); }
  void AddColderThan(IdType id, IdType warmer) {  // directly
    if (id.value() >= links_.size()) links_.resize(size_t{id.value()} + 1);
    const IdType colder = links_[warmer.value()].colder;
    links_[id.value()] = {colder, warmer};
    links_[colder.value()].warmer = id;
    links_[warmer.value()].colder = id;
    ++count_;
  }

  // These require it to be there.
  void Remove(IdType id) {
    const Links links = links_[id.value()];
    links_[links.colder.value()].warmer = links.warmer;
    links_[links.warmer.value()].colder = links.colder;
    --count_;
  }
  void MakeWarmest(IdType id) {
    Remove(id);
    AddWarmest(id);
  }

  void Clear() {
    links_[0] = {};
    count_ = 0;
  }

 private:
  struct Links {
    IdType colder;
    IdType warmer;
  };
  std::vector<Links> links_ = std::vector<Links>(1);
  size_t count_ = 0;
};

}  // namespace weir
