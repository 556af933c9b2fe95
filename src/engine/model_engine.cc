// The engine over a real model: apart from engine.cc, so that tests of the step loop link no
// kernels.
#include <memory>
#include <span>
#include <utility>

#include "engine/engine.h"

namespace weir {
namespace {

EngineOptions WithLayers(EngineOptions options, const ModelConfig& config) {
  for (const LayerConfig& layer : config.layers) options.layers.push_back(layer.kv);
  return options;
}

}  // namespace

Engine::Engine(Model& model, std::unique_ptr<KvCache> cache, const EngineOptions& options)
    : Engine([&model](std::span<const ForwardSegment> segments) { return model.Forward(segments); },
             model.config().vocab_size, std::move(cache), WithLayers(options, model.config())) {}

}  // namespace weir
