#include "bench_roofline.h"

namespace weir {
namespace {

// A step reads the weights once for all its sequences, and each one's KV.
double ReadBytesPerToken(const ModelWork& work, const BenchTest& test) {
  double kv_bytes = 0;
  for (uint32_t i = 0; i < test.answer_tokens; ++i) {
    kv_bytes += work.KvBytes(uint64_t{test.depth} + i);
  }
  return work.WeightBytes(test.sequence_count) / test.sequence_count +
         kv_bytes / test.answer_tokens;
}

// Prefill computes one row of logits.
double Int8OpsPerToken(const ModelWork& work, const BenchTest& test) {
  return static_cast<double>(work.layer_int8_ops) +
         static_cast<double>(work.head_int8_ops) / test.prompt_tokens;
}

}  // namespace

Roofline HoldAgainst(const MachineLimits& limits, const ModelWork& work, const BenchTest& test,
                     double tokens_per_s) {
  Roofline roofline{.instruction = limits.instruction};
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
