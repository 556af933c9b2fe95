// Finds and reads the traces of a folder.
//
// A Mooncake or Azure file is a trace of its own; the Claude Code sessions of a folder are one
// trace, and so are its agent text files. Other files are passed over. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/trace.h"

namespace weir {

struct TraceFolderOptions {
  // Claude Code sessions have no date: each begins at a random moment of the first 24 hours.
  uint64_t start_seed = 1;
};

// Traces below `path` (a folder or one file), in the order of their names. kNotFound: there are
// none; else what reading a file said.
Result<std::vector<Trace>> ReadTraces(const std::string& path, const TraceFolderOptions& options);

}  // namespace weir
