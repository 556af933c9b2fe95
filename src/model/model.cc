#include "model/model.h"

#include <utility>

#include "model/forward.h"
#include "model/weights.h"

namespace weir {

struct Model::State {
  State(ModelConfig model_config, ModelWeights model_weights, ThreadPool& pool)
      : config(std::move(model_config)),
        weights(std::move(model_weights)),
        forward(config, weights, pool) {}

  const ModelConfig config;
  const ModelWeights weights;
  ForwardPass forward;  // refers to the two above
};

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Result<Model> Model::Load(const GgufFile& file, ThreadPool& pool, const Progress& progress,
                          const ConfigOverrides& overrides) {
  ModelConfig config = WEIR_TRY(ReadModelConfig(file, overrides));
  ModelWeights weights = WEIR_TRY(LoadWeights(file, config, pool, progress));
  return Model(std::make_unique<State>(std::move(config), std::move(weights), pool));
}

const ModelConfig& Model::config() const { return state_->config; }

uint64_t Model::weight_bytes() const { return state_->weights.bytes(); }

std::span<const float> Model::Forward(std::span<const ForwardSegment> segments) {
  return state_->forward.Run(segments);
}

}  // namespace weir
