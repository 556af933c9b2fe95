// GGUF bytes through everything that reads them; what loads as a model also computes one step.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/thread_pool.h"
#include "kv/kv_cache.h"
#include "kv/sequence_view.h"
#include "model/config.h"
#include "model/kv_plan.h"
#include "model/kv_shape.h"
#include "model/model.h"

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

// A model that loads must also run, whatever its shapes.
void RunModel(const GgufFile& file) {
  ThreadPool pool(1);
  auto model = Model::Load(file, pool, {});
  if (!model) return CheckError(model.error());
  const std::vector<TokenId> tokens(3, TokenId(0));
  const KvLayout layout = model->config().Layout(KvFormat::kF16);
  const uint64_t positions = 2 * kTileTokens;
  KvCache cache(
      layout,
      {.full_bytes = layout.FullBytes(positions), .window_bytes = layout.WindowBytes(positions)},
      static_cast<uint32_t>(tokens.size()));
  SequenceView view(cache);
  auto chunk = view.BeginChunk(static_cast<uint32_t>(tokens.size()));
  WEIR_CHECK(chunk.has_value());
  const ForwardSegment segment{.chunk = &*chunk, .tokens = tokens, .logits = LogitsWanted::kLast};
  const auto logits = model->Forward(std::span(&segment, 1));
  WEIR_CHECK(logits.size() == model->config().vocab_size);
  view.Commit(*std::move(chunk));
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
    weir::RunModel(*file);
  } else {
    weir::CheckError(file.error());
  }
  return 0;
}
