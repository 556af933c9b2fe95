#!/usr/bin/env python3
"""Weir and llama.cpp in turns on the same file: medians, ratio and spread as a table. See README.md."""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse_test(name):
    """'pp512@d4096' -> (prompt tokens, generated tokens, depth)."""
    match = re.fullmatch(r"(pp|tg)(\d+)(?:\s*@\s*d(\d+))?", name)
    if not match:
        raise SystemExit(f"'{name}' is no test; write pp512, tg64 or pp512@d4096")
    count, depth = int(match[2]), int(match[3] or 0)
    return (count, 0, depth) if match[1] == "pp" else (0, count, depth)


def tokens_per_second(program, model, threads, test, extra):
    prompt, generated, depth = parse_test(test)
    command = [*program, "-m", model, "-t", str(threads), "-p", str(prompt), "-n", str(generated), "-d", str(depth),
               "-r", "1", "-o", "json", *extra]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nexit {run.returncode}: {run.stderr[-400:]}")
    return float(json.loads(run.stdout)[0]["avg_ts"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-bench", required=True, help="path of llama-bench")
    parser.add_argument("--weir", default=str(ROOT / "build/release/weir"))
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tests", default="pp512,tg64,pp512@d4096,tg64@d4096")
    args = parser.parse_args()

    print(f"{pathlib.Path(args.model).name}, {args.threads} threads, {args.rounds} rounds in turns, t/s\n")
    print("| test | weir | llama.cpp | ratio | spread |\n|---|--:|--:|--:|---|")
    for test in args.tests.split(","):
        ours, theirs = [], []
        for _ in range(args.rounds):
            ours.append(tokens_per_second([args.weir, "bench"], args.model, args.threads, test, []))
            theirs.append(tokens_per_second([args.peer_bench], args.model, args.threads, test, ["-fa", "1"]))
        ratios = sorted(a / b for a, b in zip(ours, theirs))
        median_ours, median_theirs = statistics.median(ours), statistics.median(theirs)
        print(f"| {test} | {median_ours:.1f} | {median_theirs:.1f} | {median_ours / median_theirs:.2f} | "
              f"{ratios[0]:.2f}..{ratios[-1]:.2f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
