#!/usr/bin/env python3
"""Makes tests/golden/models: tiny random models as GGUF, and the logits transformers gives for them.

    python3 -m venv venv && venv/bin/pip install torch transformers==5.23.0 gguf numpy
    venv/bin/python tools/make_model_goldens.py            # rewrites tests/golden/models

Each NAME.gguf holds F32 weights drawn from the seed in its name; NAME.json holds the tokens, and
for some positions p the logits row after tokens[0..p], eager attention in float32, twice:

    rows          transformers as it is (keys and values in float32)
    rows_f16_kv   the same with every key and value rounded to float16 on its way into the cache,
                  which is what an engine with a 16-bit KV cache should give

The models are small on purpose (hidden 32), odd where code likes round numbers (vocabulary 266,
heads of 24 and 16), and scaled so that attention is sharp and logits spread: a wrong window, base
or sink moves log-probabilities by 0.1 and more.

A router is a step function: where the last expert chosen and the first one left out are nearly
level, rounding decides, and the answers of two correct programs part. So tokens are drawn until no
decision of the float32 run is closer than 1e-4, and rows_f16_kv stops before the first decision of
its run that is closer than 2e-3.
"""

import argparse
import json
import pathlib

import gguf
import numpy as np
import torch
import transformers
from transformers import DynamicCache

VOCAB = 266
HIDDEN = 32
TOKENS = 1300  # beyond one 1,024-position split and ten tiles
CONTEXT = 4096


class HalfCache(DynamicCache):
    """Keys and values rounded to float16 before any query sees them."""

    def update(self, key_states, value_states, layer_idx, *args, **kwargs):
        return super().update(key_states.half().float(), value_states.half().float(), layer_idx, *args, **kwargs)


def randomize(model, seed, gain):
    """Fills every parameter by name order: matrices N(0, gain/sqrt(fan_in)), vectors by kind."""
    generator = np.random.default_rng(seed)
    with torch.no_grad():
        named = list(model.named_parameters()) + [
            (n, b) for n, b in model.named_buffers() if n.endswith("e_score_correction_bias")]
        for name, tensor in sorted(named, key=lambda item: item[0]):
            shape = tuple(tensor.shape)
            noise = generator.standard_normal(shape).astype(np.float32)
            if name.endswith("sinks"):
                values = 1.0 + noise
            elif name.endswith("e_score_correction_bias"):
                values = 0.2 * noise
            elif len(shape) == 1:  # norms; gemma's multiply by 1 + w
                base = 0.0 if "Gemma" in type(model).__name__ else 1.0
                base += 0.2 if name.endswith(("q_norm.weight", "k_norm.weight")) else 0.0
                values = base + 0.1 * noise
            elif "embed_tokens" in name:
                values = noise * (1.3 / np.sqrt(HIDDEN))
            else:
                sharper = 1.2 if name.endswith(("q_proj.weight", "k_proj.weight")) else 1.0
                values = noise * (gain * sharper / np.sqrt(shape[-1]))
            tensor.copy_(torch.from_numpy(np.ascontiguousarray(values)))


