#include "model/gguf.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "io/mapped_file.h"
#include "model/gguf_tensors.h"
#include "model/gguf_values.h"

namespace weir {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMinAlignment = 8;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
// Key length, a key of one byte, type, a value of one byte.
constexpr uint64_t kMinPairBytes = 8 + 1 + 4 + 1;

Result<void> CheckMagic(GgufCursor& cursor) {
  if (cursor.remaining() == 0) return Fail(ErrorCode::kCorrupt, "the file is empty");
  const auto magic = WEIR_TRY(cursor.Skip(std::min<uint64_t>(4, cursor.remaining()), "the magic"));
  const std::string_view text(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (text == kMagic) return {};
  if (magic.size() < kMagic.size() && kMagic.starts_with(text)) {
    return Fail(ErrorCode::kCorrupt, fmt::format("the file ends after {} bytes", text.size()));
  }
  uint64_t number = 0;
  for (const std::byte byte : magic) number = number << 8 | std::to_integer<uint64_t>(byte);
  return Fail(ErrorCode::kCorrupt,
              fmt::format("not a GGUF file: it begins with the bytes {:0{}x}, not with \"GGUF\"",
                          number, magic.size() * 2));
}

Result<uint32_t> ReadVersion(GgufCursor& cursor) {
  const auto version = WEIR_TRY(cursor.Read<uint32_t>("the version"));
  if (version == 2 || version == 3) return version;
  if (const uint32_t swapped = __builtin_bswap32(version); swapped >= 1 && swapped <= 3) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("a big-endian GGUF file (version {}); Weir reads little-endian ones, "
                            "versions 2 and 3",
                            swapped));
  }
  return Fail(version == 1 ? ErrorCode::kUnsupported : ErrorCode::kCorrupt,
              fmt::format("GGUF version {}; Weir reads versions 2 and 3", version));
}

}  // namespace

struct GgufFile::State {
  enum class Parts : uint8_t { kAll, kMetadata };
  struct Pair {
    std::string_view key;
    GgufValue value;
  };

  MappedFile mapping;  // empty for bytes in memory
  std::span<const std::byte> bytes;
  std::string path;
  uint32_t version = 0;
  uint64_t header_bytes = 0;
  std::vector<Pair> pairs;                                    // in file order
  std::unordered_map<std::string_view, size_t> index_of_key;  // into `pairs`
  std::vector<GgufTensor> tensors;                            // in file order
  std::unordered_map<std::string_view, size_t> index_of_tensor;

  [[nodiscard]] const GgufValue* Find(std::string_view key) const {
    const auto found = index_of_key.find(key);
    return found == index_of_key.end() ? nullptr : &pairs[found->second].value;
  }

  static Result<GgufFile> Open(const std::string& path, Parts parts);
  static Result<GgufFile> Make(MappedFile mapping, std::span<const std::byte> bytes,
                               std::string name, Parts parts);
  [[nodiscard]] tl::unexpected<Error> WrongType(std::string_view key,
                                                std::string_view wanted) const;
  // `file` is the GgufFile that owns this state: later parts read keys through it.
  Result<void> Parse(Parts parts, const GgufFile& file);
  Result<void> ReadPairs(GgufCursor& cursor, uint64_t count);
};

Result<void> GgufFile::State::ReadPairs(GgufCursor& cursor, uint64_t count) {
  if (count > cursor.remaining() / kMinPairBytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the header promises {} keys, more than {} bytes could hold", count,
                            cursor.remaining()));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const auto key = WEIR_TRY(cursor.ReadString(fmt::format("key {} of {}", i, count)));
    if (key.empty()) return Fail(ErrorCode::kCorrupt, fmt::format("key {} has no name", i));
    const auto type = static_cast<GgufValueType>(WEIR_TRY(cursor.Read<uint32_t>(key)));
    pairs.push_back({key, WEIR_TRY(GgufValue::Read(cursor, type, key))});
    if (!index_of_key.emplace(key, pairs.size() - 1).second) {
      return Fail(ErrorCode::kCorrupt, fmt::format("key {} is there twice", Quoted(key)));
    }
  }
  return {};
}

