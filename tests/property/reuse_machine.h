// Random conversations that share one KV cache and one prefix trie, held against runs of the same
// tokens with no cache at all.
//
// An event is something that a user or the server does: a new conversation, a further turn, an edit
// in the middle, the same prompt again, another answer to it, a branch, a cancelled request, a
// flush, an eviction. Requests run in random chunks, up to `max_live` of them interleaved or in one
// batch. All logits from where a request began must be a cold run's, bit for bit. Slots that nobody
// refers to are full of NaN.
//
// Beside the logits: invariants of the trie, tiles that a sequence owns, slots of the pools, no hit
// beyond what ran in the same namespace, and with memory to spare every hit that arithmetic
// predicts.
//
// Ownership: owns everything but the model. Threads: the test's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "prefix/cached_sequence.h"
#include "property/conversations.h"
#include "property/toy_model.h"

namespace weir::test {

struct MachineOptions {
  uint32_t max_tokens = 800;  // of a conversation
  TileNeed tiles;             // of each pool
  bool is_generous = false;   // nothing is ever evicted: reuse can be predicted
  uint32_t max_chunk_tokens = 300;
  uint32_t max_live = 1;
  uint32_t checkpoint_tokens = 0;
  uint64_t hash_mask = ~uint64_t{0};
  uint64_t seed = 1;
  std::string name;  // in lines that tell how far a long run is
};

class ReuseMachine {
 public:
  ReuseMachine(ToyModel& model, const MachineOptions& options);
  ~ReuseMachine();

  // Runs so many events and then ends all requests. Stops at the first failure, printing what led
  // to it.
  void Run(uint64_t events);

  struct Counts {
    uint64_t events = 0;
    uint64_t requests = 0;
    uint64_t resumed = 0;   // began behind position 0
    uint64_t replayed = 0;  // with a replay
    uint64_t vetoed = 0;    // full tiles were there that could not be used
    uint64_t exhausted = 0;
    uint64_t tokens = 0;  // computed warm
    uint64_t reused = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] PrefixTrieStats trie_stats() const { return trie_->stats(); }

 private:
  struct Request {
    size_t conversation = 0;
    uint32_t name_space = 0;
    std::unique_ptr<CachedSequence> sequence;
    uint32_t prompt_count = 0;
    uint32_t decode_left = 0;
    uint32_t chunks_left = 0;  // before it is cancelled
    SequenceStart start;
    bool is_detached = false;   // the trie was flushed meanwhile
    std::vector<float> logits;  // rows from start.position on
  };
  // A prompt that was finished: what generous memory must still have.
  struct Finished {
    uint32_t name_space = 0;
    std::vector<TokenId> tokens;
    uint32_t prompt_count = 0;
  };
  enum class End : uint8_t { kFinished, kCancelled, kDropped };

  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool OneIn(uint32_t count) { return Below(count) == 0; }
  void Log(std::string line);

  void TellProgress(uint64_t events);
  void Event();
  void StartRequest();
  void CheckStart(const Request& request, std::span<const TokenId> prompt);

  void Advance();
  uint32_t NextChunk(Request& request);
  Result<KvChunk> Begin(Request& request);
  void KeepLogits(Request& request, const KvChunk& chunk, std::span<const float> rows);
  enum class Fate : uint8_t { kCommitted, kLost };  // of a chunk that was computed
  void RunChunks(std::vector<std::pair<Request*, KvChunk>> chunks, Fate fate);
  void EndRequest(size_t index, End end);
  void CheckLogits(const Request& request);

  void Flush();
  void EvictSome();
  [[nodiscard]] bool MustFlush() const;
  void CheckPools();

  ToyModel& model_;
  const MachineOptions options_;
  std::mt19937_64 random_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<PrefixTrie> trie_;
  ReuseRules rules_;
  ReuseRules rules_without_replay_;
  uint32_t token_limit_;
  Conversations conversations_;
  std::vector<Request> live_;
  std::vector<Finished> finished_;  // since the last flush
  std::vector<Finished> ran_;       // all that the trie may know of
  std::deque<std::string> log_;
  Counts counts_;
  uint64_t told_ = 0;  // events when progress was told last
};

}  // namespace weir::test
