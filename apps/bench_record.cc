#include "bench_record.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "base/version.h"

namespace weir {
namespace {

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

// What llama-batched-bench writes of a decode row: there the depth is a prompt that is timed too.
BenchJson BatchedFields(const BenchResult& result) {
  const BenchTest& test = result.test;
  const double count = test.sequence_count;
  const double read_s =
      MeanAndSd({result.depth_samples.begin(), result.depth_samples.end()}).mean * 1e-9;
  const double decode_s = MeanAndSd({result.samples.begin(), result.samples.end()}).mean * 1e-9;
  const auto speed = [](double tokens, double seconds) {
    return tokens > 0 ? tokens / seconds : 0;
  };
  return {{"is_pp_shared", 0},
          {"n_threads_batch", result.threads},
          {"pp", test.depth},
          {"tg", test.answer_tokens},
          {"pl", test.sequence_count},
          {"n_kv", test.sequence_count * test.TokensEach()},
          {"t_pp", read_s},
          {"speed_pp", speed(count * test.depth, read_s)},
          {"t_tg", decode_s},
          {"speed_tg", speed(count * test.answer_tokens, decode_s)},
          {"t", read_s + decode_s},
          {"speed", speed(count * static_cast<double>(test.TokensEach()), read_s + decode_s)}};
}

BenchJson RooflineFields(const Roofline& roofline) {
  BenchJson fields = BenchJson::object();
  const auto add = [&](const char* name, const RooflineShare& share) {
    fields[name] = {{"per_token", share.per_token},
                    {"reached_per_s", share.reached_per_s},
                    {"limit_per_s", share.limit_per_s},
                    {"one_thread_limit_per_s", share.one_thread_limit_per_s},
                    {"of_limit", share.OfLimit()}};
  };
  if (roofline.read) add("read_bytes", *roofline.read);
  if (roofline.int8) add("int8_ops", *roofline.int8);
  if (roofline.int8) fields["int8_ops"]["instruction"] = roofline.instruction;
  fields["attention_ops_per_token"] = roofline.attention_ops_per_token;
  return fields;
}

}  // namespace

BenchJson BenchRecord(const BenchResult& result) {
  const MeanSd ns = MeanAndSd({result.samples.begin(), result.samples.end()});
  const MeanSd speed = MeanAndSd(result.TokensPerSecond());
  BenchJson record = {{"build_commit", fmt::format("weir {}", Version())},
                      {"build_number", 0},
                      {"cpu_info", CpuName()},
                      {"gpu_info", ""},
                      {"backends", "CPU"},
                      {"model_filename", result.model.path},
                      {"model_type", result.model.type},
                      {"model_size", result.model.bytes},
                      {"model_n_params", result.model.parameters},
                      {"n_batch", result.chunk_tokens},
                      {"n_ubatch", result.chunk_tokens},
                      {"n_threads", result.threads},
                      {"cpu_mask", "0x0"},
                      {"cpu_strict", false},
                      {"poll", 0},
                      {"type_k", "f16"},
                      {"type_v", "f16"},
                      {"n_gpu_layers", 0},
                      {"n_cpu_moe", 0},
                      {"split_mode", "none"},
                      {"main_gpu", 0},
                      {"no_kv_offload", false},
                      {"flash_attn", 1},
                      {"devices", "auto"},
                      {"tensor_split", "0.00"},
                      {"tensor_buft_overrides", "none"},
                      {"load_mode", "mmap"},
                      {"embeddings", false},
                      {"no_op_offload", 0},
                      {"no_host", false},
                      {"fit_target", 0},
                      {"fit_min_ctx", 0},
                      {"n_prompt", result.test.prompt_tokens},
                      {"n_gen", result.test.answer_tokens},
                      {"n_depth", result.test.depth},
                      {"test_time", result.started_at},
                      {"avg_ns", static_cast<uint64_t>(ns.mean)},
                      {"stddev_ns", static_cast<uint64_t>(ns.sd)},
                      {"avg_ts", speed.mean},
                      {"stddev_ts", speed.sd},
                      {"samples_ns", result.samples},
                      {"samples_ts", result.TokensPerSecond()}};
  if (result.test.prompt_tokens == 0) record.update(BatchedFields(result));
  if (result.roofline) record["roofline"] = RooflineFields(*result.roofline);
  return record;
}

}  // namespace weir
