#include "weir/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "library/state.h"

namespace weir::kv {
namespace {

Error Invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

size_t IndexOf(Group group) { return group == Group::kFull ? 0 : 1; }

}  // namespace

const LayerGroup& SequenceState::GroupOf(Layer layer) const {
  const Layout& layout = prefix->pools->layout;
  return layer.group == Group::kFull ? *layout.full : *layout.window;
}

void SequenceState::CheckLayer(Layer layer) const {
  const std::vector<uint8_t>& ended = is_ended[IndexOf(layer.group)];
  WEIR_CHECK(chunk && layer.index < ended.size() && ended[layer.index] == 0);
}

void SequenceState::DropChunk() {
  const auto& ended = is_ended[IndexOf(Group::kWindow)];
  if (std::ranges::count(ended, 1) > 0) has_lost_rows = true;
  chunk.reset();
}

Chunk::Chunk(Chunk&& other) noexcept = default;

Chunk& Chunk::operator=(Chunk&& other) noexcept {
  Chunk taken(std::move(other));  // dies with what *this held
  std::swap(state_, taken.state_);
  return *this;
}

Chunk::~Chunk() {
  if (state_ != nullptr) state_->DropChunk();
}

uint32_t Chunk::begin() const { return state_->chunk->begin(); }
uint32_t Chunk::end() const { return state_->chunk->end(); }

RowSpace Chunk::Rows(Layer layer, uint32_t tile) {
  state_->CheckLayer(layer);
  WEIR_CHECK(begin() / kTileTokens <= tile && tile <= (end() - 1) / kTileTokens);
  const RowPlanes rows = state_->chunk->RowsOf(ToInternal(layer), tile);
  if (rows.keys == nullptr) return {.begin = rows.begin, .end = rows.end};
  const LayerGroup& group = state_->GroupOf(layer);
  return {.keys = {rows.keys, group.key_plane_bytes()},
          .values = {rows.values, group.value_plane_bytes()},
          .begin = rows.begin,
          .end = rows.end};
}

TileTable Chunk::Tiles(Layer layer) {
  state_->CheckLayer(layer);
  const weir::TileTable table = state_->chunk->Tiles(ToInternal(layer));
  const LayerGroup& group = state_->GroupOf(layer);
  state_->planes.clear();
  for (const weir::TilePlanes& planes : table.tiles) {
    state_->planes.push_back(
        {{planes.keys, group.key_plane_bytes()}, {planes.values, group.value_plane_bytes()}});
  }
  return {.first_tile = table.first_tile,
          .first_position = table.first_position,
          .planes = state_->planes};
}

void Chunk::EndLayer(Layer layer) {
  state_->CheckLayer(layer);
  state_->chunk->EndLayer(ToInternal(layer));
  state_->is_ended[IndexOf(layer.group)][layer.index] = 1;
}

Expected<Sequence> Sequence::Begin(PrefixCache& cache, const SequenceOptions& options) {
  const auto& [name_space, prompt, message_starts] = options;
  if (prompt.empty()) return Invalid("an empty prompt: a sequence begins with a token");
  if (prompt.size() > std::numeric_limits<uint32_t>::max()) {
    return Invalid(fmt::format("a prompt of {} tokens: positions are 32 bits", prompt.size()));
  }
  if (!std::ranges::is_sorted(message_starts) ||
      (!message_starts.empty() && message_starts.back() > prompt.size())) {
    return Invalid("message starts: not in ascending order inside the prompt");
  }
  auto state = std::make_shared<SequenceState>(cache.state_, name_space);
  const weir::SequenceStart start =
      state->sequence.Start(ToTokenIds(prompt, cache.state_->tokens), message_starts);
  state->sources = {.reused = start.replay_begin,
                    .replayed = start.position - start.replay_begin,
                    .computed = static_cast<uint32_t>(prompt.size()) - start.position};
  state->known_tokens = prompt.size();
  return Sequence(std::move(state));
}

const Sources& Sequence::sources() const { return state_->sources; }

uint32_t Sequence::token_count() const { return state_->sequence.token_count(); }

void Sequence::Append(Token token) {
  state_->sequence.Append(TokenId(token));
  ++state_->known_tokens;
}

Expected<Chunk> Sequence::BeginChunk(uint32_t count) {
  SequenceState& state = *state_;
  WEIR_CHECK(!state.chunk);
  const uint32_t most = state.prefix->pools->cache.max_chunk_tokens();
  if (count == 0 || count > most) {
    return Invalid(fmt::format("a chunk of {} tokens; 1 to {} are possible", count, most));
  }
  if (count > state.known_tokens - token_count()) {
    return Invalid(fmt::format("a chunk of {} tokens at position {}: {} tokens are known", count,
                               token_count(), state.known_tokens));
  }
  if (state.has_lost_rows) {
    return Invalid(
        fmt::format("position {}: a dropped chunk has overwritten window rows; begin "
                    "the sequence again",
                    token_count()));
  }
  Result<KvChunk> chunk = state.sequence.BeginChunk(count);
  if (!chunk) return ToError(chunk.error());
  state.chunk.emplace(*std::move(chunk));
  const Layout& layout = state.prefix->pools->layout;
  state.is_ended[0].assign(layout.full ? layout.full->layer_count : 0, 0);
  state.is_ended[1].assign(layout.window ? layout.window->layer_count : 0, 0);
  return Chunk(state_);
}

void Sequence::Commit(Chunk&& chunk) {
  WEIR_CHECK(chunk.state_ == state_);
  for (const auto& ended : state_->is_ended) WEIR_CHECK(std::ranges::count(ended, 0) == 0);
  state_->sequence.Commit(*std::move(state_->chunk));
  state_->chunk.reset();
  chunk.state_.reset();
}

void Sequence::Finish() {
  WEIR_CHECK(!state_->chunk);
  if (!state_->has_lost_rows) state_->sequence.Finish();
}

}  // namespace weir::kv
