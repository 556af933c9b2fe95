#include "base_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

namespace weir {
namespace {

constexpr std::string_view kMagic = "WEIRROW1";
constexpr std::string_view kForeignMagic = "_logits_";
constexpr uint32_t kMaxCount = 1U << 24;  // tokens of a vocabulary, of a window; windows

struct Entry {
  int32_t token;
  float logprob;
};
static_assert(sizeof(Entry) == 8);

}  // namespace

Result<BaseWriter> BaseWriter::Create(const std::string& path, const BaseHeader& header) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const std::array<uint32_t, 4> numbers = {header.vocab_size, header.context_tokens,
                                           header.window_count, 0};
  static_assert(sizeof(TokenId) == sizeof(int32_t));
  file.write(kMagic.data(), kMagic.size());
  file.write(reinterpret_cast<const char*>(numbers.data()), sizeof(numbers));
  file.write(reinterpret_cast<const char*>(header.tokens.data()),
             static_cast<std::streamsize>(header.tokens.size() * sizeof(TokenId)));
  if (!file) return Fail(ErrorCode::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
  return BaseWriter(path, std::move(file));
}

Result<void> BaseWriter::Add(const SavedRow& row) {
  std::vector<Entry> entries;
  entries.reserve(row.listed.size());
  for (const TokenLogprob& entry : row.listed) {
    entries.push_back({entry.token.value(), entry.logprob});
  }
  const auto count = static_cast<uint32_t>(entries.size());
  file_.write(reinterpret_cast<const char*>(&row.target_logprob), sizeof(float));
  file_.write(reinterpret_cast<const char*>(&count), sizeof(count));
  file_.write(reinterpret_cast<const char*>(entries.data()),
              static_cast<std::streamsize>(entries.size() * sizeof(Entry)));
  if (!file_) return Fail(ErrorCode::kIo, fmt::format("{}: {}", path_, std::strerror(errno)));
  return {};
}

Result<void> BaseWriter::Finish() {
  file_.close();
  if (!file_) return Fail(ErrorCode::kIo, fmt::format("{}: {}", path_, std::strerror(errno)));
  return {};
}

Result<BaseReader> BaseReader::Open(const std::string& path) {
  BaseReader reader;
  reader.path_ = path;
  reader.file_.open(path, std::ios::binary);
  if (!reader.file_) {
    return Fail(ErrorCode::kNotFound, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  WEIR_TRY(reader.ReadHeader());
  return reader;
}

Result<void> BaseReader::ReadHeader() {
  std::array<char, 8> magic{};
  std::array<uint32_t, 4> numbers{};
  ReadBytes(magic.data(), magic.size());
  const std::string_view seen(magic.data(), magic.size());
  is_foreign_ = seen == kForeignMagic;
  if (!is_foreign_ && seen != kMagic) {
    return Fail(ErrorCode::kCorrupt, fmt::format("{}: no file of saved rows", path_));
  }
  if (!ReadBytes(numbers.data(), is_foreign_ ? 12 : 16)) return Damaged("ends in the header");
  // llama-perplexity writes the context first.
  if (is_foreign_) std::swap(numbers[0], numbers[1]);
  header_.vocab_size = numbers[0];
  header_.context_tokens = numbers[1];
  header_.window_count = numbers[2];
  std::error_code error;
  const uint64_t file_bytes = std::filesystem::file_size(path_, error);
  const uint64_t token_count = uint64_t{header_.context_tokens} * header_.window_count;
  if (header_.vocab_size == 0 || header_.vocab_size > kMaxCount || header_.context_tokens < 4 ||
      header_.context_tokens > kMaxCount || header_.window_count > kMaxCount ||
      token_count > file_bytes / sizeof(TokenId)) {
    return Damaged(fmt::format("the header says vocabulary {}, context {}, windows {}",
                               header_.vocab_size, header_.context_tokens, header_.window_count));
  }
  header_.tokens.resize(token_count);
  if (!ReadBytes(header_.tokens.data(), token_count * sizeof(TokenId))) {
    return Damaged("ends in the tokens");
  }
  for (const TokenId token : header_.tokens) {
    if (token.value() < 0 || static_cast<uint32_t>(token.value()) >= header_.vocab_size) {
      return Damaged(fmt::format("token {} is outside the vocabulary", token.value()));
    }
  }
  return {};
}

Result<SavedRow> BaseReader::Next(TokenId target) {
  Result<SavedRow> row = is_foreign_ ? NextForeign(target) : NextOwn();
  ++rows_read_;
  return row;
}

Result<SavedRow> BaseReader::NextOwn() {
  SavedRow row;
  uint32_t count = 0;
  if (!ReadBytes(&row.target_logprob, sizeof(float)) || !ReadBytes(&count, sizeof(count))) {
    return Damaged("ends early");
  }
  if (count > header_.vocab_size || !(row.target_logprob <= 0)) return Damaged("is damaged");
  std::vector<Entry> entries(count);
  if (!ReadBytes(entries.data(), count * sizeof(Entry))) return Damaged("ends early");
  int64_t last = -1;
  for (const Entry& entry : entries) {
    if (entry.token <= last || static_cast<uint32_t>(entry.token) >= header_.vocab_size ||
        !(entry.logprob <= 0)) {
      return Damaged("is damaged");
    }
    last = entry.token;
    row.listed.push_back({TokenId(entry.token), entry.logprob});
  }
  return row;
}

// A row there: f32 step, f32 least, then a u16 a token; log p = step * u16 + least. An odd
// vocabulary is padded to an even one.
Result<SavedRow> BaseReader::NextForeign(TokenId target) {
  std::array<float, 2> scale{};
  std::vector<uint16_t> codes((header_.vocab_size + 1) / 2 * 2);
  if (!ReadBytes(scale.data(), sizeof(scale)) ||
      !ReadBytes(codes.data(), codes.size() * sizeof(uint16_t))) {
    return Damaged("ends early");
  }
  const auto logprob = [&](size_t i) {
    return std::min(scale[0] * static_cast<float>(codes[i]) + scale[1], 0.0F);
  };
  SavedRow row;
  row.target_logprob = logprob(static_cast<size_t>(target.value()));
  for (uint32_t i = 0; i < header_.vocab_size; ++i) {
    if (logprob(i) > kListedLogprob) {
      row.listed.push_back({TokenId(static_cast<int32_t>(i)), logprob(i)});
    }
  }
  return row;
}

tl::unexpected<Error> BaseReader::Damaged(std::string_view what) const {
  return Fail(ErrorCode::kCorrupt, fmt::format("{}: row {}: {}", path_, rows_read_, what));
}

bool BaseReader::ReadBytes(void* to, size_t bytes) {
  file_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  return file_.gcount() == static_cast<std::streamsize>(bytes);
}

}  // namespace weir
