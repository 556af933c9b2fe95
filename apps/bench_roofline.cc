#include "bench_roofline.h"

namespace weir {
namespace {

// Mean of value(position) over the row's positions.
template <class Value>
double MeanOverRow(const BenchTest& test, const Value& value) {
  double sum = 0;
  for (uint64_t position = test.depth; position < test.TokensEach(); ++position) {
    sum += value(position);
  }
  return sum / static_cast<double>(test.TokensEach() - test.depth);
}

// A step reads the weights once for all its sequences, and each one's KV.
double ReadBytesPerToken(const ModelWork& work, const BenchTest& test) {
  const auto kv_bytes = [&](uint64_t position) { return work.KvBytes(position); };
  return work.WeightBytes(test.sequence_count) / test.sequence_count + MeanOverRow(test, kv_bytes);
}

// Prefill computes one row of logits.
double Int8OpsPerToken(const ModelWork& work, const BenchTest& test) {
  return static_cast<double>(work.layer_int8_ops) +
         static_cast<double>(work.head_int8_ops) / test.prompt_tokens;
}

}  // namespace

Roofline HoldAgainst(const MachineLimits& limits, const ModelWork& work, const BenchTest& test,
                     double tokens_per_s) {
  const auto attention_ops = [&](uint64_t position) { return work.AttentionOps(position); };
  Roofline roofline{.attention_ops_per_token = MeanOverRow(test, attention_ops),
                    .instruction = limits.instruction};
  const auto share = [&](double per_token, double MachineRates::*rate) {
    return RooflineShare{.per_token = per_token,
                         .reached_per_s = per_token * tokens_per_s,
                         .limit_per_s = limits.all_threads.*rate,
                         .one_thread_limit_per_s = limits.one_thread.*rate};
  };
  if (test.prompt_tokens == 0) {
    roofline.read = share(ReadBytesPerToken(work, test), &MachineRates::read_bytes_per_s);
  } else if (test.answer_tokens == 0) {
    roofline.int8 = share(Int8OpsPerToken(work, test), &MachineRates::int8_ops_per_s);
  }
  return roofline;
}

}  // namespace weir
