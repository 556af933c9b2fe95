#include "jinja/callable.h"

#include <algorithm>

namespace weir::jinja {

Result<std::vector<const Value*>> Bind(const Arguments& arguments, std::string_view callee,
                                       std::initializer_list<std::string_view> names) {
  std::vector<const Value*> bound(names.size(), nullptr);
  if (arguments.positional.size() > names.size()) {
    return TemplateError(fmt::format("'{}' takes {} arguments, not {}", callee, names.size(),
                                     arguments.positional.size()));
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto* place = std::find(names.begin(), names.end(), name);
    if (place == names.end() || bound[static_cast<size_t>(place - names.begin())] != nullptr) {
      return TemplateError(fmt::format("'{}' has no free argument '{}'", callee, name));
    }
    bound[static_cast<size_t>(place - names.begin())] = &value;
  }
  return bound;
}

}  // namespace weir::jinja
