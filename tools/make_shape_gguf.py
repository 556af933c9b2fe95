#!/usr/bin/env python3
"""Writes a GGUF of a known model's shape with random weights, for measuring speed without the model.

    python3 -m venv venv && venv/bin/pip install gguf numpy
    venv/bin/python tools/make_shape_gguf.py gemma3-1b --type q4_0 \\
        --tokenizer-from "$(scripts/model gemma3-270m)" --out gemma3-1b-q4_0.gguf

Weir and llama.cpp load it as they load the real file: same keys, tensor names, shapes and types.
Matrices are of --type. The tied embedding is Q8_0 in both: `llama-quantize` makes a tied head of a
Q4_0 file Q6_K, and Q8_0 where its rows are no whole Q6_K blocks (640 and 1152 are no multiples of
256), so this is what users' Q4_0 files of these models hold. Norms are F32.

Codes are uniform, scales are set so that a row's products keep the size of its inputs; the same
seed gives the same file. The text that such a model writes means nothing.
"""

import argparse
import dataclasses
import pathlib
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind


@dataclasses.dataclass(frozen=True)
class Shape:
    """A gemma3 model: five layers of six see a window."""
    size_label: str
    layers: int
    hidden: int
    ffn: int
    q_heads: int = 4
    kv_heads: int = 1
    head_dim: int = 256
    window: int = 512
    context: int = 32768
    vocab: int = 262144


# google/gemma-3-270m and google/gemma-3-1b-pt, config.json.
SHAPES = {"gemma3-270m": Shape("270M", layers=18, hidden=640, ffn=2048),
          "gemma3-1b": Shape("1B", layers=26, hidden=1152, ffn=6912)}
TYPES = {"q4_0": (Kind.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0), "q8_0": (Kind.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0)}
# Standard deviation of uniform codes: -8..7 and -127..127.
CODE_SPREAD = {Kind.Q4_0: np.sqrt((16**2 - 1) / 12), Kind.Q8_0: np.sqrt((255**2 - 1) / 12)}


def tensor_list(shape, kind):
    """(name, rows, columns, type); a norm has no rows."""
    hidden, head = shape.hidden, shape.head_dim
    q_rows, kv_rows = shape.q_heads * head, shape.kv_heads * head
    tensors = [("token_embd.weight", shape.vocab, hidden, Kind.Q8_0), ("output_norm.weight", 0, hidden, Kind.F32)]
    for layer in range(shape.layers):
        matrices = [("attn_q", q_rows, hidden), ("attn_k", kv_rows, hidden), ("attn_v", kv_rows, hidden),
                    ("attn_output", hidden, q_rows), ("ffn_gate", shape.ffn, hidden), ("ffn_up", shape.ffn, hidden),
                    ("ffn_down", hidden, shape.ffn)]
        norms = [("attn_norm", hidden), ("attn_q_norm", head), ("attn_k_norm", head), ("post_attention_norm", hidden),
                 ("ffn_norm", hidden), ("post_ffw_norm", hidden)]
        tensors += [(f"blk.{layer}.{name}.weight", rows, columns, kind) for name, rows, columns in matrices]
        tensors += [(f"blk.{layer}.{name}.weight", 0, columns, Kind.F32) for name, columns in norms]
    return tensors


def random_tensor(rng, rows, columns, kind):
    if rows == 0:
        return (1 + 0.1 * rng.standard_normal(columns)).astype(np.float32)
    blocks = rows * columns // 32
    scale = 1 / (np.sqrt(columns) * CODE_SPREAD[kind])
    scales = (scale * rng.uniform(0.5, 1.5, (blocks, 1))).astype(np.float16).view(np.uint8)
    if kind == Kind.Q4_0:
        codes = np.frombuffer(rng.bytes(blocks * 16), np.uint8).reshape(blocks, 16)
    else:
        codes = rng.integers(-127, 128, (blocks, 32), dtype=np.int8).view(np.uint8)
    return np.concatenate([scales, codes], axis=1).reshape(rows, -1)


def add_metadata(writer, name, shape, file_type):
    writer.add_name(f"{name} shape, random weights")
    writer.add_size_label(shape.size_label)
    writer.add_file_type(file_type)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.q_heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_sliding_window(shape.window)


def copy_tokenizer(writer, path, vocab):
    fields = {f.name: f for f in gguf.GGUFReader(path).fields.values() if f.name.startswith("tokenizer.")}
    count = len(fields["tokenizer.ggml.tokens"].data) if "tokenizer.ggml.tokens" in fields else 0
    if count != vocab:
        sys.exit(f"{path}: its tokenizer has {count} tokens, the shape {vocab}")
    for field in fields.values():
        is_array = field.types[0] == gguf.GGUFValueType.ARRAY
        writer.add_key_value(field.name, field.contents(), field.types[0], field.types[-1] if is_array else None)


def write(path, name, type_name, seed, tokenizer_from):
    shape, (kind, file_type) = SHAPES[name], TYPES[type_name]
    writer = gguf.GGUFWriter(path, "gemma3")
    add_metadata(writer, name, shape, file_type)
    copy_tokenizer(writer, tokenizer_from, shape.vocab)
    tensors = tensor_list(shape, kind)
    for tensor, rows, columns, of in tensors:
        row_bytes = columns * 4 if of == Kind.F32 else gguf.quant_shape_to_byte_shape((columns,), of)[0]
        if of == Kind.F32:
            writer.add_tensor_info(tensor, (columns,), np.dtype(np.float32), row_bytes)
        else:
            writer.add_tensor_info(tensor, (rows, row_bytes), np.dtype(np.uint8), rows * row_bytes, of)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for index, (_, rows, columns, of) in enumerate(tensors):
        writer.write_tensor_data(random_tensor(np.random.default_rng([seed, index]), rows, columns, of))
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("--type", choices=TYPES, default="q4_0", help="of all matrices but the embedding")
    parser.add_argument("--tokenizer-from", required=True, metavar="GGUF", help="a file of the same vocabulary")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, help="[SHAPE-TYPE.gguf]")
    args = parser.parse_args()
    path = args.out or pathlib.Path(f"{args.shape}-{args.type}.gguf")
    write(path, args.shape, args.type, args.seed, args.tokenizer_from)
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
