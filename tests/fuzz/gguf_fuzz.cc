// GGUF bytes through everything that reads them before weights are packed.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "model/config.h"
#include "model/kv_plan.h"
#include "model/kv_shape.h"

namespace weir {
namespace {

// Every way to ask for a key: right types and wrong ones alike must answer, not crash.
void AskEverything(const GgufFile& file) {
  for (const auto& [key, type, text] : file.Describe(4)) {
    WEIR_CHECK(file.Has(key));
    WEIR_CHECK(text.find('\n') == std::string_view::npos);
    (void)file.ArrayCount(key);
    (void)file.Unsigned(key).has_value();
    (void)file.Float(key).has_value();
    (void)file.Bool(key).has_value();
    (void)file.String(key).has_value();
    (void)file.Strings(key).has_value();
    (void)file.Floats(key).has_value();
    (void)file.Integers(key).has_value();
  }
}

void CheckTensors(const GgufFile& file) {
  std::byte sum{};
  for (const GgufTensor& tensor : file.tensors()) {
    WEIR_CHECK(file.FindTensor(tensor.name) == &tensor);
    WEIR_CHECK(tensor.shape[0] % InfoOf(tensor.type).block_elements == 0);
    if (!tensor.bytes.empty()) sum ^= tensor.bytes.front() ^ tensor.bytes.back();
  }
  volatile std::byte sink = sum;  // the reads must happen
  (void)sink;
}

void CheckError(const Error& error) {
  WEIR_CHECK(!error.message.empty());
  WEIR_CHECK(error.message.find('\n') == std::string::npos);
}

void ReadShapes(const GgufFile& file) {
  const auto keys = ConfigKeys::Create(file);
  if (!keys) return CheckError(keys.error());
  const auto shape = ReadKvShape(*keys);
  if (!shape) return CheckError(shape.error());
  const KvPlan plan = PlanKv(LayoutOf(*shape, KvFormat::kF16), kMaxTokens);
  WEIR_CHECK(plan.total_bytes() <= plan.all_full_bytes);
}

void ReadConfig(const GgufFile& file) {
  const auto config = ReadModelConfig(file);
  if (!config) return CheckError(config.error());
  for (const LayerConfig& layer : config->layers) {
    const AttentionSpec& attention = config->AttentionOf(layer);
    WEIR_CHECK(attention.q_heads % attention.kv_heads == 0);
    WEIR_CHECK(attention.rope.dims <= attention.k_dim);
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t byte_count) {
  std::vector<std::byte> bytes(byte_count);  // aligned, as the reader demands
  if (byte_count != 0) std::memcpy(bytes.data(), data, byte_count);
  if (const auto metadata = weir::GgufFile::MetadataFromBytes(bytes, "input")) {
    weir::AskEverything(*metadata);
    weir::ReadShapes(*metadata);
  } else {
    weir::CheckError(metadata.error());
  }
  if (const auto file = weir::GgufFile::FromBytes(bytes, "input")) {
    weir::CheckTensors(*file);
    weir::ReadConfig(*file);
  } else {
    weir::CheckError(file.error());
  }
  return 0;
}
