#include "property/reuse_machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "base/check.h"
#include "base/token_span.h"

namespace weir::test {
namespace {

constexpr size_t kLogLines = 40;
constexpr uint32_t kForever = UINT32_MAX;
constexpr uint64_t kManyEvents = 1'000;

uint64_t UsedCount(const TilePool* pool) { return pool == nullptr ? 0 : pool->used_count(); }

std::string NameSpace(uint32_t index) { return index == 0 ? "first" : "second"; }

}  // namespace

ReuseMachine::ReuseMachine(ToyModel& model, const MachineOptions& options)
    : model_(model),
      options_(options),
      random_(options.seed),
      cache_(std::make_unique<KvCache>(model.layout(), model.Budget(options.tiles),
                                       options.max_chunk_tokens, options.max_live)),
      rules_{.layers = model.layers(), .checkpoint_tokens = options.checkpoint_tokens},
      rules_without_replay_(rules_),
      token_limit_(static_cast<uint32_t>(
          std::min<uint64_t>(options.max_tokens, cache_->MaxSequenceTokens()))),
      conversations_(token_limit_, model.vocab_size(),
                     model.layout().window ? model.layout().window->window : 0, random_) {
  rules_without_replay_.allow_replay = false;
  PrefixTrieOptions trie_options{
      .secret = {},
      .fingerprint = "toy",
      .replayable_from = ReplayableFrom(model.layers(), cache_->layout()),
      .hash_mask = options.hash_mask};
  for (int i = 0; i < 192; ++i) trie_options.secret.push_back(static_cast<std::byte>(random_()));
  trie_ = std::make_unique<PrefixTrie>(*cache_, trie_options);
  PoisonFreeTiles(*cache_);
}

ReuseMachine::~ReuseMachine() = default;

void ReuseMachine::Log(std::string line) {
  log_.push_back(fmt::format("{:5}  {}", counts_.events, std::move(line)));
  if (log_.size() > kLogLines) log_.pop_front();
}

void ReuseMachine::Run(uint64_t events) {
  while (counts_.events < events && !::testing::Test::HasFailure()) {
    // Requests in hand go on more often than new things happen, or none would ever end.
    if (live_.empty() || OneIn(6)) {
      Event();
      TellProgress(events);
    } else {
      Advance();
    }
  }
  while (!live_.empty() && !::testing::Test::HasFailure()) Advance();
  if (!::testing::Test::HasFailure()) Flush();
  if (::testing::Test::HasFailure()) {
    std::cerr << "the last events:\n";
    for (const std::string& line : log_) std::cerr << line << "\n";
  }
}

// Ten lines in all.
void ReuseMachine::TellProgress(uint64_t events) {
  const uint64_t part = events / 10;
  if (events < kManyEvents || counts_.events == told_ || counts_.events % part != 0) return;
  told_ = counts_.events;
  std::cout << fmt::format("{}: {} of {} events, {} requests, {} resumed, {} replayed\n",
                           options_.name, counts_.events, events, counts_.requests, counts_.resumed,
                           counts_.replayed)
            << std::flush;
}

void ReuseMachine::Event() {
  const uint32_t draw = Below(100);
  if (draw >= 12 && live_.size() == options_.max_live) return;  // nobody comes
  ++counts_.events;
  if (draw < 2 || MustFlush()) {
    Flush();
  } else if (draw < 8) {
    EvictSome();
  } else if (live_.size() == options_.max_live || (draw < 12 && !live_.empty())) {
    EndRequest(Below(static_cast<uint32_t>(live_.size())),
               OneIn(2) ? End::kCancelled : End::kDropped);
  } else {
    StartRequest();
  }
  trie_->CheckInvariants();
  CheckPools();
}

void ReuseMachine::StartRequest() {
  const Conversations::Ask ask = conversations_.Next();
  Log(ask.what);
  const Conversation& conversation = conversations_[ask.index];
  const ReuseRules& rules = OneIn(3) ? rules_without_replay_ : rules_;
  Request request{.conversation = ask.index,
                  .name_space = conversation.name_space,
                  .sequence = std::make_unique<CachedSequence>(*trie_, *cache_, rules,
                                                               NameSpace(conversation.name_space)),
                  .prompt_count = conversation.prompt_count,
                  .decode_left = std::min(OneIn(2) ? Below(5) : Below(41),
                                          token_limit_ - conversation.prompt_count),
                  .chunks_left = OneIn(8) ? Below(6) : kForever,
                  .start = {},
                  .logits = {}};
  const bool reuse = !OneIn(20);
  request.start = request.sequence->Start(
      conversation.tokens, conversation.message_starts,
      reuse ? CachedSequence::Reuse::kAll : CachedSequence::Reuse::kNothing);
  const SequenceStart& start = request.start;
  Log(
      fmt::format("  request in namespace {}: prompt {}, begins at {} (replay from {}), full {}, "
                  "safe {}{}{}, then {} tokens",
                  request.name_space, request.prompt_count, start.position, start.replay_begin,
                  start.full_length, start.safe_length, rules.allow_replay ? "" : ", no replay",
                  reuse ? "" : ", no reuse", request.decode_left));
  ++counts_.requests;
  counts_.resumed += start.position > 0 ? 1 : 0;
  counts_.replayed += start.replay_begin < start.position ? 1 : 0;
  counts_.vetoed += start.veto != ResumeVeto::kNone ? 1 : 0;
  counts_.reused += start.replay_begin;
  if (reuse) CheckStart(request, conversation.tokens);
  live_.push_back(std::move(request));
}

void ReuseMachine::CheckStart(const Request& request, std::span<const TokenId> prompt) {
  const SequenceStart& start = request.start;
  EXPECT_LT(start.position, prompt.size());
  EXPECT_LE(start.safe_length, start.full_length);
  EXPECT_LE(start.replay_begin, start.position);
  EXPECT_LE(start.position, start.full_length);
  uint32_t known = 0;  // tokens that ran in this namespace, whatever became of their KV
  for (const Finished& other : ran_) {
    if (other.name_space != request.name_space) continue;
    known = std::max(known, CommonBeginning(prompt, other.tokens));
  }
  for (const Request& other : live_) {
    if (other.name_space != request.name_space) continue;
    const auto done = other.sequence->tokens().first(other.sequence->token_count());
    known = std::max(known, CommonBeginning(prompt, done));
  }
  EXPECT_LE(start.full_length, known) << "a hit on tokens that never ran in this namespace";
  if (!options_.is_generous) return;

  for (const Finished& other : finished_) {
    if (other.name_space != request.name_space) continue;
    const auto last = static_cast<uint32_t>(prompt.size()) - 1;
    const uint32_t common = std::min(CommonBeginning(prompt, other.tokens), last);
    EXPECT_GE(start.full_length, common);
    EXPECT_GT(start.position + kTileTokens, common) << "more than a tile before the edit";
    // Resume points: where the other prompt would begin again, its end, and its answer's.
    const bool is_kept = common == other.tokens.size() || common == other.prompt_count ||
                         common + 1 == other.prompt_count;
    EXPECT_TRUE(!is_kept || common < CachedSequence::kLeastReused || start.position >= common)
        << "begins at " << start.position << ", not " << common;
  }
}

uint32_t ReuseMachine::NextChunk(Request& request) {
  CachedSequence& sequence = *request.sequence;
  const uint32_t begin = sequence.token_count();
  if (begin == sequence.tokens().size()) {
    WEIR_CHECK(request.decode_left > 0);
    --request.decode_left;
    sequence.Append(TokenId(static_cast<int32_t>(Below(model_.vocab_size()))));
  }
  const auto left = static_cast<uint32_t>(sequence.tokens().size()) - begin;
  const uint32_t most = std::min(left, options_.max_chunk_tokens);
  return OneIn(3) ? most : std::min(most, conversations_.DrawCount(options_.max_chunk_tokens));
}

Result<KvChunk> ReuseMachine::Begin(Request& request) {
  const uint32_t count = NextChunk(request);
  auto chunk = request.sequence->BeginChunk(count);
  if (chunk && OneIn(30)) {  // given up before anything was computed
    { const KvChunk dropped = std::move(*chunk); }
    chunk = request.sequence->BeginChunk(count);
  }
  return chunk;
}

// One request's chunk, or those of several in one batch.
void ReuseMachine::Advance() {
  const size_t index = Below(static_cast<uint32_t>(live_.size()));
  Request& request = live_[index];
  const bool has_all = request.sequence->token_count() == request.sequence->tokens().size();
  if (has_all && request.decode_left == 0) return EndRequest(index, End::kFinished);
  if (request.chunks_left == 0) {
    return EndRequest(index, OneIn(2) ? End::kCancelled : End::kDropped);
  }
  auto chunk = Begin(request);
  if (!chunk) {
    ++counts_.exhausted;
    Log(fmt::format("no room for a chunk at {}", request.sequence->token_count()));
    EXPECT_GT(live_.size(), 1U) << "a sequence alone finds no room: " << chunk.error().message;
    return EndRequest(index, OneIn(2) ? End::kCancelled : End::kDropped);
  }
  std::vector<std::pair<Request*, KvChunk>> chunks;
  chunks.emplace_back(&request, std::move(*chunk));
  while (chunks.size() < live_.size() && OneIn(2)) {
    Request& other = live_[(index + chunks.size()) % live_.size()];
    const bool can_go_on =
        other.chunks_left > 0 &&
        (other.decode_left > 0 || other.sequence->token_count() < other.sequence->tokens().size());
    if (!can_go_on) break;
    auto further = Begin(other);
    if (!further) break;
    chunks.emplace_back(&other, std::move(*further));
  }
  const bool is_lost = chunks.size() == 1 && OneIn(100);
  RunChunks(std::move(chunks), is_lost ? Fate::kLost : Fate::kCommitted);
  if (is_lost) return EndRequest(index, End::kDropped);
  if (OneIn(4)) PoisonFreeTiles(*cache_);
  if (OneIn(8)) trie_->CheckInvariants();
}

void ReuseMachine::RunChunks(std::vector<std::pair<Request*, KvChunk>> chunks, Fate fate) {
  std::vector<ForwardSegment> segments;
  for (auto& [request, chunk] : chunks) {
    segments.push_back(
        {.chunk = &chunk,
         .tokens = request->sequence->tokens().subspan(chunk.begin(), chunk.end() - chunk.begin()),
         .logits = LogitsWanted::kAll});
  }
  std::span<const float> rows = model_.Forward(segments);
  if (fate == Fate::kLost) return;
  for (auto& [request, chunk] : chunks) {
    const size_t count = size_t{chunk.end() - chunk.begin()} * model_.vocab_size();
    KeepLogits(*request, chunk, rows.first(count));
    rows = rows.subspan(count);
    counts_.tokens += chunk.end() - chunk.begin();
    if (request->chunks_left != kForever) --request->chunks_left;
    request->sequence->Commit(std::move(chunk));
    const SequenceView& view = request->sequence->view();
    if (model_.layout().window) {
      EXPECT_LE(view.window_tile_count(), model_.layout().window->max_window_tiles());
    }
    EXPECT_LE(view.owed_tile_count(), 2U);  // r + 1
  }
}

// Rows before the start's position are a replay's: only what it keeps must be right.
void ReuseMachine::KeepLogits(Request& request, const KvChunk& chunk, std::span<const float> rows) {
  const uint32_t first = std::clamp(request.start.position, chunk.begin(), chunk.end());
  const auto kept = rows.subspan(size_t{first - chunk.begin()} * model_.vocab_size());
  request.logits.insert(request.logits.end(), kept.begin(), kept.end());
}

void ReuseMachine::EndRequest(size_t index, End end) {
  Request request = std::move(live_[index]);
  live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
  const CachedSequence& sequence = *request.sequence;
  const auto done = sequence.tokens().first(sequence.token_count());
  Log(fmt::format("  {} at {} of {}",
                  end == End::kFinished    ? "done"
                  : end == End::kCancelled ? "cancelled"
                                           : "dropped",
                  done.size(), request.prompt_count));
  CheckLogits(request);
  const Finished record{.name_space = request.name_space,
                        .tokens = {done.begin(), done.end()},
                        .prompt_count = request.prompt_count};
  if (end != End::kDropped) {
    if (OneIn(3)) request.sequence->Append(TokenId(0));  // the last token is often not computed
    request.sequence->Finish();
    if (!request.is_detached && !done.empty()) finished_.push_back(record);
  }
  ran_.push_back(record);
  if (end == End::kFinished) {
    conversations_.TakeAnswer(request.conversation, request.name_space, record.tokens,
                              request.prompt_count);
  }
  request.sequence.reset();
  PoisonFreeTiles(*cache_);
  trie_->CheckInvariants();
  CheckPools();
}

void ReuseMachine::CheckLogits(const Request& request) {
  const CachedSequence& sequence = *request.sequence;
  const uint32_t end = sequence.token_count();
  const uint32_t begin = request.start.position;
  if (end <= begin) return;
  const std::vector<float> cold = model_.ColdLogits(sequence.tokens().first(end));
  const size_t columns = model_.vocab_size();
  const int64_t row =
      FirstDifferentRow(std::span(cold).subspan(begin * columns), request.logits, columns);
  EXPECT_EQ(row, -1) << "position " << begin + row << " of [" << begin << ", " << end
                     << ") has other logits than a cold run";
}

void ReuseMachine::Flush() {
  Log("flush");
  trie_->Flush();
  finished_.clear();
  ran_.clear();
  for (Request& request : live_) request.is_detached = true;
  if (!live_.empty()) return;
  for (const TilePool* pool : {cache_->full_pool(), cache_->window_pool(), cache_->owed_pool()}) {
    EXPECT_EQ(UsedCount(pool), 0U);
  }
}

void ReuseMachine::EvictSome() {
  if (options_.is_generous) return;     // what must be there could not be told any more
  const bool sidecars_only = OneIn(2);  // leaves tombstones
  const auto draw = [this](const TilePool* pool) {
    if (pool == nullptr) return 0U;
    return Below(OneIn(3) ? pool->tile_count() + 1 : pool->tile_count() / 4 + 1);
  };
  const TileNeed need{.full = sidecars_only ? 0 : draw(cache_->full_pool()),
                      .window = draw(cache_->window_pool()),
                      .owed = draw(cache_->owed_pool())};
  Log(fmt::format("room for {} full, {} window, {} owed tiles", need.full, need.window, need.owed));
  const bool has_room = trie_->MakeRoom(need);
  const auto is_free = [](const TilePool* pool, uint32_t tiles) {
    return pool == nullptr || pool->free_count() >= tiles;
  };
  EXPECT_EQ(has_room, is_free(cache_->full_pool(), need.full) &&
                          is_free(cache_->window_pool(), need.window) &&
                          is_free(cache_->owed_pool(), need.owed));
  EXPECT_TRUE(has_room || !live_.empty()) << "nothing is in use, yet there is no room";
}

// Generous memory is not without end; what a few requests more may take is far less.
bool ReuseMachine::MustFlush() const {
  const auto is_short = [](const TilePool* pool) {
    return pool != nullptr && pool->free_count() < pool->tile_count() / 4;
  };
  return options_.is_generous && (is_short(cache_->full_pool()) ||
                                  is_short(cache_->window_pool()) || is_short(cache_->owed_pool()));
}

void ReuseMachine::CheckPools() {
  const PrefixTrieStats stats = trie_->stats();
  uint64_t full = stats.nodes;
  for (const Request& request : live_) full += request.sequence->view().full_tile_count();
  EXPECT_LE(UsedCount(cache_->full_pool()), full);
  if (!live_.empty()) return;
  EXPECT_EQ(stats.pinned, 0U);
  EXPECT_LE(UsedCount(cache_->window_pool()), stats.nodes - stats.tombstones);
  EXPECT_LE(UsedCount(cache_->owed_pool()), stats.nodes);
}

}  // namespace weir::test
