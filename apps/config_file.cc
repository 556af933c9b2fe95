#include "config_file.h"

namespace weir {

std::vector<CLI::ConfigItem> SharedConfigFile::from_config(std::istream& input) const {
  std::vector<CLI::ConfigItem> own;  // of this command's section: the parser keeps the first value
  std::vector<CLI::ConfigItem> shared;
  for (CLI::ConfigItem& item : CLI::ConfigTOML::from_config(input)) {
    if (item.name == "++" || item.name == "--") continue;  // where a section begins and ends
    if (item.parents.empty()) {
      if (!is_foreign_(item.name)) shared.push_back(std::move(item));
    } else if (item.parents.front() == command_) {
      item.parents.erase(item.parents.begin());
      own.push_back(std::move(item));
    }
  }
  own.insert(own.end(), shared.begin(), shared.end());
  return own;
}

}  // namespace weir
