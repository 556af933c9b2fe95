#!/usr/bin/env python3
"""Writes the seeds of corpus/gguf: small GGUF files of every kind that the reader tells apart.

    python3 tests/fuzz/make_gguf_corpus.py      (needs the PyPI packages gguf and numpy)

Weights are zeros, or ones where they are F32.
"""

import pathlib
import struct

import gguf
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent / "corpus" / "gguf"
TYPES = gguf.GGMLQuantizationType
HIDDEN, FFN, VOCAB, DIM = 32, 64, 40, 16


def tensor(writer, name, rows, cols, kind=TYPES.Q4_0, experts=None):
    block, size = gguf.GGML_QUANT_SIZES[kind]
    shape = [rows, cols // block * size]
    if experts:
        shape = [experts] + shape
    if rows == 1:
        shape = shape[1:]
    data = np.zeros(shape, dtype=np.uint8)
    if kind == TYPES.F32:
        data = np.ones(shape[:-1] + [cols], dtype=np.float32)
        writer.add_tensor(name, data)
    else:
        writer.add_tensor(name, data, raw_dtype=kind)


def common(writer, layers, heads, kv_heads, key=DIM, value=DIM):
    writer.add_block_count(layers)
    writer.add_context_length(256)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(key)
    writer.add_value_length(value)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"<{i}>" for i in range(VOCAB)])
    writer.add_token_scores([-float(i) for i in range(VOCAB)])
    writer.add_token_types([3, 3, 2] + [1] * (VOCAB - 3))
    tensor(writer, "token_embd.weight", VOCAB, HIDDEN, TYPES.Q8_0)
    tensor(writer, "output_norm.weight", 1, HIDDEN, TYPES.F32)


def attention(writer, layer, heads, kv_heads, key=DIM, value=DIM):
    blk = f"blk.{layer}."
    tensor(writer, blk + "attn_norm.weight", 1, HIDDEN, TYPES.F32)
    tensor(writer, blk + "attn_q.weight", heads * key, HIDDEN)
    tensor(writer, blk + "attn_k.weight", kv_heads * key, HIDDEN, TYPES.Q4_1)
    tensor(writer, blk + "attn_v.weight", kv_heads * value, HIDDEN, TYPES.Q5_0)
    tensor(writer, blk + "attn_output.weight", HIDDEN, heads * value, TYPES.Q5_1)
    tensor(writer, blk + "ffn_norm.weight", 1, HIDDEN, TYPES.F32)


def feed_forward(writer, layer):
    blk = f"blk.{layer}."
    tensor(writer, blk + "ffn_gate.weight", FFN, HIDDEN)
    tensor(writer, blk + "ffn_up.weight", FFN, HIDDEN)
    tensor(writer, blk + "ffn_down.weight", HIDDEN, FFN)


def gemma3(writer):
    common(writer, 2, 2, 1)
    writer.add_sliding_window(48)
    writer.add_uint32("gemma3.attention.sliding_window_pattern", 2)
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(8.0)
    for layer in range(2):
        attention(writer, layer, 2, 1)
        feed_forward(writer, layer)
        for name, count in (("attn_q_norm", DIM), ("attn_k_norm", DIM), ("post_attention_norm", HIDDEN), ("post_ffw_norm", HIDDEN)):
            tensor(writer, f"blk.{layer}.{name}.weight", 1, count, TYPES.F32)


