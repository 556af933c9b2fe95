// Every prefix whose KV is kept: a trie of whole tiles with tails as leaves.
//
// A node is a tile of 128 tokens after its parent's, or a tail of 1..127; nodes never split. A node
// is found by the chained hash (xxh3-128 under a secret) of namespace, fingerprint and all tokens
// so far, and its tokens are compared. Its full tile is there; its window tile and its owed rows
// may be gone (tombstone). A prompt that parts inside a node still uses the node's rows before that
// place.
//
// Lookups are const. Heat, pins, insertion and eviction are separate calls.
//
// Ownership: nodes hold counted references to tiles of the KvCache, which outlives the trie.
// Threads: the engine thread. Memory: about 0.7 KB a node; no allocation per token.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "kv/kv_cache.h"
#include "kv/prefix_tiles.h"
#include "prefix/node_id.h"
#include "prefix/resume_points.h"
#include "prefix/resume_position.h"

namespace weir {

struct PrefixTrieOptions {
  // Hides which tokens a hash stands for; a secret of the installation. Random when left empty.
  std::vector<std::byte> secret;  // empty, or at least 136 bytes
  std::string fingerprint;        // of the model and everything that can change a bit of its KV
  // ReplayableFrom() of the model: up to there full tiles without their windows serve nobody.
  uint32_t replayable_from = ~uint32_t{0};
  uint64_t hash_mask = ~uint64_t{0};  // tests force collisions: bits that hashes keep
};

// What the trie has of a prompt. Reusable: buffers stay.
struct PrefixMatch {
  NodeId root;                // namespace of the prompt
  std::vector<NodeId> nodes;  // tile by tile; all but the last whole
  uint32_t last_count = 0;    // tokens matched in the last node
  // Tokens whose full KV is present, and the longest prefix from which decoding may resume
  // (window-safe length). Both leave at least the prompt's last token to be computed.
  uint32_t full_length = 0;
  uint32_t safe_length = 0;
  ResumeVeto veto = ResumeVeto::kNone;  // why safe_length < full_length
  // What is kept goes on from there in another way; else it ends there.
  bool parts = false;
};

class PrefixTrie;

// Keeps a node, and so its ancestors, from eviction. RAII.
class PrefixPin {
 public:
  PrefixPin() = default;
  ~PrefixPin();
  PrefixPin(PrefixPin&& other) noexcept;
  PrefixPin& operator=(PrefixPin&& other) noexcept;
  [[nodiscard]] NodeId node() const { return node_; }

 private:
  friend class PrefixTrie;
  PrefixPin(PrefixTrie* trie, NodeId node) : trie_(trie), node_(node) {}
  PrefixTrie* trie_ = nullptr;
  NodeId node_;
};

struct PrefixTrieStats {
  uint64_t nodes = 0;  // tiles and tails
  uint64_t tails = 0;
  uint64_t tombstones = 0;     // nodes without their window tile
  uint64_t pinned = 0;         // pins held
  uint64_t resume_points = 0;  // places that need no window (or owed) tile have none
  std::array<uint64_t, kResumeClassCount> resume_points_by_class{};
  uint64_t interior_windows = 0;  // window tiles that no resume point needs
  // Counters since the start.
  uint64_t inserted = 0;
  uint64_t duplicates_freed = 0;
  uint64_t tombstones_healed = 0;
  uint64_t collisions = 0;
  uint64_t evicted_nodes = 0;
  uint64_t evicted_windows = 0;  // tiles, besides those that went with nodes
  uint64_t evicted_owed = 0;     // likewise
};

class PrefixTrie {
 public:
  PrefixTrie(KvCache& cache, const PrefixTrieOptions& options);
  ~PrefixTrie();  // checks that no pin is left
  PrefixTrie(const PrefixTrie&) = delete;
  PrefixTrie& operator=(const PrefixTrie&) = delete;

  // The place where prompts of a namespace begin. Costs nothing until something is inserted.
  // (A root is a node of no tokens; it lives as long as it has children or pins.)
  [[nodiscard]] PrefixPin Root(std::string_view name_space);

  // Requires prompt to be non-empty.
  void Match(NodeId root, std::span<const TokenId> prompt, PrefixMatch& match) const;

  // References to what a sequence that starts at `position` <= match.full_length takes over. Window
  // and owed tiles are those that decoding from there needs, as far as they are present.
  [[nodiscard]] PrefixTiles Share(const PrefixMatch& match, uint32_t position) const;

  [[nodiscard]] PrefixPin Pin(NodeId node);

