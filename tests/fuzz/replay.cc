// Feeds files, or all files of folders, to a fuzz function: crashes are the only findings.
//
// Each input is run as it is and cut to a few shorter lengths, so that builds without libFuzzer see
// some damage too. Exit 1 if there was nothing to run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t byte_count);

namespace {

constexpr size_t kCuts = 16;

void RunOne(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  for (size_t cut = 0; cut <= kCuts; ++cut) {
    // A copy of exactly this length: the address sanitizer sees a read past its end.
    std::vector<uint8_t> input(bytes.size() * cut / kCuts);
    if (!input.empty()) std::memcpy(input.data(), bytes.data(), input.size());
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_regular_file(argv[i])) {
      RunOne(argv[i]);
      ++count;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      RunOne(entry.path());
      ++count;
    }
  }
  std::printf("%zu inputs\n", count);
  return count == 0 ? 1 : 0;
}
