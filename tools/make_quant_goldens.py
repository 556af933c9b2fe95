#!/usr/bin/env python3
"""Writes tests/golden/quant/<TYPE>.bin: blocks of each weight type and their values as the gguf
package's reference dequantises them.

File: u32 element count, the blocks' bytes, the f32 values. Needs: pip install gguf numpy.
"""
import pathlib
import sys

import numpy as np
from gguf import GGMLQuantizationType, quants

TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
# Byte offsets of the f16 numbers in a block: random bits there would often be NaN or huge.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
BLOCK = {"Q4_0": (32, 18), "Q4_1": (32, 20), "Q5_0": (32, 22), "Q5_1": (32, 24), "Q8_0": (32, 34),
         "Q4_K": (256, 144), "Q5_K": (256, 176), "Q6_K": (256, 210)}
ELEMENTS = 768


def random_bytes(name: str, rng: np.random.Generator) -> np.ndarray:
    values = rng.standard_normal(ELEMENTS).astype(np.float32)
    if name == "F32":
        return values.view(np.uint8)
    if name == "F16":
        return values.astype(np.float16).view(np.uint8)
    if name == "BF16":
        return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    elements, size = BLOCK[name]
    blocks = rng.integers(0, 256, (ELEMENTS // elements, size), dtype=np.uint8)
    for offset in HALVES[name]:
        halves = (rng.standard_normal(len(blocks)) * 0.01).astype(np.float16)
        blocks[:, offset:offset + 2] = halves.view(np.uint8).reshape(-1, 2)
    return blocks.reshape(-1)


def main() -> None:
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden/quant")
    out.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(TYPES):
        raw = random_bytes(name, np.random.default_rng(seed))
        kind = GGMLQuantizationType[name]
        values = raw.view(np.float32) if name == "F32" else quants.dequantize(raw, kind)
        assert values.size == ELEMENTS, (name, values.size)
        data = np.uint32(ELEMENTS).tobytes() + raw.tobytes() + values.astype("<f4").tobytes()
        (out / f"{name}.bin").write_bytes(data)


if __name__ == "__main__":
    main()
