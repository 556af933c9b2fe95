// Hyperparameters of one architecture from GGUF metadata, each checked against sane bounds.
//
// Keys are relative to the architecture: "block_count" means "gemma3.block_count". Errors name the
// file, the full key and the value. Bounds keep every product of two counts inside 64 bits and
// every dimension inside 32, so that what follows need not think of overflow.
//
// Ownership: borrows the file. Threads: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/gguf.h"

namespace weir {

inline constexpr uint64_t kMaxLayers = 1024;
inline constexpr uint64_t kMaxHeads = 4096;
inline constexpr uint64_t kMaxHeadDim = 8192;
inline constexpr uint64_t kMaxHidden = 1 << 20;
inline constexpr uint64_t kMaxExperts = 4096;
inline constexpr uint64_t kMaxTokens = 1 << 30;  // contexts, windows and vocabularies

// What the user wants other than the file says.
struct ConfigOverrides {
  uint32_t window = 0;  // W of the window group in tokens, own position included; 0: the file's
};

class ConfigKeys {
 public:
  // Fails when the file does not name its architecture.
  static Result<ConfigKeys> Create(const GgufFile& file, const ConfigOverrides& overrides = {});

  [[nodiscard]] const GgufFile& file() const { return *file_; }
  [[nodiscard]] const ConfigOverrides& overrides() const { return overrides_; }
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] std::string FullKey(std::string_view key) const;
  [[nodiscard]] bool Has(std::string_view key) const { return file_->Has(FullKey(key)); }

  // An integer in [1, max]; nullopt when absent.
  [[nodiscard]] Result<std::optional<uint32_t>> Count(std::string_view key, uint64_t max) const;
  // The same, an Error when absent.
  [[nodiscard]] Result<uint32_t> NeedCount(std::string_view key, uint64_t max) const;
  // One value in [0, max] a layer, from a scalar or from an array of at least `layer_count`
  // elements; empty when absent.
  [[nodiscard]] Result<std::vector<uint32_t>> PerLayer(std::string_view key, uint32_t layer_count,
                                                       uint64_t max) const;
  // A finite float in [min, max].
  [[nodiscard]] Result<std::optional<float>> Float(std::string_view key, double min,
                                                   double max) const;

  // Error with the file's name in front.
  [[nodiscard]] tl::unexpected<Error> Corrupt(const std::string& message) const;
  [[nodiscard]] tl::unexpected<Error> Unsupported(const std::string& message) const;

 private:
  ConfigKeys(const GgufFile& file, const ConfigOverrides& overrides, std::string architecture)
      : file_(&file), overrides_(overrides), architecture_(std::move(architecture)) {}

  const GgufFile* file_;
  ConfigOverrides overrides_;
  std::string architecture_;
};

}  // namespace weir
