// One sequence: begins with what the prefix cache has of its prompt, is computed chunk by chunk and
// layer by layer, and lends its tiles to the prefix cache as it goes.
//
//   auto sequence = kv::Sequence::Begin(cache, {.name_space = "alice", .prompt = prompt});
//   while (there are tokens at sequence->token_count()) {
//     auto chunk = sequence->BeginChunk(count);     // evicts what it must, or fails
//     for each layer, from the bottom {
//       for each tile with positions of the chunk: write the rows that chunk->Rows(layer, tile)
//       asks for attend over chunk->Tiles(layer) chunk->EndLayer(layer)
//     }
//     sequence->Commit(*std::move(chunk));
//   }
//   sequence->Finish();                             // also when it was cancelled
//
// Threads: one thread makes these calls. While it waits for them, other threads may read the planes
// of a chunk and write its rows, also rows of one plane if the layout keeps their bytes apart.
// Spans stay good until EndLayer of that layer. Ownership: as Pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "weir/expected.h"
#include "weir/layout.h"
#include "weir/prefix_cache.h"

namespace weir::kv {

struct SequenceOptions {
  std::string_view name_space = {};
  std::span<const Token> prompt = {};
  // Places in the prompt, ascending, where later prompts are likely to part: starts of messages.
  // They become resume points if window memory allows.
  std::span<const uint32_t> message_starts = {};
};

// Where the prompt's tokens come from; sums to the prompt.
struct Sources {
  uint32_t reused = 0;    // need no work: computing begins behind them
  uint32_t replayed = 0;  // the next: computed for their window rows only; full rows are there
  uint32_t computed = 0;  // the rest
};

// Where rows of one tile of a layer go. Row of position p: number p % 128 of the planes.
struct RowSpace {
  std::span<std::byte> keys = {};  // the whole plane; empty with no row to write
  std::span<std::byte> values = {};
  uint32_t begin = 0;  // positions to write: [begin, end)
  uint32_t end = 0;
};

struct TilePlanes {
  std::span<const std::byte> keys = {};
  std::span<const std::byte> values = {};
};

// What queries of a chunk can see in one layer: planes[i] holds positions
// [128 (first_tile + i), +128). Rows behind the chunk's end, and before `first_position`, hold
// arbitrary bytes: queries mask them, and what lies outside their window.
struct TileTable {
  uint32_t first_tile = 0;
  uint32_t first_position = 0;
  std::span<const TilePlanes> planes = {};
};

struct SequenceState;  // private to the library

// Positions [begin, end) while they are computed. Dropped uncommitted, it gives back what it took
// and leaves the sequence as it was; if a window layer had been ended by then, older window rows
// may be lost and the sequence takes no further chunk.
class Chunk {
 public:
  Chunk(Chunk&& other) noexcept;
  Chunk& operator=(Chunk&& other) noexcept;
  ~Chunk();

  [[nodiscard]] uint32_t begin() const;
  [[nodiscard]] uint32_t end() const;

  // Requires a layer of the layout that is not ended, and a tile that holds a position of the
  // chunk.
  [[nodiscard]] RowSpace Rows(Layer layer, uint32_t tile);
  // Valid until the next call.
  [[nodiscard]] TileTable Tiles(Layer layer);
  // Once for each layer: its rows are written and no query reads it any more.
  void EndLayer(Layer layer);

 private:
  friend class Sequence;
  explicit Chunk(std::shared_ptr<SequenceState> state) : state_(std::move(state)) {}
  std::shared_ptr<SequenceState> state_;  // null when moved from
};

// Movable. Dropped unfinished, its last tokens (less than a tile) are forgotten, and in full pools
// perhaps those of the sequence that it went on from.
class Sequence {
 public:
  // Fails on an empty prompt, one beyond 32-bit positions, or message starts out of order.
  [[nodiscard]] static Expected<Sequence> Begin(PrefixCache& cache, const SequenceOptions& options);
  [[nodiscard]] const Sources& sources() const;
  [[nodiscard]] uint32_t token_count() const;  // n: the next chunk begins here

  void Append(Token token);  // after the prompt and what was appended before

  // Positions [n, n + count), whose tokens are known; 1 <= count <= max_chunk_tokens().
  // kResourceExhausted, naming pool and bytes, if other sequences leave too little; then nothing
  // has changed but what was evicted. Requires no open chunk.
  [[nodiscard]] Expected<Chunk> BeginChunk(uint32_t count);
  // Requires this sequence's chunk, with every layer ended.
  void Commit(Chunk&& chunk);
  // No more tokens: what there is becomes a resume point of the prefix cache. Requires no open
  // chunk.
  void Finish();

 private:
  explicit Sequence(std::shared_ptr<SequenceState> state) : state_(std::move(state)) {}
  std::shared_ptr<SequenceState> state_;
};

}  // namespace weir::kv
