// Files of saved rows for `weir perplexity --save-base` and `--base`: docs/formats/base-rows.md.
//
// Files of llama-perplexity (--kl-divergence-base) are read too, so that two programs can be
// compared row by row.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "token_score.h"

namespace weir {

struct BaseHeader {
  uint32_t vocab_size = 0;
  uint32_t context_tokens = 0;  // of a window
  uint32_t window_count = 0;
  std::vector<TokenId> tokens;  // window_count * context_tokens

  // Rows of a window: for the tokens after its first half.
  [[nodiscard]] uint32_t RowsPerWindow() const { return context_tokens - 1 - context_tokens / 2; }
};

class BaseWriter {
 public:
  static Result<BaseWriter> Create(const std::string& path, const BaseHeader& header);
  // Rows in order, RowsPerWindow() for each window.
  [[nodiscard]] Result<void> Add(const SavedRow& row);
  // Flushes; what was written before may be lost without it.
  [[nodiscard]] Result<void> Finish();

 private:
  BaseWriter(std::string path, std::ofstream file)
      : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  std::ofstream file_;
};

class BaseReader {
 public:
  // kCorrupt: not such a file, or its numbers contradict each other or the file's size.
  static Result<BaseReader> Open(const std::string& path);
  [[nodiscard]] const BaseHeader& header() const { return header_; }
  // The next row; `target` is the token that follows in the window.
  [[nodiscard]] Result<SavedRow> Next(TokenId target);

 private:
  BaseReader() = default;
  Result<void> ReadHeader();
  [[nodiscard]] Result<SavedRow> NextOwn();
  [[nodiscard]] Result<SavedRow> NextForeign(TokenId target);
  [[nodiscard]] tl::unexpected<Error> Damaged(std::string_view what) const;
  bool ReadBytes(void* to, size_t bytes);

  std::string path_;
  std::ifstream file_;
  bool is_foreign_ = false;
  BaseHeader header_;
  uint64_t rows_read_ = 0;
};

}  // namespace weir