Result<void> GgufFile::State::Parse(Parts parts, const GgufFile& file) {
  GgufCursor cursor(bytes);
  WEIR_TRY(CheckMagic(cursor));
  version = WEIR_TRY(ReadVersion(cursor));
  const auto tensor_count = WEIR_TRY(cursor.Read<uint64_t>("the number of tensors"));
  const auto pair_count = WEIR_TRY(cursor.Read<uint64_t>("the number of keys"));
  WEIR_TRY(ReadPairs(cursor, pair_count));
  header_bytes = cursor.offset();
  if (parts == Parts::kMetadata) return {};

  if (const auto count = WEIR_TRY(file.Unsigned("split.count")).value_or(1); count > 1) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("one of {} parts of a split model; join them with llama.cpp's "
                            "`llama-gguf-split --merge` first",
                            count));
  }
  const auto alignment = WEIR_TRY(file.Unsigned("general.alignment")).value_or(kDefaultAlignment);
  if (!std::has_single_bit(alignment) || alignment < kMinAlignment || alignment > kMaxAlignment) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("key 'general.alignment' is {}, not a power of two from {} to {}",
                            alignment, kMinAlignment, kMaxAlignment));
  }
  tensors = WEIR_TRY(ReadGgufTensors(cursor, tensor_count, alignment, bytes));
  header_bytes = cursor.offset();
  for (size_t i = 0; i < tensors.size(); ++i) index_of_tensor.emplace(tensors[i].name, i);
  return {};
}

Result<GgufFile> GgufFile::State::Make(MappedFile mapping, std::span<const std::byte> bytes,
                                       std::string name, Parts parts) {
  auto owned = std::make_unique<State>();
  State& state = *owned;
  state.mapping = std::move(mapping);
  state.bytes = bytes;
  state.path = std::move(name);
  GgufFile file(std::move(owned));
  if (auto parsed = state.Parse(parts, file); !parsed) {
    return Fail(parsed.error().code, fmt::format("{}: {}", state.path, parsed.error().message));
  }
  return file;
}

Result<GgufFile> GgufFile::State::Open(const std::string& path, Parts parts) {
  auto mapping = WEIR_TRY(MappedFile::Open(path));
  const auto bytes = mapping.bytes();
  return Make(std::move(mapping), bytes, path, parts);
}

tl::unexpected<Error> GgufFile::State::WrongType(std::string_view key,
                                                 std::string_view wanted) const {
  const GgufValue& value = *Find(key);
  const std::string_view array = value.type == GgufValueType::kArray ? "an array of " : "";
  return Fail(ErrorCode::kCorrupt, fmt::format("{}: key {} is {}{}, not {}", path, Quoted(key),
                                               array, NameOf(value.element_type), wanted));
}

GgufFile::GgufFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;
GgufFile::~GgufFile() = default;

Result<GgufFile> GgufFile::Open(const std::string& path) {
  return State::Open(path, State::Parts::kAll);
}

Result<GgufFile> GgufFile::OpenMetadata(const std::string& path) {
  return State::Open(path, State::Parts::kMetadata);
}

Result<GgufFile> GgufFile::FromBytes(std::span<const std::byte> bytes, std::string name) {
  return State::Make({}, bytes, std::move(name), State::Parts::kAll);
}

Result<GgufFile> GgufFile::MetadataFromBytes(std::span<const std::byte> bytes, std::string name) {
  return State::Make({}, bytes, std::move(name), State::Parts::kMetadata);
}

bool GgufFile::Has(std::string_view key) const { return state_->Find(key) != nullptr; }

