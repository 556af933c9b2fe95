#include "kv/sequence_view.h"

#include <utility>

#include "base/check.h"
#include "kv/sequence_state.h"

namespace weir {

KvChunk::KvChunk(KvChunk&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

KvChunk& KvChunk::operator=(KvChunk&& other) noexcept {
  KvChunk taken(std::move(other));
  std::swap(state_, taken.state_);
  return *this;
}

KvChunk::~KvChunk() {
  if (state_ != nullptr) state_->Abandon();
}

uint32_t KvChunk::begin() const { return state_->token_count(); }
uint32_t KvChunk::end() const { return state_->chunk_end(); }

RowPlanes KvChunk::RowsOf(KvLayer layer, uint32_t tile) const {
  return state_->RowsOf(layer, tile);
}

TileTable KvChunk::Tiles(KvLayer layer) { return state_->Tiles(layer); }

void KvChunk::EndLayer(KvLayer layer) { state_->EndLayer(layer); }

SequenceView::SequenceView(KvCache& cache) : state_(std::make_unique<SequenceState>(cache)) {}
SequenceView::SequenceView(SequenceView&&) noexcept = default;
SequenceView& SequenceView::operator=(SequenceView&&) noexcept = default;
SequenceView::~SequenceView() = default;

uint32_t SequenceView::token_count() const { return state_->token_count(); }
uint32_t SequenceView::full_tile_count() const { return state_->full_tile_count(); }
uint32_t SequenceView::window_tile_count() const { return state_->window_tile_count(); }

uint32_t SequenceView::owed_tile_count() const { return state_->owed_tile_count(); }

TileId SequenceView::FullTile(uint32_t index) const { return state_->FullTile(index); }

TileNeed SequenceView::AdoptNeed(const PrefixTiles& prefix,
                                 const std::optional<ReplaySpan>& replay) {
  return SequenceState::AdoptNeed(prefix, replay);
}

Result<void> SequenceView::Adopt(PrefixTiles&& prefix, const std::optional<ReplaySpan>& replay) {
  return state_->Adopt(std::move(prefix), replay);
}

TileNeed SequenceView::NeedFor(uint32_t tokens, const RetainPlan& retain) {
  return state_->NeedFor(tokens, retain);
}

Result<KvChunk> SequenceView::BeginChunk(uint32_t tokens, const RetainPlan& retain) {
  WEIR_TRY(state_->Begin(tokens, retain));
  return KvChunk(state_.get());
}

void SequenceView::Commit(KvChunk&& chunk) {
  WEIR_CHECK(chunk.state_ == state_.get());
  std::exchange(chunk.state_, nullptr)->Commit();
}

NodeTiles SequenceView::TilesAt(uint32_t tile) const { return state_->TilesAt(tile); }

std::vector<NodeTiles> SequenceView::LeavingTiles() const { return state_->LeavingTiles(); }

void SequenceView::ReleaseKept() { state_->ReleaseKept(); }

bool SequenceView::HasRecentTile(uint32_t tile) const { return state_->HasRecentTile(tile); }

void SequenceView::Repoint(uint32_t tile, const NodeTiles& tiles) { state_->Repoint(tile, tiles); }

}  // namespace weir
