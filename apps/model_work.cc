#include "model_work.h"

#include <algorithm>

#include "quant/block_format.h"

namespace weir {
namespace {

uint64_t ElementsOf(const GgufTensor& tensor) {
  uint64_t elements = 1;
  for (const uint64_t extent : tensor.shape) elements *= extent;
  return elements;
}

uint64_t Int8OpsOf(const GgufTensor& tensor) {
  return IsQuantized(tensor.type) ? 2 * ElementsOf(tensor) : 0;
}

double KeyBytes(const std::optional<KvGroup>& group) {
  return group ? static_cast<double>(group->tile_bytes()) / kTileTokens : 0;
}

double KeyOps(const std::optional<KvGroup>& group, uint32_t q_heads) {
  return group ? 2.0 * group->layer_count * q_heads * (group->k_dim + group->v_dim) : 0;
}

// Keys that the query at `position` sees.
double KeyCount(const std::optional<KvGroup>& group, uint64_t position) {
  if (!group) return 0;
  const uint64_t keys = position + 1;
  return static_cast<double>(group->window == 0 ? keys : std::min<uint64_t>(keys, group->window));
}

}  // namespace

ModelWork WorkOf(const GgufFile& file, const ModelConfig& config) {
  ModelWork work;
  work.layout = config.Layout(KvFormat::kF16);
  if (config.full) work.full_q_heads = config.full->q_heads;
  if (config.window) work.window_q_heads = config.window->q_heads;
  if (config.experts) work.expert_share = double{1} * config.experts->used / config.experts->count;
  const GgufTensor* head = file.FindTensor("output.weight");
  if (head == nullptr) head = file.FindTensor("token_embd.weight");  // tied
  for (const GgufTensor& tensor : file.tensors()) {
    const bool is_expert = tensor.name.find("_exps.") != std::string::npos;
    if (&tensor == head) {
      work.head_int8_ops = Int8OpsOf(tensor);
    } else if (tensor.name == "token_embd.weight") {
      continue;  // one row of it a token
    } else if (is_expert) {
      work.expert_bytes += tensor.bytes.size();
      work.layer_int8_ops +=
          static_cast<uint64_t>(static_cast<double>(Int8OpsOf(tensor)) * work.expert_share);
      continue;
    } else {
      work.layer_int8_ops += Int8OpsOf(tensor);
    }
    work.dense_bytes += tensor.bytes.size();
  }
  return work;
}

double ModelWork::WeightBytes(uint32_t rows) const {
  const double share = std::min(1.0, rows * expert_share);
  return static_cast<double>(dense_bytes) + share * static_cast<double>(expert_bytes);
}

double ModelWork::KvBytes(uint64_t position) const {
  return KeyBytes(layout.full) * KeyCount(layout.full, position) +
         KeyBytes(layout.window) * KeyCount(layout.window, position);
}

double ModelWork::AttentionOps(uint64_t position) const {
  return KeyOps(layout.full, full_q_heads) * KeyCount(layout.full, position) +
         KeyOps(layout.window, window_q_heads) * KeyCount(layout.window, position);
}

}  // namespace weir
