#include "api/logit_bias.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace weir {
namespace {

constexpr std::string_view kName = "logit_bias";

std::optional<uint64_t> IdOfNumber(const Json& id) {
  if (id.is_number_unsigned()) return id.get<uint64_t>();
  return std::nullopt;
}

std::optional<uint64_t> IdOfText(std::string_view text) {
  uint64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, id);
  if (error != std::errc() || at != end) return std::nullopt;
  return id;
}

// Reads entries into `out`; false once one was refused.
class Reader {
 public:
  Reader(Fields& fields, uint32_t vocab_size) : fields_(fields), vocab_size_(vocab_size) {}

  bool Add(const std::optional<uint64_t>& id, const Json& value) {
    if (!id || *id >= vocab_size_) {
      return Refuse(fmt::format("must name tokens by ids below {}", vocab_size_));
    }
    LogitBias entry{.token = TokenId(static_cast<int32_t>(*id)),
                    .bias = -std::numeric_limits<float>::infinity()};
    if (!value.is_boolean() || value.get<bool>()) {
      if (!value.is_number()) {
        return Refuse(
            fmt::format("of token {} must be a number or false, and is {}", *id, KindOf(value)));
      }
      const auto number = value.get<double>();
      if (!(number >= -kLogitBiasMost && number <= kLogitBiasMost)) {
        return Refuse(fmt::format("of token {} is {}, but must be from {} to {}", *id, number,
                                  -kLogitBiasMost, kLogitBiasMost));
      }
      entry.bias = static_cast<float>(number);
    }
    entries_.push_back(entry);
    return true;
  }

  bool Refuse(std::string_view message) {
    fields_.Refuse(kName, message);
    return false;
  }

  std::vector<LogitBias> Take() {
    const auto id = [](const LogitBias& entry) { return entry.token; };
    std::ranges::sort(entries_, {}, id);
    const auto twice = std::ranges::adjacent_find(entries_, {}, id);
    if (twice != entries_.end()) {
      Refuse(fmt::format("has token {} twice", twice->token.value()));
    }
    return std::move(entries_);
  }

 private:
  Fields& fields_;
  const uint32_t vocab_size_;
  std::vector<LogitBias> entries_;
};

}  // namespace

std::vector<LogitBias> ReadLogitBias(Fields& fields, uint32_t vocab_size) {
  const Json* bias = fields.Find(kName);
  if (bias == nullptr) return {};
  Reader reader(fields, vocab_size);
  if (!bias->is_object() && !bias->is_array()) {
    reader.Refuse(fmt::format("must be an object, and is {}", KindOf(*bias)));
    return {};
  }
  if (bias->size() > kLogitBiasMaxCount) {
    reader.Refuse(
        fmt::format("may have at most {} tokens, and has {}", kLogitBiasMaxCount, bias->size()));
    return {};
  }
  if (bias->is_object()) {
    for (const auto& [token, value] : bias->items()) {
      if (!reader.Add(IdOfText(token), value)) return {};
    }
  } else {
    for (const Json& pair : *bias) {
      if (!pair.is_array() || pair.size() != 2) {
        reader.Refuse("as a list must have pairs of a token id and a number");
        return {};
      }
      if (!reader.Add(IdOfNumber(pair[0]), pair[1])) return {};
    }
  }
  return reader.Take();
}

}  // namespace weir