def gemma3(seed, window, scaling=None):
    full_rope = {"rope_type": "default", "rope_theta": 1e6}
    if scaling:
        full_rope = {"rope_type": "linear", "rope_theta": 1e6, "factor": scaling}
    config = transformers.Gemma3TextConfig(
        vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=56, num_hidden_layers=8,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, query_pre_attn_scalar=16,
        sliding_window=window, max_position_embeddings=CONTEXT, rms_norm_eps=1e-6,
        rope_parameters={"full_attention": full_rope,
                         "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}},
        attn_implementation="eager")
    model = transformers.Gemma3ForCausalLM(config).eval()
    randomize(model, seed, 1.0)

    def metadata(w):
        common_metadata(w, config, "gemma3")
        w.add_key_length(16)
        w.add_value_length(16)
        w.add_rope_freq_base(1e6)
        w.add_sliding_window(window)
        if scaling:
            w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            w.add_rope_scaling_factor(scaling)

    names = LAYER_NAMES | {
        "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
        "post_attention_layernorm": "post_attention_norm",
        "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
    return model, metadata, names, lambda name, a: a + 1 if a.ndim == 1 else a


def llama(seed, tied, llama3_rope=False):
    rope = {"rope_type": "default", "rope_theta": 1e4}
    if llama3_rope:
        rope = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 256}
    config = transformers.LlamaConfig(
        vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=72, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=1 if llama3_rope else 2,
        head_dim=20 if llama3_rope else 8, max_position_embeddings=CONTEXT, rms_norm_eps=1e-5,
        tie_word_embeddings=tied, rope_parameters=rope, attn_implementation="eager")
    model = transformers.LlamaForCausalLM(config).eval()
    randomize(model, seed, 1.0)

    def metadata(w):
        common_metadata(w, config, "llama")
        w.add_key_length(config.head_dim)
        w.add_value_length(config.head_dim)
        w.add_rope_dimension_count(config.head_dim)
        w.add_rope_freq_base(rope["rope_theta"])
        if llama3_rope:
            # GGUF carries this scaling as one divisor a frequency.
            plain = 1.0 / rope["rope_theta"] ** (np.arange(0, config.head_dim, 2) / config.head_dim)
            scaled = model.model.rotary_emb.inv_freq.double().numpy()
            w.add_tensor("rope_freqs.weight", (plain / scaled).astype(np.float32))

    def convert(name, a):
        """GGUF's llama rotates neighbours (2i, 2i+1), transformers halves (i, i + d/2)."""
        for suffix, heads in (("q_proj.weight", config.num_attention_heads),
                              ("k_proj.weight", config.num_key_value_heads)):
            if name.endswith(suffix):
                rows, cols = a.shape
                return a.reshape(heads, 2, rows // heads // 2, cols).swapaxes(1, 2).reshape(rows, cols)
        return a

    return model, metadata, LAYER_NAMES, convert


def mimo2(seed, earlier_keys, value_scale=0.707):
    layer_types = ["full_attention" if i in (0, 5) else "sliding_attention" for i in range(7)]
    rope = {"rope_type": "default", "partial_rotary_factor": 1 / 3 + 1e-6}
    config = transformers.MiMoV2FlashConfig(
        vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=64, num_hidden_layers=7,
        num_attention_heads=4, num_key_value_heads=1, head_dim=24, v_head_dim=16,
        max_position_embeddings=CONTEXT, moe_intermediate_size=16, num_experts_per_tok=2,
        n_routed_experts=5, sliding_window_size=earlier_keys, layer_types=layer_types,
        attention_value_scale=value_scale, rms_norm_eps=1e-5,
        rope_parameters={"full_attention": rope | {"rope_theta": 5e6},
                         "sliding_attention": rope | {"rope_theta": 1e4}},
        attn_implementation="eager")
    assert config.sliding_window == earlier_keys + 1
    model = transformers.MiMoV2FlashForCausalLM(config).eval()
    randomize(model, seed, 1.0)

    def metadata(w):
        common_metadata(w, config, "mimo2")
        arch = "mimo2"
        w.add_head_count_kv([1 if t == "full_attention" else 2 for t in layer_types])
        w.add_key_length(24)
        w.add_value_length(16)
        w.add_rope_dimension_count(8)
        w.add_rope_freq_base(5e6)
        w.add_float32(f"{arch}.rope.freq_base_swa", 1e4)
        w.add_sliding_window(earlier_keys)
        w.add_array(f"{arch}.attention.sliding_window_pattern",
                    [t == "sliding_attention" for t in layer_types])
        w.add_float32(f"{arch}.attention.value_scale", value_scale)
        w.add_expert_count(5)
        w.add_expert_used_count(2)
        w.add_expert_feed_forward_length(16)
        w.add_expert_weights_norm(True)
        w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)

    names = LAYER_NAMES | {"mlp.gate": "ffn_gate_inp", "self_attn.sinks": "attn_sinks.weight",
                           "mlp.gate.e_score_correction_bias": "exp_probs_b.bias"}
    return model, metadata, names, lambda name, a: a


LAYER_NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm"}


def common_metadata(w, config, arch):
    w.add_context_length(CONTEXT)
    w.add_embedding_length(HIDDEN)
    w.add_block_count(config.num_hidden_layers)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    if arch != "mimo2":  # there a list, one entry a layer
        w.add_head_count_kv(config.num_key_value_heads)
    w.add_layer_norm_rms_eps(config.rms_norm_eps)
    w.add_vocab_size(VOCAB)
    w.add_file_type(gguf.LlamaFileType.ALL_F32)
    # A byte vocabulary: any text can be encoded, so that the models also serve.
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + list("aeinort")
    kinds = [2, 3, 3] + [6] * 256 + [1] * 7
    assert len(pieces) == VOCAB
    w.add_tokenizer_model("llama")
    w.add_token_list(pieces)
    w.add_token_scores([-float(i) for i in range(VOCAB)])
    w.add_token_types(kinds)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    w.add_add_bos_token(False)
    w.add_add_space_prefix(False)


def write_gguf(path, arch, model, metadata, names, convert):
    w = gguf.GGUFWriter(path, arch)
    metadata(w)
    tensors = dict(model.named_parameters())
    tensors |= {n: b for n, b in model.named_buffers() if n.endswith("e_score_correction_bias")}
    for name, tensor in tensors.items():
        array = convert(name, tensor.detach().numpy().astype(np.float32))
        for target, part in gguf_tensors(name, array, names):
            w.add_tensor(target, np.ascontiguousarray(part))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def gguf_tensors(name, array, names):
    top = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
           "lm_head.weight": "output.weight"}
    if name in top:
        return [(top[name], array)]
    _, _, layer, rest = name.split(".", 3)
    if rest == "mlp.experts.gate_up_proj":
        half = array.shape[1] // 2
        return [(f"blk.{layer}.ffn_gate_exps.weight", array[:, :half]),
                (f"blk.{layer}.ffn_up_exps.weight", array[:, half:])]
    if rest == "mlp.experts.down_proj":
        return [(f"blk.{layer}.ffn_down_exps.weight", array)]
    if rest in names:
        return [(f"blk.{layer}.{names[rest]}", array)]
    stem, kind = rest.rsplit(".", 1)
    return [(f"blk.{layer}.{names[stem]}.{kind}", array)]


