#!/usr/bin/env python3
"""Perplexity and KL divergence of Weir against llama.cpp on the same tokens. See README.md."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def output_of(command):
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace")
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nexit {run.returncode}: {run.stderr[-600:]}")
    return run.stdout + run.stderr


def perplexity(text):
    """(figure, standard error) of the last 'Final estimate' line."""
    found = re.findall(r"Final estimate: PPL = ([\d.]+) \+/- ([\d.]+)", text)
    if not found:
        raise SystemExit(f"no final estimate in:\n{text[-600:]}")
    return tuple(map(float, found[-1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-perplexity", required=True, help="path of llama-perplexity")
    parser.add_argument("--weir", default=str(ROOT / "build/release/weir"))
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-f", "--file", required=True)
    parser.add_argument("-t", "--threads", default="2")
    parser.add_argument("--chunks", default="200")
    parser.add_argument("--kl-chunks", default="8")
    args = parser.parse_args()
    same = ["-m", args.model, "-f", args.file, "-c", "512", "-t", args.threads]

    ours, our_error = perplexity(output_of([args.weir, "perplexity", *same, "--chunks", args.chunks]))
    theirs, their_error = perplexity(output_of([args.peer_perplexity, *same, "--chunks", args.chunks]))
    print(f"perplexity over {args.chunks} windows of 512: weir {ours:.4f} +/- {our_error:.4f}, "
          f"llama.cpp {theirs:.4f} +/- {their_error:.4f}, difference {100 * (ours / theirs - 1):+.3f} %")
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder) / "peer-rows"
        output_of([args.peer_perplexity, *same, "--chunks", args.kl_chunks, "--kl-divergence-base", base])
        print(output_of([args.weir, "perplexity", "-m", args.model, "-t", args.threads, "--base", base]).strip())
    return 0 if abs(ours / theirs - 1) <= 0.005 else 1


if __name__ == "__main__":
    sys.exit(main())
