#!/usr/bin/env python3
"""Weir and llama.cpp in turns on the same files: medians, ratio and spread as a table. See README.md."""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

import depth_curve

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = "pp512,tg64,pp512@d4096,tg64@d4096"


def parse_test(name):
    """'pp512@d4096' -> (prompt tokens, generated tokens, depth)."""
    match = re.fullmatch(r"(pp|tg)(\d+)(?:\s*@\s*d(\d+))?", name)
    if not match:
        raise SystemExit(f"'{name}' is no test; write pp512, tg64 or pp512@d4096")
    count, depth = int(match[2]), int(match[3] or 0)
    return (count, 0, depth) if match[1] == "pp" else (0, count, depth)


class Program:
    """One of the two, with llama-bench's flags and JSON."""

    def __init__(self, name, command, flags):
        self.name, self.command, self.flags = name, command, flags

    def run(self, model, threads, test, more=()):
        """The JSON record of one repetition."""
        prompt, generated, depth = parse_test(test)
        command = [*self.command, "-m", model, "-t", str(threads), "-p", str(prompt), "-n", str(generated),
                   "-d", str(depth), "-r", "1", "-o", "json", *self.flags, *more]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\nexit {run.returncode}: {run.stderr[-400:]}")
        return json.loads(run.stdout)[0]


def measure(weir, peer, model, threads, test, rounds):
    """A row: tokens a second of each round; the two programs take turns."""
    row = {"model": pathlib.Path(model).name, "threads": threads, "test": test, "weir": [], "peer": []}
    for round_number in range(rounds):
        # The first round also says what the row must read and multiply by arithmetic.
        record = weir.run(model, threads, test, ["--roofline"] if round_number == 0 else [])
        row["weir"].append(record["avg_ts"])
        row.setdefault("roofline", record.get("roofline"))
        if peer:
            record = peer.run(model, threads, test)
            row["peer"].append(record["avg_ts"])
            row["peer_build"] = record.get("build_commit")
        row["cpu"] = record.get("cpu_info")
    return row


def line(row):
    """The row as Markdown: medians, the ratio of the medians, smallest and largest ratio of a round."""
    ours = statistics.median(row["weir"])
    cells = [row["model"], row["threads"], row["test"], f"{ours:.1f}"]
    if row["peer"]:
        theirs = statistics.median(row["peer"])
        ratios = sorted(a / b for a, b in zip(row["weir"], row["peer"]))
        cells += [f"{theirs:.1f}", f"{ours / theirs:.2f}", f"{ratios[0]:.2f}..{ratios[-1]:.2f}"]
    else:
        cells += ["", "", f"{min(row['weir']):.1f}..{max(row['weir']):.1f} t/s"]
    return "| " + " | ".join(map(str, cells)) + " |"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-bench", help="path of llama-bench; without it Weir is measured alone")
    parser.add_argument("--weir", default=str(ROOT / "build/release/weir"))
    parser.add_argument("-m", "--model", required=True, nargs="+", help="GGUF files")
    parser.add_argument("-t", "--threads", default="2", help="1,2: each row for each number [2]")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tests", help=f"llama-bench's names [{TESTS}]")
    parser.add_argument("--depth-curve", action="store_true",
                        help="prefill and decode at growing depths, and how the cost grows")
    parser.add_argument("--json", type=pathlib.Path, help="file for the figures of every round")
    return parser.parse_args()


def main():
    args = arguments()
    tests = args.tests or (depth_curve.TESTS if args.depth_curve else TESTS)
    weir = Program("weir", [args.weir, "bench"], [])
    peer = Program("llama.cpp", [args.peer_bench], ["-fa", "1"]) if args.peer_bench else None
    print(f"{args.rounds} rounds in turns, medians, t/s\n")
    print("| model | threads | test | weir | llama.cpp | ratio | spread |\n|---|--:|---|--:|--:|--:|---|")
    rows = []
    for model in args.model:
        for threads in map(int, args.threads.split(",")):
            for test in tests.split(","):
                rows.append(measure(weir, peer, model, threads, test, args.rounds))
                print(line(rows[-1]), flush=True)
                if args.json:  # after each row: a run of hours may be cut short
                    args.json.write_text(json.dumps(rows, indent=1) + "\n")
    if args.depth_curve:
        print("\n" + depth_curve.table(rows))


if __name__ == "__main__":
    sys.exit(main())
