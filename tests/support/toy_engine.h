// An engine for tests of the library: it drives include/weir/ as any other would, with a toy model
// whose results are exact integers and depend on everything that a real model's depend on.
//
// State of a position: a number, at first its token. Each layer keeps a K row and a V row made of
// the state, then adds to the state a sum over the rows that the position sees, and mixes. So a
// wrong, missing or stale row anywhere reaches the results, and results of a cold run are known
// without any cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "weir/sequence.h"

namespace weir::test {

struct ToyModel {
  uint32_t window = 0;
  std::vector<kv::Layer> layers;  // from the bottom
  bool has_values = true;

  [[nodiscard]] kv::Layout Layout() const {
    kv::Layout layout;
    for (const kv::Layer layer : layers) {
      const bool is_full = layer.group == kv::Group::kFull;
      auto& group = is_full ? layout.full : layout.window;
      if (!group) {
        group = {.key_bytes = kRowBytes,
                 .value_bytes = has_values ? 2 * kRowBytes : 0,
                 .window = is_full ? 0 : window};
      }
      ++group->layer_count;
    }
    return layout;
  }

  static constexpr uint32_t kRowBytes = sizeof(uint64_t);
  [[nodiscard]] static uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15U;
    return x ^ (x >> 29);
  }
  [[nodiscard]] static uint64_t KeyOf(uint64_t state) { return Mix(state + 1); }
  [[nodiscard]] static uint64_t ValueOf(uint64_t state) { return Mix(state + 2); }
  // First position that position p sees.
  [[nodiscard]] uint32_t FirstSeen(kv::Layer layer, uint32_t p) const {
    return layer.group == kv::Group::kFull || p < window ? 0 : p - window + 1;
  }
};

// What a run without any cache gives, position by position.
inline std::vector<uint64_t> ColdRun(const ToyModel& model, std::span<const kv::Token> tokens) {
  std::vector<uint64_t> states(tokens.begin(), tokens.end());
  for (const kv::Layer layer : model.layers) {
    const std::vector<uint64_t> before = states;
    for (uint32_t p = 0; p < states.size(); ++p) {
      for (uint32_t j = model.FirstSeen(layer, p); j <= p; ++j) {
        states[p] += ToyModel::KeyOf(before[j]);
        if (model.has_values) states[p] += ToyModel::ValueOf(before[j]);
      }
      states[p] = ToyModel::Mix(states[p]);
    }
  }
  return states;
}

class ToyRun {
 public:
  ToyRun(const ToyModel& model, kv::Sequence sequence, std::vector<kv::Token> tokens)
      : model_(&model), sequence_(std::move(sequence)), tokens_(std::move(tokens)) {}

  [[nodiscard]] kv::Sequence& sequence() { return sequence_; }
  [[nodiscard]] const std::vector<kv::Token>& tokens() const { return tokens_; }
  [[nodiscard]] bool is_done() const { return sequence_.token_count() == tokens_.size(); }
  void Append(kv::Token token) {
    tokens_.push_back(token);
    sequence_.Append(token);
  }

  // Results of the next at most `count` positions; empty when there was no room for them.
  [[nodiscard]] kv::Expected<std::vector<uint64_t>> Step(uint32_t count) {
    const auto left = static_cast<uint32_t>(tokens_.size()) - sequence_.token_count();
    kv::Expected<kv::Chunk> chunk = sequence_.BeginChunk(std::min(count, left));
    if (!chunk) return chunk.error();
    std::vector<uint64_t> states = StatesOf(*chunk);
    for (const kv::Layer layer : model_->layers) ComputeLayer(*chunk, layer, states);
    sequence_.Commit(*std::move(chunk));
    return states;
  }

  // Computes `layers` layers of a chunk and drops it. False if there was no room.
  bool StepAndDrop(uint32_t count, size_t layers) {
    const auto left = static_cast<uint32_t>(tokens_.size()) - sequence_.token_count();
    kv::Expected<kv::Chunk> chunk = sequence_.BeginChunk(std::min(count, left));
    if (!chunk) return false;
    std::vector<uint64_t> states = StatesOf(*chunk);
    for (size_t i = 0; i < layers; ++i) ComputeLayer(*chunk, model_->layers[i], states);
    return true;
  }

 private:
  [[nodiscard]] std::vector<uint64_t> StatesOf(const kv::Chunk& chunk) const {
    return {tokens_.begin() + chunk.begin(), tokens_.begin() + chunk.end()};
  }

  static void WriteRow(std::span<std::byte> plane, uint32_t bytes, uint32_t p, uint64_t number) {
    for (uint32_t at = 0; at < bytes; at += ToyModel::kRowBytes) {
      std::memcpy(plane.data() + p % kv::kTileTokens * bytes + at, &number, sizeof(number));
    }
  }
  static uint64_t ReadRow(std::span<const std::byte> plane, uint32_t bytes, uint32_t p) {
    uint64_t number = 0;
    std::memcpy(&number, plane.data() + (p % kv::kTileTokens + 1) * bytes - sizeof(number),
                sizeof(number));
    return number;
  }

  void ComputeLayer(kv::Chunk& chunk, kv::Layer layer, std::vector<uint64_t>& states) const {
    const auto value_bytes = model_->has_values ? 2 * ToyModel::kRowBytes : 0;
    const uint32_t begin = chunk.begin();
    for (uint32_t t = begin / kv::kTileTokens; t <= (chunk.end() - 1) / kv::kTileTokens; ++t) {
      const kv::RowSpace rows = chunk.Rows(layer, t);
      for (uint32_t p = rows.begin; p < rows.end; ++p) {
        WriteRow(rows.keys, ToyModel::kRowBytes, p, ToyModel::KeyOf(states[p - begin]));
        WriteRow(rows.values, value_bytes, p, ToyModel::ValueOf(states[p - begin]));
      }
    }
    const kv::TileTable table = chunk.Tiles(layer);
    for (uint32_t p = begin; p < chunk.end(); ++p) {
      uint32_t j = std::max(model_->FirstSeen(layer, p), table.first_position);
      for (; j <= p; ++j) {
        const kv::TilePlanes& planes = table.planes[j / kv::kTileTokens - table.first_tile];
        states[p - begin] += ReadRow(planes.keys, ToyModel::kRowBytes, j);
        if (value_bytes > 0) states[p - begin] += ReadRow(planes.values, value_bytes, j);
      }
      states[p - begin] = ToyModel::Mix(states[p - begin]);
    }
    chunk.EndLayer(layer);
  }

  const ToyModel* model_;
  kv::Sequence sequence_;
  std::vector<kv::Token> tokens_;
};

}  // namespace weir::test
