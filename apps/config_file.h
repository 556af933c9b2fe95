// Reads --config files that serve every subcommand.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <istream>
#include <string>
#include <vector>

namespace weir {

// `flag = value` lines and `[command]` sections. Lines of other commands' sections are left out, as
// are flags outside sections that only other commands have; an unknown flag stays in and so
// becomes an error.
class SharedConfigFile final : public CLI::ConfigTOML {
 public:
  // `is_foreign` tells whether a flag is unknown to this command and known to another one.
  SharedConfigFile(std::string command, std::function<bool(const std::string& flag)> is_foreign)
      : command_(std::move(command)), is_foreign_(std::move(is_foreign)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  std::string command_;
  std::function<bool(const std::string& flag)> is_foreign_;
};

}  // namespace weir
