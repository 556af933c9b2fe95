#include "model/config_keys.h"

#include <cmath>

#include "model/gguf_values.h"

namespace weir {

Result<ConfigKeys> ConfigKeys::Create(const GgufFile& file, const ConfigOverrides& overrides) {
  const auto name = WEIR_TRY(file.String("general.architecture"));
  if (!name || name->empty()) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("{}: the key 'general.architecture' is missing", file.path()));
  }
  return ConfigKeys(file, overrides, std::string(*name));
}

std::string ConfigKeys::FullKey(std::string_view key) const {
  return fmt::format("{}.{}", architecture_, key);
}

Result<std::optional<uint32_t>> ConfigKeys::Count(std::string_view key, uint64_t max) const {
  const auto value = WEIR_TRY(file_->Unsigned(FullKey(key)));
  if (!value) return std::nullopt;
  if (*value == 0 || *value > max) {
    return Corrupt(fmt::format("key {} is {}, not 1 to {}", Quoted(FullKey(key)), *value, max));
  }
  return static_cast<uint32_t>(*value);
}

Result<uint32_t> ConfigKeys::NeedCount(std::string_view key, uint64_t max) const {
  const auto value = WEIR_TRY(Count(key, max));
  if (!value) return Corrupt(fmt::format("the key {} is missing", Quoted(FullKey(key))));
  return *value;
}

Result<std::vector<uint32_t>> ConfigKeys::PerLayer(std::string_view key, uint32_t layer_count,
                                                   uint64_t max) const {
  const std::string full_key = FullKey(key);
  if (!file_->Has(full_key)) return std::vector<uint32_t>();
  const auto array_count = file_->ArrayCount(full_key);
  if (!array_count) {
    const uint64_t value = *WEIR_TRY(file_->Unsigned(full_key));
    if (value > max) {
      return Corrupt(fmt::format("key {} is {}, above {}", Quoted(full_key), value, max));
    }
    return std::vector<uint32_t>(layer_count, static_cast<uint32_t>(value));
  }
  if (*array_count < layer_count) {
    return Corrupt(fmt::format("key {} has {} elements for {} layers", Quoted(full_key),
                               *array_count, layer_count));
  }
  const auto values = WEIR_TRY(file_->Integers(full_key));
  std::vector<uint32_t> out;
  for (uint32_t layer = 0; layer < layer_count; ++layer) {
    if (values[layer] < 0 || static_cast<uint64_t>(values[layer]) > max) {
      return Corrupt(fmt::format("key {}: {} for layer {} is not 0 to {}", Quoted(full_key),
                                 values[layer], layer, max));
    }
    out.push_back(static_cast<uint32_t>(values[layer]));
  }
  return out;
}

Result<std::optional<float>> ConfigKeys::Float(std::string_view key, double min, double max) const {
  const auto value = WEIR_TRY(file_->Float(FullKey(key)));
  if (!value) return std::nullopt;
  if (!(*value >= min && *value <= max)) {  // also NaN
    return Corrupt(
        fmt::format("key {} is {}, not {} to {}", Quoted(FullKey(key)), *value, min, max));
  }
  return static_cast<float>(*value);
}

tl::unexpected<Error> ConfigKeys::Corrupt(const std::string& message) const {
  return Fail(ErrorCode::kCorrupt, fmt::format("{}: {}", file_->path(), message));
}

tl::unexpected<Error> ConfigKeys::Unsupported(const std::string& message) const {
  return Fail(ErrorCode::kUnsupported, fmt::format("{}: {}", file_->path(), message));
}

}  // namespace weir