  // Makes `tokens` (1..128) a child of `parent`, a root or a whole tile, and shares `tiles`, which
  // hold all its rows, with it. A child with just these tokens may be there already: then it takes
  // what it lacked (a tombstone is healed), and `tiles` is repointed to the child's, which frees
  // the newcomers where nobody else refers to them. A tail that a child continues which has all
  // that `tiles` has is not added: that child is returned, and `count` tokens into it is the place.
  // A tail that the new node continues, and that could resume nothing the new node cannot, is
  // removed. None (0), and nothing done, if `parent` was flushed.
  NodeId Insert(NodeId parent, std::span<const TokenId> tokens, NodeTiles& tiles);

  // Keeps the window and owed tiles that decoding from `count` tokens into `node` needs. False if
  // one is missing: then the place is remembered like that of an evicted point, so that it is known
  // if somebody would have resumed there. A point that is there keeps the later of both classes.
  bool AddResumePoint(NodeId node, uint32_t count, ResumeClass resume_class);
  // A conversation goes on from `count` tokens into `node`: the newest points on the path up to
  // there are superseded.
  void Supersede(NodeId node, uint32_t count);

  // Node ids are good while the node is pinned, or until the next call that may remove it: Insert,
  // MakeRoom and MakeRoomFor, those that drop or give up, Flush, an unpin.

  // Heat. Stamp: a request begins, which uses the path to `node` (the root, if it found nothing)
  // and what it inserts. Restamp: it ends, and was using that path until now. StampResume: it
  // resumed there; only what the last W tokens before that place need is refreshed. NoteMiss: a
  // request with this prompt resumes at `position` because nothing further on is left; the last
  // resume point there that was evicted, whose class it returns, would have served it.
  void Stamp(NodeId node);
  void Restamp(NodeId node);
  void StampResume(NodeId node, uint32_t count);
  std::optional<ResumeClass> NoteMiss(const PrefixMatch& match, std::span<const TokenId> prompt,
                                      uint32_t position);

  static constexpr double kAnyWorth = std::numeric_limits<double>::infinity();

  // Evicts until every pool has `need` tiles free, each pool by its own shortfall: full tiles leaf
  // first in LeafOrder's order, window tiles first those of no resume point and then by
  // ResumePoints' order. Nodes whose full tile a running sequence uses stay like pinned ones: they
  // would free nothing. False if something is still missing; what could be freed is free then too.
  bool MakeRoom(const TileNeed& need);
  // The same, but gives up no resume point that is worth `worth` or more; of full tiles nothing as
  // soon as the leaf to go next has one.
  bool MakeRoomFor(double worth, const TileNeed& need);
  // What a resume point that is to be is worth beside those that are kept.
  [[nodiscard]] double WorthOf(ResumeClass resume_class, uint32_t position) const;
  // That of the resume points at the node, of which most is; 0 without one.
  [[nodiscard]] double WorthAt(NodeId node) const;
  // Gives up the window and owed tile of a node, and the resume points that need them.
  void DropSidecars(NodeId node);
  // The same of whatever nodes have the window or the owed tile of `tiles`.
  void DropTiles(const NodeTiles& tiles);
  // The same, unless a resume point that needs the tile is worth more than the one that MakeRoom
  // would give up next, or at least `worth`. False if nothing was dropped.
  bool DropUnlessWorth(const NodeTiles& tiles, double worth);
  // Removes a tail whose tiles nobody has but the trie and, with one reference, the caller, who may
  // then write on in them. False, and nothing done, if there is somebody else.
  bool GiveUpTail(NodeId tail);
  // Forgets everything: nothing that was inserted so far can be matched again. Returns the number
  // of nodes. Tiles that pins hold are freed with these.
  uint64_t Flush();

  // All nodes that can be matched, from cold to warm; roots are left out.
  [[nodiscard]] std::vector<NodeId> Nodes() const;
  [[nodiscard]] NodeId ParentOf(NodeId node) const;   // 0 of a root
  [[nodiscard]] uint32_t StartOf(NodeId node) const;  // position of its first token
  [[nodiscard]] std::span<const TokenId> TokensOf(NodeId node) const;
  [[nodiscard]] TileId FullTileOf(NodeId node) const;  // none (0) without a full group
  [[nodiscard]] bool HasWindow(NodeId node) const;
  [[nodiscard]] bool HasOwed(NodeId node) const;
  [[nodiscard]] ResumeNeeds resume_needs() const;
  // How long the kept prefixes are: ends of the leaves in tokens, warmest first.
  [[nodiscard]] std::vector<uint32_t> LeafEnds(size_t limit) const;
  [[nodiscard]] PrefixTrieStats stats() const;

  // Every tile referred to once a node, counts and lists agree, no child without its parent, ...
  // Stops the program when not. Slow: for tests.
  void CheckInvariants() const;

 private:
  friend class PrefixPin;
  void Unpin(NodeId node);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
