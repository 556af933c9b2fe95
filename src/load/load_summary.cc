#include "load/load_summary.h"

#include <utility>

namespace weir {
namespace {

class Gather {
 public:
  explicit Gather(std::string name) { summary_.name = std::move(name); }

  void Add(const RequestRecord& record) {
    ++summary_.requests;
    if (!record.error.empty()) {
      ++summary_.failed;
      return;
    }
    summary_.prompt_tokens += record.prompt_tokens;
    summary_.cached_tokens += record.cached_tokens;
    summary_.answer_tokens += record.answer_tokens;
    total_s_.push_back(record.total_s);
    const std::vector<double>& text_at_s = record.text_at_s;
    if (!text_at_s.empty()) first_text_s_.push_back(text_at_s.front());
    for (size_t i = 1; i < text_at_s.size(); ++i) {
      gap_s_.push_back(text_at_s[i] - text_at_s[i - 1]);
    }
  }

  ClassSummary Finish() && {
    summary_.first_text_s = PercentilesOf(std::move(first_text_s_));
    summary_.gap_s = PercentilesOf(std::move(gap_s_));
    summary_.total_s = PercentilesOf(std::move(total_s_));
    return std::move(summary_);
  }

 private:
  ClassSummary summary_;
  std::vector<double> first_text_s_;
  std::vector<double> gap_s_;
  std::vector<double> total_s_;
};

}  // namespace

LoadSummary Summarize(std::span<const RequestRecord> records,
                      std::span<const std::string> class_names, double seconds) {
  LoadSummary summary;
  summary.seconds = seconds;
  std::vector<Gather> classes(class_names.begin(), class_names.end());
  Gather total("total");
  for (const RequestRecord& record : records) {
    classes[record.class_index].Add(record);
    total.Add(record);
    if (!record.error.empty()) ++summary.errors[record.error];
  }
  for (Gather& gather : classes) {
    ClassSummary of = std::move(gather).Finish();
    if (of.requests > 0) summary.classes.push_back(std::move(of));
  }
  summary.total = std::move(total).Finish();
  return summary;
}

}  // namespace weir
