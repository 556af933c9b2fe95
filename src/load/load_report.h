// A load's summary as Markdown for people and as JSON for scripts. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "load/load_summary.h"

namespace weir {

// A table with a row a class, and lines of throughput and errors.
[[nodiscard]] std::string LoadTable(const LoadSummary& summary);

using LoadJson = nlohmann::ordered_json;
[[nodiscard]] LoadJson SummaryJson(const LoadSummary& summary);
// Each request with the moment of each of its texts.
[[nodiscard]] LoadJson RecordsJson(std::span<const RequestRecord> records,
                                   std::span<const std::string> class_names);

}  // namespace weir
