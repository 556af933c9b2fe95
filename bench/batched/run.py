#!/usr/bin/env python3
"""Decode of many sequences in one step: Weir and llama.cpp in turns. See README.md."""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAST_OF_ERROR = 600  # characters


def output_of(command):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{shlex.join(command)}\nexit {run.returncode}: {(run.stderr or run.stdout)[-LAST_OF_ERROR:]}")
    return run.stdout


def record_in(output, command):
    """The one JSON record of a decode row; llama-batched-bench logs other lines around it."""
    for line in output.splitlines():
        if line.startswith("{") and '"speed_tg"' in line:
            return json.loads(line)
    raise SystemExit(f"{shlex.join(command)}\nwrote no row: {output[-LAST_OF_ERROR:]}")


def counts(text):
    return [int(part) for part in text.split(",")]


class Bench:
    def __init__(self, args):
        self.args = args
        self.peer_flags = shlex.split(args.peer_flags)

    def weir(self, model, depth, sequences):
        args = self.args
        return [args.weir, "bench", "-m", model, "-t", str(args.threads), "-p", "0", "-n", str(args.answer), "-d", str(depth),
                "--npl", str(sequences), "-r", "1", "-o", "jsonl"]

    def peer(self, model, depth, sequences):
        args = self.args
        return [args.peer_bench, "-m", model, "-t", str(args.threads), "-tb", str(args.threads), "-npp", str(depth),
                "-ntg", str(args.answer), "-npl", str(sequences), "-c", str(sequences * self.cells(depth)),
                "--output-format", "jsonl", *self.peer_flags]

    def cells(self, depth):
        """Of a sequence; the peer rounds up to a multiple of 256."""
        return -(-(depth + self.args.answer + 1) // 256) * 256

    def row(self, model, depth, sequences):
        """Tokens a second of all sequences together, of each round; who begins changes each round."""
        programs = {"weir": self.weir(model, depth, sequences)}
        if self.args.peer_bench:
            programs["peer"] = self.peer(model, depth, sequences)
        row = {"model": pathlib.Path(model).name, "depth": depth, "sequences": sequences, "threads": self.args.threads,
               "weir": [], "peer": []}
        for round_number in range(self.args.rounds):
            order = list(programs.items())
            for name, command in order[:: 1 if round_number % 2 == 0 else -1]:
                row[name].append(record_in(output_of(command), command)["speed_tg"])
        return row


def line(row, alone):
    """Medians, the gain over one sequence, the ratio of medians, smallest and largest ratio of a round."""
    ours = statistics.median(row["weir"])
    cells = [row["model"], row["depth"], row["sequences"], f"{ours:.1f}"]
    if not row["peer"]:
        cells += [f"{ours / alone['weir']:.2f}", "", "", "", f"{min(row['weir']):.1f}..{max(row['weir']):.1f} t/s"]
        return "| " + " | ".join(map(str, cells)) + " |"
    theirs = statistics.median(row["peer"])
    ratios = sorted(a / b for a, b in zip(row["weir"], row["peer"]))
    cells += [f"{ours / alone['weir']:.2f}", f"{theirs:.1f}", f"{theirs / alone['peer']:.2f}", f"{ours / theirs:.2f}",
              f"{ratios[0]:.2f}..{ratios[-1]:.2f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-bench", help="path of llama-batched-bench; without it Weir is measured alone")
    parser.add_argument("--peer-flags", default="-fa on -pps", help="of llama-batched-bench [%(default)s]")
    parser.add_argument("--weir", default=str(ROOT / "build/release/weir"))
    parser.add_argument("-m", "--model", required=True, nargs="+", help="GGUF files")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-d", "--depths", type=counts, default="512,4096", help="tokens in each sequence before [512,4096]")
    parser.add_argument("--sequences", type=counts, default="1,2,4,8,16", help="[1,2,4,8,16]")
    parser.add_argument("-n", "--answer", type=int, default=64, help="tokens that each sequence decodes [64]")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, help="file for the figures of every round")
    return parser.parse_args()


def main():
    args = arguments()
    bench, rows = Bench(args), []
    print(f"{args.rounds} rounds in turns, medians, t/s of all sequences together\n")
    print("| model | depth | sequences | weir | / first | llama.cpp | / first | ratio | spread |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|---|")
    for model in args.model:
        for depth in args.depths:
            alone = None
            for sequences in args.sequences:
                row = bench.row(model, depth, sequences)
                rows.append(row)
                alone = alone or {name: statistics.median(row[name] or [0]) for name in ("weir", "peer")}
                print(line(row, alone), flush=True)
                if args.json:  # after each row: a run of an hour may be cut short
                    args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
