#include "model/gguf_tensors.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr uint32_t kMaxDims = 4;
// Name length, dimension count, one dimension, type, offset.
constexpr uint64_t kMinEntryBytes = 8 + 4 + 8 + 4 + 8;

// Names of the public ggml type numbers, for messages; empty where a number was withdrawn.
constexpr std::array<std::string_view, 43> kGgmlNames = {
    "F32",     "F16",   "Q4_0",   "Q4_1",  "",         "",         "Q5_0",     "Q5_1",    "Q8_0",
    "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",     "Q6_K",     "Q8_K",     "IQ2_XXS", "IQ2_XS",
    "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S",    "IQ4_XS",   "I8",       "I16",     "I32",
    "I64",     "F64",   "IQ1_M",  "BF16",  "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",   "TQ2_0",
    "",        "",      "",       "MXFP4", "NVFP4",    "Q1_0",     "Q2_0"};

struct Entry {
  GgufTensor tensor;
  uint64_t offset = 0;  // from the start of the data
  uint64_t byte_count = 0;
};

Result<WeightType> TypeOf(uint32_t ggml_id, std::string_view name) {
  if (const auto type = WeightTypeFromGgml(ggml_id)) return *type;
  const bool known = ggml_id < kGgmlNames.size() && !kGgmlNames[ggml_id].empty();
  return Fail(
      known ? ErrorCode::kUnsupported : ErrorCode::kCorrupt,
      fmt::format("tensor {} has the type {} (ggml type {}), which Weir cannot compute with; "
                  "it reads F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K",
                  Quoted(name), known ? kGgmlNames[ggml_id] : "unknown", ggml_id));
}

Result<uint64_t> ByteCount(const GgufTensor& tensor) {
  const WeightTypeInfo& info = InfoOf(tensor.type);
  const uint64_t cols = tensor.shape[0];
  if (cols % info.block_elements != 0) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("tensor {}: rows of {} elements are no whole number of {} blocks of {}",
                            Quoted(tensor.name), cols, info.name, info.block_elements));
  }
  uint64_t bytes = cols / info.block_elements;
  bool overflow = __builtin_mul_overflow(bytes, uint64_t{info.block_bytes}, &bytes);
  for (size_t i = 1; i < tensor.shape.size(); ++i) {
    overflow |= __builtin_mul_overflow(bytes, tensor.shape[i], &bytes);
  }
  if (overflow) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("tensor {}: the product of its dimensions [{}] is "
                            "beyond 64 bits",
                            Quoted(tensor.name), fmt::join(tensor.shape, ", ")));
  }
  return bytes;
}

Result<Entry> ReadEntry(GgufCursor& cursor, uint64_t index) {
  const std::string place = fmt::format("entry {} of the tensor table", index);
  Entry entry;
  GgufTensor& tensor = entry.tensor;
  tensor.name = WEIR_TRY(cursor.ReadString(place));
  const auto dims = WEIR_TRY(cursor.Read<uint32_t>(place));
  if (tensor.name.empty()) {
    return Fail(ErrorCode::kCorrupt, fmt::format("{} has no name", place));
  }
  if (dims == 0 || dims > kMaxDims) {
    return Fail(ErrorCode::kCorrupt, fmt::format("tensor {} has {} dimensions, not 1 to {}",
                                                 Quoted(tensor.name), dims, kMaxDims));
  }
  for (uint32_t i = 0; i < dims; ++i) {
    tensor.shape.push_back(WEIR_TRY(cursor.Read<uint64_t>(place)));
    if (tensor.shape.back() == 0) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("tensor {}: dimension {} is 0", Quoted(tensor.name), i));
    }
  }
  const auto ggml_id = WEIR_TRY(cursor.Read<uint32_t>(place));
  tensor.type = WEIR_TRY(TypeOf(ggml_id, tensor.name));
  entry.offset = WEIR_TRY(cursor.Read<uint64_t>(place));
  entry.byte_count = WEIR_TRY(ByteCount(tensor));
  return entry;
}

// Sorts views of the entries by `less` and returns the first neighbours for which `clash` holds.
template <class Less, class Clash>
const Entry* FirstClash(const std::vector<Entry>& entries, Less less, Clash clash) {
  std::vector<const Entry*> sorted;
  for (const Entry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(),
            [&](const Entry* a, const Entry* b) { return less(*a, *b); });
  const auto found = std::adjacent_find(
      sorted.begin(), sorted.end(), [&](const Entry* a, const Entry* b) { return clash(*a, *b); });
  return found == sorted.end() ? nullptr : *(found + 1);
}

Result<void> CheckApart(const std::vector<Entry>& entries) {
  const Entry* twice = FirstClash(
      entries, [](const Entry& a, const Entry& b) { return a.tensor.name < b.tensor.name; },
      [](const Entry& a, const Entry& b) { return a.tensor.name == b.tensor.name; });
  if (twice != nullptr) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("tensor {} is listed twice", Quoted(twice->tensor.name)));
  }
  const Entry* inside = FirstClash(
      entries, [](const Entry& a, const Entry& b) { return a.offset < b.offset; },
      [](const Entry& a, const Entry& b) { return b.offset - a.offset < a.byte_count; });
  if (inside != nullptr) {
    return Fail(ErrorCode::kCorrupt, fmt::format("tensor {}: its bytes overlap another tensor's",
                                                 Quoted(inside->tensor.name)));
  }
  return {};
}

}  // namespace

Result<std::vector<GgufTensor>> ReadGgufTensors(GgufCursor& cursor, uint64_t count,
                                                uint64_t alignment,
                                                std::span<const std::byte> file) {
  if (count > cursor.remaining() / kMinEntryBytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the header promises {} tensors, more than its {} bytes could list",
                            count, cursor.remaining()));
  }
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) entries.push_back(WEIR_TRY(ReadEntry(cursor, i)));
  WEIR_TRY(CheckApart(entries));

  const uint64_t data_begin = (cursor.offset() + alignment - 1) / alignment * alignment;
  const uint64_t data_bytes = file.size() - std::min<uint64_t>(data_begin, file.size());
  std::vector<GgufTensor> tensors;
  tensors.reserve(entries.size());
  for (Entry& entry : entries) {
    const std::string name = Quoted(entry.tensor.name);
    if (entry.offset % alignment != 0) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("tensor {}: offset {} is no multiple of the file's alignment {}",
                              name, entry.offset, alignment));
    }
    if (entry.offset > data_bytes || entry.byte_count > data_bytes - entry.offset) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("tensor {}: {} bytes at data offset {} lie beyond the {} bytes of "
                              "data that the file has (is the download complete?)",
                              name, entry.byte_count, entry.offset, data_bytes));
    }
    entry.tensor.bytes = file.subspan(data_begin + entry.offset, entry.byte_count);
    tensors.push_back(std::move(entry.tensor));
  }
  return tensors;
}

}  // namespace weir
