// Opens a scope of an evaluator and closes it again.
#pragma once

#include <memory>
#include <utility>

#include "jinja/evaluator.h"

namespace weir::jinja {

class Evaluator::ScopeGuard {
 public:
  ScopeGuard(Evaluator& evaluator, std::shared_ptr<Scope> outer)
      : evaluator_(evaluator),
        saved_(std::exchange(evaluator.scope_,
                             std::make_shared<Scope>(Scope{{}, std::move(outer)}))) {}
  explicit ScopeGuard(Evaluator& evaluator) : ScopeGuard(evaluator, evaluator.scope_) {}
  ~ScopeGuard() { evaluator_.scope_ = std::move(saved_); }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Evaluator& evaluator_;
  std::shared_ptr<Scope> saved_;
};

}  // namespace weir::jinja