std::optional<uint64_t> GgufFile::ArrayCount(std::string_view key) const {
  const GgufValue* value = state_->Find(key);
  if (value == nullptr || value->type != GgufValueType::kArray) return std::nullopt;
  return value->count;
}

Result<std::optional<uint64_t>> GgufFile::Unsigned(std::string_view key) const {
  const GgufValue* value = state_->Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type == GgufValueType::kArray || !value->IsInteger()) {
    return state_->WrongType(key, "an integer");
  }
  const int64_t number = value->IntegerAt(0);
  if (number < 0 && value->type != GgufValueType::kUint64) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("{}: key {} is negative ({})", path(), Quoted(key), number));
  }
  return static_cast<uint64_t>(number);
}

Result<std::optional<double>> GgufFile::Float(std::string_view key) const {
  const GgufValue* value = state_->Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type == GgufValueType::kArray || !value->IsFloat()) {
    return state_->WrongType(key, "a float");
  }
  return value->FloatAt(0);
}

Result<std::optional<bool>> GgufFile::Bool(std::string_view key) const {
  const GgufValue* value = state_->Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufValueType::kBool) return state_->WrongType(key, "a bool");
  return value->IntegerAt(0) != 0;
}

Result<std::optional<std::string_view>> GgufFile::String(std::string_view key) const {
  const GgufValue* value = state_->Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufValueType::kString) return state_->WrongType(key, "a string");
  std::string_view text;
  value->ForEachString(1, [&](std::string_view only) { text = only; });
  return text;
}

Result<std::vector<std::string_view>> GgufFile::Strings(std::string_view key) const {
  std::vector<std::string_view> out;
  const GgufValue* value = state_->Find(key);
  if (value == nullptr) return out;
  if (value->type != GgufValueType::kArray || value->element_type != GgufValueType::kString) {
    return state_->WrongType(key, "an array of strings");
  }
  out.reserve(value->count);
  value->ForEachString(value->count, [&](std::string_view text) { out.push_back(text); });
  return out;
}

Result<std::vector<double>> GgufFile::Floats(std::string_view key) const {
  std::vector<double> out;
  const GgufValue* value = state_->Find(key);
  if (value == nullptr) return out;
  if (value->type != GgufValueType::kArray || !value->IsFloat()) {
    return state_->WrongType(key, "an array of floats");
  }
  out.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) out.push_back(value->FloatAt(i));
  return out;
}

Result<std::vector<int64_t>> GgufFile::Integers(std::string_view key) const {
  std::vector<int64_t> out;
  const GgufValue* value = state_->Find(key);
  if (value == nullptr) return out;
  const bool is_whole = value->IsInteger() || value->element_type == GgufValueType::kBool;
  if (value->type != GgufValueType::kArray || !is_whole || !value->FitsInt64()) {
    return state_->WrongType(key, "an array of integers or bools");
  }
  out.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) out.push_back(value->IntegerAt(i));
  return out;
}

std::vector<GgufFile::KeyText> GgufFile::Describe(uint32_t max_elements) const {
  std::vector<KeyText> out;
  for (const auto& [key, value] : state_->pairs) {
    out.push_back({key, value.type, value.Text(max_elements)});
  }
  return out;
}

const std::vector<GgufTensor>& GgufFile::tensors() const { return state_->tensors; }

const GgufTensor* GgufFile::FindTensor(std::string_view name) const {
  const auto found = state_->index_of_tensor.find(name);
  return found == state_->index_of_tensor.end() ? nullptr : &state_->tensors[found->second];
}

std::span<const std::byte> GgufFile::header() const {
  return state_->bytes.first(state_->header_bytes);
}
uint32_t GgufFile::version() const { return state_->version; }
uint64_t GgufFile::file_bytes() const { return state_->bytes.size(); }
const std::string& GgufFile::path() const { return state_->path; }
void GgufFile::DropPages() const { state_->mapping.DropPages(); }

}  // namespace weir
