#include "weir/prefix_cache.h"

#include <fmt/format.h>

#include "base/check.h"
#include "library/state.h"

namespace weir::kv {
namespace {

constexpr size_t kMinSecretBytes = 136;  // PrefixTrieOptions

static_assert(static_cast<size_t>(ResumeClass::kNewest) + 1 == kResumeClassCount);
static_assert(static_cast<int>(ResumeClass::kPeriodic) ==
                  static_cast<int>(weir::ResumeClass::kPeriodic) &&
              static_cast<int>(ResumeClass::kSuperseded) ==
                  static_cast<int>(weir::ResumeClass::kSuperseded) &&
              static_cast<int>(ResumeClass::kBranch) ==
                  static_cast<int>(weir::ResumeClass::kBranch));

// Every layer of the layout, each once?
bool AreLayersOf(const Layout& layout, std::span<const Layer> layers) {
  std::vector<uint8_t> seen[2];
  seen[0].resize(layout.full ? layout.full->layer_count : 0);
  seen[1].resize(layout.window ? layout.window->layer_count : 0);
  for (const Layer& layer : layers) {
    auto& of_group = seen[layer.group == Group::kFull ? 0 : 1];
    if (layer.index >= of_group.size() || of_group[layer.index] != 0) return false;
    of_group[layer.index] = 1;
  }
  return layers.size() == seen[0].size() + seen[1].size();
}

}  // namespace

std::span<const TokenId> ToTokenIds(std::span<const Token> tokens, std::vector<TokenId>& buffer) {
  buffer.clear();
  buffer.reserve(tokens.size());
  for (const Token token : tokens) buffer.emplace_back(token);
  return buffer;
}

struct Pin::State {
  std::shared_ptr<PrefixCache::State> prefix;
  PrefixPin pin;
  uint32_t token_count = 0;
};

Pin::Pin(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pin::Pin(Pin&& other) noexcept = default;
Pin& Pin::operator=(Pin&& other) noexcept = default;
Pin::~Pin() = default;

uint32_t Pin::token_count() const { return state_ == nullptr ? 0 : state_->token_count; }

Expected<PrefixCache> PrefixCache::Create(const Pools& pools, PrefixOptions options) {
  if (!options.secret.empty() && options.secret.size() < kMinSecretBytes) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("a secret of {} bytes; at least {} are needed, or none for a random one",
                    options.secret.size(), kMinSecretBytes)};
  }
  if (!options.layers.empty() && !AreLayersOf(pools.layout(), options.layers)) {
    return Error{ErrorCode::kInvalidArgument,
                 "layers: not those of the layout, each once; leave them out for no replay"};
  }
  ReuseRules rules;
  rules.allow_replay = !options.layers.empty();
  for (const Layer layer : options.layers) rules.layers.push_back(ToInternal(layer));
  PrefixTrieOptions trie_options{
      .secret = std::move(options.secret),
      .fingerprint = std::move(options.fingerprint),
      .replayable_from = ReplayableFrom(rules.layers, pools.state_->cache.layout())};
  auto state = std::make_shared<State>(pools.state_, trie_options);
  state->rules = std::move(rules);
  state->rules.checkpoint_tokens =
      options.checkpoint_tokens.value_or(CheckpointTokens(state->pools->cache.layout()));
  return PrefixCache(std::move(state));
}

PrefixMatch PrefixCache::Match(std::string_view name_space, std::span<const Token> prompt) const {
  if (prompt.empty()) return {};
  State& state = *state_;
  const PrefixPin root = state.trie.Root(name_space);
  state.trie.Match(root.node(), ToTokenIds(prompt, state.tokens), state.match);
  return {.full_length = state.match.full_length, .safe_length = state.match.safe_length};
}

Pin PrefixCache::PinPrefix(std::string_view name_space, std::span<const Token> tokens) {
  State& state = *state_;
  auto pin = std::make_unique<Pin::State>(Pin::State{state_, state.trie.Root(name_space)});
  if (tokens.empty()) return Pin(std::move(pin));
  state.trie.Match(pin->pin.node(), ToTokenIds(tokens, state.tokens), state.match);
  if (state.match.nodes.empty()) return Pin(std::move(pin));
  const NodeId last = state.match.nodes.back();
  pin->token_count = state.trie.StartOf(last) + state.match.last_count;
  pin->pin = state.trie.Pin(last);
  return Pin(std::move(pin));
}

bool PrefixCache::MakeRoom(const TileCount& count) {
  return state_->trie.MakeRoom({.full = count.full, .window = count.window});
}

uint64_t PrefixCache::Flush() { return state_->trie.Flush(); }

std::vector<uint32_t> PrefixCache::ConversationLengths(size_t limit) const {
  return state_->trie.LeafEnds(limit);
}

PrefixStats PrefixCache::stats() const {
  const PrefixTrieStats stats = state_->trie.stats();
  return {.nodes = stats.nodes,
          .tails = stats.tails,
          .tombstones = stats.tombstones,
          .pins = stats.pinned,
          .resume_points = stats.resume_points_by_class,
          .interior_windows = stats.interior_windows,
          .inserted_nodes = stats.inserted,
          .evicted_nodes = stats.evicted_nodes,
          .evicted_windows = stats.evicted_windows};
}

}  // namespace weir::kv