def llama(writer):
    common(writer, 1, 2, 2)
    writer.add_rope_dimension_count(DIM)
    tensor(writer, "rope_freqs.weight", 1, DIM // 2, TYPES.F32)
    attention(writer, 0, 2, 2)
    feed_forward(writer, 0)


def mimo2(writer):
    common(writer, 2, 4, [1, 2], 16, 8)
    writer.add_sliding_window(40)
    writer.add_array("mimo2.attention.sliding_window_pattern", [False, True])
    writer.add_float32("mimo2.attention.value_scale", 0.7)
    writer.add_float32("mimo2.rope.freq_base_swa", 10000.0)
    writer.add_rope_dimension_count(8)
    writer.add_expert_count(2)
    writer.add_expert_used_count(1)
    writer.add_expert_feed_forward_length(32)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    attention(writer, 0, 4, 1, 16, 8)
    feed_forward(writer, 0)
    attention(writer, 1, 4, 2, 16, 8)
    tensor(writer, "blk.1.attn_sinks.weight", 1, 4, TYPES.F32)
    tensor(writer, "blk.1.ffn_gate_inp.weight", 2, HIDDEN, TYPES.F32)
    tensor(writer, "blk.1.exp_probs_b.bias", 1, 2, TYPES.F32)
    for name, rows, cols in (("gate", 32, HIDDEN), ("up", 32, HIDDEN), ("down", HIDDEN, 32)):
        tensor(writer, f"blk.1.ffn_{name}_exps.weight", rows, cols, experts=2)


def odd(writer):
    """No dimension is a multiple of a vector's width."""
    hidden, ffn, vocab, heads, key, value = 10, 9, 7, 3, 6, 5
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(heads)
    writer.add_head_count_kv(1)
    writer.add_key_length(key)
    writer.add_value_length(value)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_sliding_window(3)
    writer.add_uint32("gemma3.attention.sliding_window_pattern", 2)
    matrices = {"attn_q": (heads * key, hidden), "attn_k": (key, hidden), "attn_v": (value, hidden), "attn_output": (hidden, heads * value)}
    matrices |= {"ffn_gate": (ffn, hidden), "ffn_up": (ffn, hidden), "ffn_down": (hidden, ffn)}
    vectors = {"attn_norm": hidden, "ffn_norm": hidden, "post_attention_norm": hidden, "post_ffw_norm": hidden}
    vectors |= {"attn_q_norm": key, "attn_k_norm": key}
    tensor(writer, "token_embd.weight", vocab, hidden, TYPES.F32)
    tensor(writer, "output_norm.weight", 1, hidden, TYPES.F32)
    for layer in range(2):
        for name, (rows, cols) in matrices.items():
            tensor(writer, f"blk.{layer}.{name}.weight", rows, cols, TYPES.F32)
        for name, count in vectors.items():
            tensor(writer, f"blk.{layer}.{name}.weight", 1, count, TYPES.F32)


def types(writer):
    for kind in (TYPES.F16, TYPES.BF16, TYPES.Q4_0, TYPES.Q4_1, TYPES.Q5_0, TYPES.Q5_1, TYPES.Q8_0, TYPES.Q4_K, TYPES.Q5_K, TYPES.Q6_K):
        tensor(writer, kind.name, 2, 256, kind)


def values(writer):
    writer.add_uint8("u8", 255)
    writer.add_int8("i8", -128)
    writer.add_uint16("u16", 65535)
    writer.add_int16("i16", -32768)
    writer.add_uint32("u32", 4294967295)
    writer.add_int32("i32", -2147483648)
    writer.add_uint64("u64", 18446744073709551615)
    writer.add_int64("i64", -9223372036854775808)
    writer.add_float32("f32", float("inf"))
    writer.add_float64("f64", float("nan"))
    writer.add_bool("bool", True)
    writer.add_string("string", "line\nbreak \u20ac")
    writer.add_array("strings", ["", "a", "\u20ac"])
    writer.add_array("floats", [1.5, -2.5])
    writer.add_array("nested", [[1, 2], [3, 4]])


def split(writer):
    writer.add_uint16("split.count", 3)
    writer.add_uint16("split.no", 0)


def big_metadata(writer):
    writer.add_uint32("general.alignment", 64)
    writer.data_alignment = 64
    tensor(writer, "token_embd.weight", 2, 32, TYPES.F16)


def write(name, architecture, fill, **options):
    path = HERE / f"{name}.gguf"
    writer = gguf.GGUFWriter(path, architecture, **options)
    fill(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def main():
    HERE.mkdir(parents=True, exist_ok=True)
    write("gemma3", "gemma3", gemma3)
    path = write("llama", "llama", llama)
    write("mimo2", "mimo2", mimo2)
    write("odd", "gemma3", odd)
    write("types", "types", types)
    write("values", "values", values)
    write("split", "llama", split)
    write("alignment", "llama", big_metadata)
    write("big_endian", "values", values, endianess=gguf.GGUFEndian.BIG)
    whole = path.read_bytes()
    (HERE / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    (HERE / "version1.gguf").write_bytes(whole[:4] + struct.pack("<I", 1) + whole[8:64])


if __name__ == "__main__":
    main()
