// A sequence that begins with what the prefix trie has of its prompt, and lends the trie what it
// computes: tiles as they become whole, tails and resume points at the places where others are
// likely to go on.
//
//   CachedSequence sequence(trie, cache, rules, name_space);
//   sequence.Start(prompt, message_starts);
//   while (there are tokens at sequence.token_count()) {
//     KvChunk chunk = WEIR_TRY(sequence.BeginChunk(tokens));  // evicts what it must
//     ... compute ...
//     sequence.Commit(std::move(chunk));
//   }
//   sequence.Finish();  // also when the request was cancelled
//
// Ownership: holds a SequenceView and a pin; trie and cache outlive it. Dropping it unfinished
// forgets the tail, and the one that it went on from if it writes on in that. Threads: the engine
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/replay.h"
#include "kv/sequence_view.h"
#include "prefix/prefix_trie.h"

namespace weir {

struct ReuseRules {
  std::vector<KvLayer> layers;  // the model's, from the bottom: for replay
  bool allow_replay = true;
  // Distance of checkpoints inside a prompt; 0: none. See CheckpointTokens().
  uint32_t checkpoint_tokens = 0;
};

// Checkpoint distance at which a retained window saves, per byte, as much prefill as full tiles do.
// A point saves half a distance on average when a prompt parts somewhere inside; a full tile of
// the same bytes saves 128 tokens. Equal at 2 * window bytes / full bytes a token.
[[nodiscard]] uint32_t CheckpointTokens(const KvLayout& layout);

// How a sequence began.
struct SequenceStart {
  uint32_t position = 0;      // first position whose tokens are new: all before are reused
  uint32_t replay_begin = 0;  // < position: [replay_begin, position) is recomputed for its windows
  uint32_t full_length = 0;   // tokens whose full KV was there
  uint32_t safe_length = 0;   // of these, usable without replay
  ResumeVeto veto = ResumeVeto::kNone;  // why safe_length < full_length
};

class CachedSequence {
 public:
  CachedSequence(PrefixTrie& trie, KvCache& cache, const ReuseRules& rules,
                 std::string_view name_space);

  // Fewer tokens are not worth the copy of the tile that they lie in.
  static constexpr uint32_t kLeastReused = 8;

  // Once, first. `message_starts`: ascending positions in the prompt. With kNothing the whole
  // prompt is computed, because every position's logits are wanted.
  enum class Reuse : uint8_t { kAll, kNothing };
  SequenceStart Start(std::span<const TokenId> prompt, std::span<const uint32_t> message_starts,
                      Reuse reuse = Reuse::kAll);

  [[nodiscard]] uint32_t token_count() const { return view_->token_count(); }  // n
  // Prompt, then what Append added; those before n are computed.
  [[nodiscard]] std::span<const TokenId> tokens() const { return tokens_; }
  [[nodiscard]] const SequenceView& view() const { return *view_; }
  void Append(TokenId token) { tokens_.push_back(token); }
  // Another prompt parts from this one at `position`: it becomes a resume point if the sequence has
  // not come there yet.
  void ExpectBranch(uint32_t position);

  // The trie was flushed: nothing of the sequence becomes cache. Known from its next tile on.
  [[nodiscard]] bool is_detached() const { return is_detached_; }

  // Positions [n, n + count), whose tokens are known. Evicts as needed; kResourceExhausted when
  // even that leaves too little.
  [[nodiscard]] Result<KvChunk> BeginChunk(uint32_t count);
  void Commit(KvChunk&& chunk);
  // The sequence has its last token, or was cancelled: what there is becomes a resume point, the
  // newest of its conversation; those before it are superseded.
  void Finish();

 private:
  struct Place {  // `count` tokens into a node
    NodeId node;
    uint32_t count = 0;
  };

  [[nodiscard]] std::optional<ReplaySpan> ReplayWorthwhile() const;
  void StartEarlier(std::span<const TokenId> prompt, SequenceStart& start);
  [[nodiscard]] bool TryStart(std::span<const TokenId> prompt, SequenceStart& start);
  [[nodiscard]] bool Adopt(uint32_t position, const std::optional<ReplaySpan>& replay);
  // `parts_at`: where a cached text goes on in another way; 0: nowhere.
  void PlanResumePoints(std::span<const uint32_t> message_starts, const SequenceStart& start,
                        uint32_t parts_at);
  void PlanRetained(uint32_t end);
  [[nodiscard]] RetainPlan Retained() const;
  bool MakeRoomWorth(double worth, uint32_t count);
  bool GiveUpLeavingTile(const TileNeed& need, double worth);
  void RetainWhatIsWorthIt(uint32_t count);
  void PublishWholeTiles();
  void PublishResumePoints();
  // The node that holds position - 1, a tail if need be; none when it cannot be published.
  [[nodiscard]] Place PlaceOf(uint32_t position);
  void KeepResumePoint(uint32_t position, ResumeClass resume_class);
  void ReleaseOwnWindows();

  struct PlannedPoint {
    uint32_t position = 0;
    ResumeClass resume_class = ResumeClass::kPeriodic;
  };

  PrefixTrie& trie_;
  KvCache& cache_;
  const ReuseRules& rules_;
  std::optional<SequenceView> view_;
  std::vector<TokenId> tokens_;
  uint32_t prompt_count_ = 0;
  PrefixPin root_;
  PrefixPin cursor_;              // the deepest whole tile published, or the root
  uint32_t published_tiles_ = 0;  // cursor_ is that of tile published_tiles_ - 1
  bool is_detached_ = false;      // the trie was flushed: nothing more is published
  uint32_t start_position_ = 0;
  bool writes_on_ = false;  // in the tail that it began from, which is in the trie no more
  std::vector<PlannedPoint> planned_;  // ascending, those not yet kept
  std::vector<uint32_t> retain_;       // buffer of PlanRetained
  PrefixMatch match_;
};

}  // namespace weir
