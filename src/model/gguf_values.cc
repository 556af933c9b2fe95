#include "model/gguf_values.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

// Arrays of arrays are legal, though no known key uses them.
constexpr uint32_t kMaxArrayDepth = 4;

struct TypeInfo {
  std::string_view name;
  uint32_t bytes;
};
constexpr std::array<TypeInfo, 13> kTypes = {{{"u8", 1},
                                              {"i8", 1},
                                              {"u16", 2},
                                              {"i16", 2},
                                              {"u32", 4},
                                              {"i32", 4},
                                              {"f32", 4},
                                              {"bool", 1},
                                              {"string", 0},
                                              {"array", 0},
                                              {"u64", 8},
                                              {"i64", 8},
                                              {"f64", 8}}};

template <class T>
T Load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

Result<void> CheckType(GgufValueType type, std::string_view key) {
  if (static_cast<uint32_t>(type) < kTypes.size()) return {};
  return Fail(ErrorCode::kCorrupt, fmt::format("key {} has the unknown type {}", Quoted(key),
                                               static_cast<uint32_t>(type)));
}

Result<void> SkipElements(GgufCursor& cursor, GgufValueType type, uint64_t count,
                          std::string_view key, uint32_t depth);

struct ArrayHeader {
  GgufValueType type = GgufValueType::kUint8;
  uint64_t count = 0;
};

Result<ArrayHeader> ReadArrayHeader(GgufCursor& cursor, std::string_view key) {
  ArrayHeader header;
  header.type = static_cast<GgufValueType>(WEIR_TRY(cursor.Read<uint32_t>("an array's type")));
  WEIR_TRY(CheckType(header.type, key));
  header.count = WEIR_TRY(cursor.Read<uint64_t>("an array's length"));
  return header;
}

Result<void> SkipBools(GgufCursor& cursor, uint64_t count, std::string_view key) {
  const auto values = WEIR_TRY(cursor.Skip(count, key));
  const auto is_bool = [](std::byte value) { return value <= std::byte{1}; };
  if (!std::all_of(values.begin(), values.end(), is_bool)) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("key {} holds a bool that is neither 0 nor 1", Quoted(key)));
  }
  return {};
}

Result<void> SkipElements(GgufCursor& cursor, GgufValueType type, uint64_t count,
                          std::string_view key, uint32_t depth) {
  if (type == GgufValueType::kBool) return SkipBools(cursor, count, key);
  if (const uint32_t bytes = FixedBytes(type); bytes != 0) {
    // One more than fits stands for any larger count: the product must not overflow.
    WEIR_TRY(cursor.Skip(std::min(count, cursor.remaining() / bytes + 1) * bytes, key));
    return {};
  }
  if (type == GgufValueType::kArray && depth >= kMaxArrayDepth) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("key {} nests arrays more than {} deep", Quoted(key), kMaxArrayDepth));
  }
  for (uint64_t i = 0; i < count; ++i) {  // each takes 8 bytes or more: ends with the file
    if (type == GgufValueType::kString) {
      WEIR_TRY(cursor.ReadString(key));
      continue;
    }
    const ArrayHeader inner = WEIR_TRY(ReadArrayHeader(cursor, key));
    WEIR_TRY(SkipElements(cursor, inner.type, inner.count, key, depth + 1));
  }
  return {};
}

}  // namespace

uint32_t FixedBytes(GgufValueType type) { return kTypes[static_cast<uint32_t>(type)].bytes; }

std::string_view NameOf(GgufValueType type) { return kTypes[static_cast<uint32_t>(type)].name; }