def positions_of(window):
    near = {0, 1, 7, 31, 126, 127, 128, 129, 255, 256, 319, 767, 1022, 1023, 1024, 1025, 1100, TOKENS - 1}
    if window:
        near |= {window - 2, window - 1, window, window + 1, 2 * window}
    return sorted(p for p in near if p < TOKENS)


def logits_of(model, tokens, cache):
    with torch.no_grad():
        return model(torch.tensor([tokens]), past_key_values=cache, use_cache=cache is not None).logits[0].numpy()


class RouterMargins:
    """Smallest lead, by position, of the last chosen expert over the first one left out."""

    def __init__(self, model):
        self.margins = np.full(TOKENS, np.inf)
        self.routers = [m for n, m in model.named_modules() if n.endswith("mlp.gate")]
        self.handles = [m.register_forward_hook(self.see) for m in self.routers]

    def see(self, router, _, output):
        choice = output[0].sigmoid() + router.e_score_correction_bias
        best = choice.sort(-1, descending=True).values
        margin = best[:, router.top_k - 1] - best[:, router.top_k]
        self.margins = np.minimum(self.margins, margin.numpy())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()


def draw_tokens(model, seed):
    """Tokens, their logits, and the position of the first close decision with float16 KV."""
    for attempt in range(100):
        tokens = np.random.default_rng([seed, attempt]).integers(3, VOCAB, TOKENS).tolist()
        with RouterMargins(model) as watch:
            logits = logits_of(model, tokens, None)
        if watch.margins.min() > 1e-4:
            break
    with RouterMargins(model) as watch:
        half = logits_of(model, tokens, HalfCache())
    close = np.flatnonzero(watch.margins < 2e-3)
    return tokens, logits, half, int(close[0]) if close.size else TOKENS


def check_prefixes(model, tokens, logits, positions):
    """A row must not depend on what follows it: compare with runs of the prefix alone."""
    for p in positions[::6]:
        alone = logits_of(model, tokens[:p + 1], None)[-1]
        assert np.abs(alone - logits[p]).max() < 1e-3, (p, np.abs(alone - logits[p]).max())


def rounded(row):
    return [float(f"{x:.7g}") for x in row]


def make(directory, name, arch, seed, window, build):
    model, metadata, names, convert = build
    write_gguf(directory / f"{name}.gguf", arch, model, metadata, names, convert)
    positions = positions_of(window)
    tokens, logits, half, half_end = draw_tokens(model, seed)
    check_prefixes(model, tokens, logits, positions)
    golden = {"model": f"{name}.gguf", "transformers": transformers.__version__, "torch": torch.__version__,
              "window_keys": window, "tokens": tokens,
              "rows": {str(p): rounded(logits[p]) for p in positions},
              "rows_f16_kv": {str(p): rounded(half[p]) for p in positions if p < half_end}}
    (directory / f"{name}.json").write_text(json.dumps(golden) + "\n")
    difference = (torch.log_softmax(torch.from_numpy(logits[:half_end]), -1)
                  - torch.log_softmax(torch.from_numpy(half[:half_end]), -1)).abs().max().item()
    size = (directory / f"{name}.gguf").stat().st_size
    print(f"{name}: {size} bytes, logits std {logits.std():.2f}, "
          f"float16 KV (to {half_end}) moves log-probabilities by at most {difference:.2e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent.parent / "tests" / "golden" / "models")
    directory = parser.parse_args().out
    directory.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(2)
    make(directory, "gemma3-w48-seed1", "gemma3", 1, 48, gemma3(1, 48))
    make(directory, "gemma3-w128-seed2", "gemma3", 2, 128, gemma3(2, 128))
    make(directory, "gemma3-scaled-seed3", "gemma3", 3, 100, gemma3(3, 100, scaling=8.0))
    make(directory, "llama-untied-seed1", "llama", 1, 0, llama(1, tied=False))
    make(directory, "llama-tied-seed2", "llama", 2, 0, llama(2, tied=True))
    make(directory, "llama-ropefreqs-seed3", "llama", 3, 0, llama(3, tied=False, llama3_rope=True))
    make(directory, "mimo2-w41-seed1", "mimo2", 1, 41, mimo2(1, 40))
    make(directory, "mimo2-w128-seed2", "mimo2", 2, 128, mimo2(2, 127, 0.612))
    make(directory, "mimo2-w101-seed3", "mimo2", 3, 101, mimo2(3, 100))


if __name__ == "__main__":
    main()
