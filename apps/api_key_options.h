// --api-key and --api-key-file, for the commands that listen.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "server/api_keys.h"

namespace weir {

struct ApiKeyOptions {
  std::string keys;  // one, or several between commas; all with an admin's rights
  std::string file;
};

void AddApiKeyOptions(CLI::App& app, ApiKeyOptions& options);

// The keys of both, none if neither is given. kInvalidArgument or kNotFound, never with a key in
// the message.
[[nodiscard]] Result<ApiKeys> ReadApiKeys(const ApiKeyOptions& options);

}  // namespace weir