std::string Quoted(std::string_view text, size_t max_bytes) {
  std::string out = "'";
  for (const char c : text.substr(0, max_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += c == '\n' ? std::string("\\n") : fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  if (text.size() > max_bytes) {
    // Not half a character at the cut.
    while (out.size() > 1 && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) {
      out.pop_back();
    }
    if (static_cast<unsigned char>(out.back()) >= 0xC0) out.pop_back();
    out += "...";
  }
  return out + "'";
}

tl::unexpected<Error> GgufCursor::EndsEarly(std::string_view what, uint64_t wanted) const {
  return Fail(ErrorCode::kCorrupt,
              fmt::format("the file ends inside {}: at byte {} it wants {} bytes and {} are left",
                          Quoted(what), offset_, wanted, remaining()));
}

Result<std::string_view> GgufCursor::ReadString(std::string_view what) {
  const auto length = WEIR_TRY(Read<uint64_t>(what));
  const auto bytes = WEIR_TRY(Skip(length, what));
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::span<const std::byte>> GgufCursor::Skip(uint64_t byte_count, std::string_view what) {
  if (byte_count > remaining()) return EndsEarly(what, byte_count);
  const auto skipped = bytes_.subspan(offset_, byte_count);
  offset_ += byte_count;
  return skipped;
}

Result<GgufValue> GgufValue::Read(GgufCursor& cursor, GgufValueType type, std::string_view key) {
  WEIR_TRY(CheckType(type, key));
  GgufValue value;
  value.type = value.element_type = type;
  if (type == GgufValueType::kArray) {
    const ArrayHeader header = WEIR_TRY(ReadArrayHeader(cursor, key));
    value.element_type = header.type;
    value.count = header.count;
  }
  const GgufCursor start = cursor;
  WEIR_TRY(SkipElements(cursor, value.element_type, value.count, key, 1));
  GgufCursor again = start;
  value.bytes = WEIR_TRY(again.Skip(cursor.offset() - start.offset(), key));
  return value;
}

bool GgufValue::IsInteger() const {
  return FixedBytes(element_type) != 0 && !IsFloat() && element_type != GgufValueType::kBool;
}

bool GgufValue::IsFloat() const {
  return element_type == GgufValueType::kFloat32 || element_type == GgufValueType::kFloat64;
}

int64_t GgufValue::IntegerAt(uint64_t index) const {
  const std::byte* at = bytes.data() + index * FixedBytes(element_type);
  switch (element_type) {
    case GgufValueType::kInt8:
      return Load<int8_t>(at);
    case GgufValueType::kUint16:
      return Load<uint16_t>(at);
    case GgufValueType::kInt16:
      return Load<int16_t>(at);
    case GgufValueType::kUint32:
      return Load<uint32_t>(at);
    case GgufValueType::kInt32:
      return Load<int32_t>(at);
    case GgufValueType::kUint64:
    case GgufValueType::kInt64:
      return Load<int64_t>(at);
    default:
      return Load<uint8_t>(at);  // u8 and bool
  }
}

double GgufValue::FloatAt(uint64_t index) const {
  const std::byte* at = bytes.data() + index * FixedBytes(element_type);
  return element_type == GgufValueType::kFloat32 ? Load<float>(at) : Load<double>(at);
}

bool GgufValue::FitsInt64() const {
  if (element_type != GgufValueType::kUint64) return true;
  for (uint64_t i = 0; i < count; ++i) {
    if (IntegerAt(i) < 0) return false;
  }
  return true;
}

std::string GgufValue::Text(uint32_t max_elements) const {
  if (element_type == GgufValueType::kArray) return fmt::format("[{} arrays]", count);
  std::string out;
  uint64_t shown = 0;
  const auto add = [&](const std::string& element) { out += (shown++ == 0 ? "" : ", ") + element; };
  const uint64_t wanted = std::min<uint64_t>(count, max_elements);
  if (element_type == GgufValueType::kString) {
    ForEachString(wanted, [&](std::string_view text) { add(Quoted(text)); });
  } else {
    for (uint64_t i = 0; i < wanted; ++i) {
      if (IsFloat()) {
        add(fmt::format("{:g}", FloatAt(i)));
      } else if (element_type == GgufValueType::kBool) {
        add(IntegerAt(i) != 0 ? "true" : "false");
      } else if (element_type == GgufValueType::kUint64) {
        add(fmt::format("{}", static_cast<uint64_t>(IntegerAt(i))));
      } else {
        add(fmt::format("{}", IntegerAt(i)));
      }
    }
  }
  if (type != GgufValueType::kArray) return out;
  return count > wanted ? fmt::format("[{}, ...] ({} {})", out, count, NameOf(element_type))
                        : fmt::format("[{}]", out);
}

}  // namespace weir
