#include "sim/trace_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/mapped_file.h"
#include "sim/trace_formats.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr double kDay = 24.0 * 3600.0;

// Files with names of traces below `path`, sorted: the order of a folder must not matter.
Result<std::vector<fs::path>> CandidateFiles(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return std::vector{path};
  std::vector<fs::path> files;
  fs::recursive_directory_iterator entries(path, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    const fs::path extension = entries->path().extension();
    if (!entries->is_regular_file(error)) continue;
    const bool is_candidate = extension == ".json" || extension == ".jsonl" || extension == ".csv";
    if (is_candidate && entries->file_size(error) > 0) files.push_back(entries->path());
  }
  if (error) return Fail(ErrorCode::kIo, fmt::format("{}: {}", path.string(), error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

struct PartialTrace {
  std::optional<TraceBuilder> builder;
  uint32_t session_count = 0;
  std::mt19937_64 random;
};

class FolderReader {
 public:
  explicit FolderReader(const TraceFolderOptions& options) : options_(options) {}

  Result<void> Read(const fs::path& file) {
    const MappedFile map = WEIR_TRY(MappedFile::Open(file.string()));
    const std::string_view text(reinterpret_cast<const char*>(map.bytes().data()),
                                map.bytes().size());
    const fs::path folder = file.parent_path();
    switch (SniffTraceFormat(text)) {
      case TraceFormat::kMooncake:
        return AddMooncakeLines(text, file.string(), *At(file, kMooncakeBlockTokens).builder);
      case TraceFormat::kAgentText:
        return AddAgentTextLines(text, file.string(), *At(folder, kAgentTextBlockTokens).builder);
      case TraceFormat::kClaudeCode: {
        PartialTrace& trace = At(folder, kClaudeCodeBlockTokens);
        // Not a std:: distribution: those differ between libraries.
        const double start_s = static_cast<double>(trace.random() >> 11) * 0x1p-53 * kDay;
        return AddClaudeCodeSession(text, file.string(), trace.session_count++, start_s,
                                    *trace.builder);
      }
      case TraceFormat::kAzure:
        return AddAzureLines(text, file.string(), *At(file, kAzureBlockTokens).builder);
      case TraceFormat::kUnknown:
        break;
    }
    return {};
  }

  std::vector<Trace> Build() && {
    std::vector<Trace> traces;
    for (auto& [source, partial] : partial_) traces.push_back(std::move(*partial.builder).Build());
    return traces;
  }

 private:
  // The trace named after a file or a folder.
  PartialTrace& At(const fs::path& source, uint32_t block_tokens) {
    PartialTrace& trace = partial_[{source, block_tokens}];
    if (!trace.builder) {
      trace.builder.emplace(source.stem().string(), block_tokens);
      trace.random.seed(options_.start_seed);
    }
    return trace;
  }

  const TraceFolderOptions& options_;
  std::map<std::pair<fs::path, uint32_t>, PartialTrace> partial_;
};

}  // namespace

Result<std::vector<Trace>> ReadTraces(const std::string& path, const TraceFolderOptions& options) {
  FolderReader reader(options);
  const std::vector<fs::path> files = WEIR_TRY(CandidateFiles(path));
  for (const fs::path& file : files) WEIR_TRY(reader.Read(file));
  std::vector<Trace> traces = std::move(reader).Build();
  if (traces.empty()) return Fail(ErrorCode::kNotFound, fmt::format("{}: no trace there", path));
  return traces;
}

}  // namespace weir
