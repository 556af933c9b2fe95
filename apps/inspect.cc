// `weir inspect`: what a GGUF file holds.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "base/byte_count.h"
#include "command.h"
#include "kv_table.h"
#include "model/config.h"
#include "model/kv_shape.h"

namespace weir {
namespace {

constexpr uint32_t kShownElements = 4;

struct Options {
  std::string model;
};

void PrintMetadata(const GgufFile& file) {
  fmt::print("{}: {}, GGUF version {}\n\n", file.path(), FormatByteCount(file.file_bytes()),
             file.version());
  for (const auto& [key, type, text] : file.Describe(kShownElements)) {
    fmt::print("{:<44} {}\n", key, text);
  }
}

Result<void> PrintGroups(const GgufFile& file) {
  const auto keys = WEIR_TRY(ConfigKeys::Create(file));
  const auto shape = WEIR_TRY(ReadKvShape(keys));
  std::string kinds;
  for (const KvLayer& layer : shape.layers) kinds += layer.group == KvGroupKind::kFull ? 'F' : 'w';
  fmt::print("\nlayers (F full, w window): {}\n\n", kinds);
  PrintKvGroups(LayoutOf(shape, KvFormat::kF16));
  return {};
}

void PrintTensors(const GgufFile& file) {
  struct Sum {
    uint64_t count = 0, elements = 0, bytes = 0;
  };
  std::map<WeightType, Sum> sums;
  Sum total;
  for (const GgufTensor& tensor : file.tensors()) {
    uint64_t elements = 1;
    for (const uint64_t dim : tensor.shape) elements *= dim;
    for (Sum* sum : {&sums[tensor.type], &total}) {
      ++sum->count;
      sum->elements += elements;
      sum->bytes += tensor.bytes.size();
    }
  }
  const auto line = [](std::string_view name, const Sum& sum) {
    fmt::print("{:<8}{:>9}{:>16}{:>13}\n", name, sum.count, sum.elements,
               FormatByteCount(sum.bytes));
  };
  fmt::print("\n{:<8}{:>9}{:>16}{:>13}\n", "type", "tensors", "elements", "bytes");
  for (const auto& [type, sum] : sums) line(InfoOf(type).name, sum);
  line("all", total);
}

Result<void> Run(const Options& options) {
  auto file = GgufFile::Open(options.model);
  if (!file) {
    // The metadata may still be readable, and tell what the file is.
    if (const auto metadata = GgufFile::OpenMetadata(options.model)) PrintMetadata(*metadata);
    return tl::make_unexpected(std::move(file).error());
  }
  PrintMetadata(*file);
  const auto groups = PrintGroups(*file);
  PrintTensors(*file);
  WEIR_TRY(groups);
  const auto config = ReadModelConfig(*file);
  if (!config) fmt::print("\nWeir cannot run it: {}\n", config.error().message);
  return {};
}

}  // namespace

Command MakeInspectCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("file,-m,--model", options->model, "Model file")->option_text("GGUF")->required();
  return [options] { return Run(*options); };
}

}  // namespace weir
