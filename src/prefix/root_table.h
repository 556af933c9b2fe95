// Namespaces and the nodes where their prompts begin.
//
// Ownership: plain values. Threads: the engine thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "prefix/node_id.h"

namespace weir {

class RootTable {
 public:
  [[nodiscard]] NodeId Find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found != by_name_.end() ? found->second : NodeId();
  }
  void Add(std::string_view name, NodeId root) {
    const auto place = by_name_.emplace(name, root).first;
    names_.emplace(root, &place->first);
  }
  void Remove(NodeId root) {
    const auto name = names_.find(root);
    by_name_.erase(std::string(*name->second));
    names_.erase(name);
  }
  void Clear() {
    by_name_.clear();
    names_.clear();
  }
  [[nodiscard]] size_t count() const { return by_name_.size(); }

 private:
  std::unordered_map<std::string, NodeId> by_name_;
  std::unordered_map<NodeId, const std::string*> names_;  // into by_name_, whose keys stay
};

}  // namespace weir
