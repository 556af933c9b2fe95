#include "property/conversations.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "property/toy_model.h"
#include "quant/kv_tile.h"

namespace weir::test {
namespace {

constexpr size_t kMaxConversations = 12;

void Cut(Conversation& conversation, uint32_t count) {
  conversation.tokens.resize(count);
  std::erase_if(conversation.message_starts, [=](uint32_t start) { return start >= count; });
}

}  // namespace

Conversations::Conversations(uint32_t token_limit, uint32_t vocab_size, uint32_t window,
                             std::mt19937_64& random)
    : token_limit_(token_limit),
      vocab_size_(vocab_size),
      window_(window),
      random_(random),
      system_prompt_(RandomTokens(std::min(200U, token_limit / 3), random(), vocab_size)) {}

uint32_t Conversations::DrawCount(uint32_t most) {
  WEIR_CHECK(most > 0);
  switch (Below(4)) {
    case 0:
      return std::min(most, 1 + Below(8));
    case 1:
      return std::min(most, 1 + Below(150));
    case 2:
      return std::clamp(kTileTokens * (1 + Below(3)) + Below(3) - 1, 1U, most);
    default:
      return 1 + Below(most);
  }
}

uint32_t Conversations::DrawPosition(uint32_t end) {
  const uint32_t any = Below(end);
  if (OneIn(2)) return any;
  // The last W - 1 positions before it: [edge, position).
  const uint32_t edge = any / kTileTokens * kTileTokens;
  const uint32_t position = edge + window_ + Below(3);
  return position >= 2 && position - 2 < end ? position - 2 : any;
}

Conversations::Ask Conversations::Next() {
  if (all_.empty() || OneIn(8)) {
    const size_t index = NewPlace();
    Conversation& conversation = all_[index];
    conversation.name_space = OneIn(4) ? 1 : 0;
    if (OneIn(2)) conversation.tokens = system_prompt_;
    AddTurn(conversation);
    conversation.prompt_count = static_cast<uint32_t>(conversation.tokens.size());
    return {index, fmt::format("new conversation {}", index)};
  }
  size_t index = Below(static_cast<uint32_t>(all_.size()));
  std::string branch;
  if (OneIn(6)) {  // the old one may go on later
    Conversation copy = all_[index];
    if (OneIn(8)) copy.name_space = 1 - copy.name_space;
    const size_t to = NewPlace();
    branch = fmt::format(", branched from {}", index);
    index = to;
    all_[index] = std::move(copy);
  }
  const std::string change = Change(all_[index]);
  all_[index].prompt_count = static_cast<uint32_t>(all_[index].tokens.size());
  return {index, fmt::format("conversation {}{}: {}", index, branch, change)};
}

void Conversations::TakeAnswer(size_t index, uint32_t name_space, std::span<const TokenId> tokens,
                               uint32_t prompt_count) {
  Conversation& conversation = all_[index];
  if (conversation.name_space == name_space &&
      std::ranges::equal(conversation.tokens, tokens.first(prompt_count))) {
    conversation.tokens.assign(tokens.begin(), tokens.end());
  }
}

size_t Conversations::NewPlace() {
  if (all_.size() < kMaxConversations) {
    all_.emplace_back();
    return all_.size() - 1;
  }
  const size_t index = Below(kMaxConversations);
  all_[index] = {};
  return index;
}

void Conversations::AddTurn(Conversation& conversation) {
  const auto begin = static_cast<uint32_t>(conversation.tokens.size());
  if (begin >= token_limit_) return;
  const uint32_t most = token_limit_ - begin;
  uint32_t count = DrawCount(most);
  if (OneIn(4)) {  // ends at a tile's end, or one token off
    const uint32_t end = (begin + count) / kTileTokens * kTileTokens + Below(3);
    if (end > begin + 1 && end - begin - 1 <= most) count = end - begin - 1;
  }
  const auto turn = RandomTokens(count, random_(), vocab_size_);
  if (begin > 0) conversation.message_starts.push_back(begin);
  conversation.tokens.insert(conversation.tokens.end(), turn.begin(), turn.end());
}

std::string Conversations::Change(Conversation& conversation) {
  const auto end = static_cast<uint32_t>(conversation.tokens.size());
  const uint32_t draw = Below(10);
  if (draw < 4) {
    AddTurn(conversation);
    return fmt::format("{} tokens and a turn", end);
  }
  if (draw < 7) return ChangeMiddle(conversation);
  if (draw < 8) {
    Cut(conversation, std::min(end, conversation.prompt_count));
    return fmt::format("another answer to {} tokens", conversation.tokens.size());
  }
  if (draw < 9) return fmt::format("all {} tokens again", end);
  Cut(conversation, 1 + DrawPosition(end));
  return fmt::format("the first {} of {} tokens", conversation.tokens.size(), end);
}

std::string Conversations::ChangeMiddle(Conversation& conversation) {
  const auto end = static_cast<uint32_t>(conversation.tokens.size());
  const uint32_t at = DrawPosition(end);
  if (OneIn(3)) {  // the same tokens follow another beginning
    TokenId& token = conversation.tokens[at];
    token = TokenId((token.value() + 1) % static_cast<int32_t>(vocab_size_));
    return fmt::format("token {} of {} replaced", at, end);
  }
  Cut(conversation, std::max(at, 1U));
  AddTurn(conversation);
  return fmt::format("{} of {} tokens and a turn", std::max(at, 1U), end);
}

}  // namespace weir::test
