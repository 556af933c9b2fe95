#!/usr/bin/env python3
"""Many clients at once: Weir, Weir in the order of arrival, and llama.cpp's server in one run. See README.md."""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/support"))
from programs import Program, version  # noqa: E402

MIX = "short=100x64-512:64,middle=20x4096-8192:64,long=4x16384:64"
QUICK_MIX = "short=20x64-512:32,middle=4x1024-2048:32,long=1x4096:32"
BURST, PREFIX, TAIL = 8, 3000, 64  # requests, tokens that they share, tokens of each alone
FIGURES = [  # of the mix: title, path in the JSON of bench-serve
    ("answers, t/s", ("total", "answer_tokens_per_s")),
    ("short: first text P50, s", ("short", "first_text_s", "p50")),
    ("P90, s", ("short", "first_text_s", "p90")),
    ("P99, s", ("short", "first_text_s", "p99")),
    ("largest gap, s", ("total", "gap_s", "max")),
]


def round_up(count, unit):
    return -(-count // unit) * unit


class Bench:
    def __init__(self, args):
        self.args, self.samples = args, []
        self.weir = [args.weir, "serve", "-m", args.model, "-t", str(args.threads), "-c", str(args.context), "--kv-memory",
                     args.kv_memory, *shlex.split(args.weir_flags)]

    def commands(self):
        args, commands = self.args, {"weir": self.weir}
        if "--policy" in output_of([args.weir, "serve", "--help"]):
            commands["weir --policy fifo"] = [*self.weir, "--policy", "fifo"]
        if args.peer_server:
            cells = args.clients * round_up(args.context, 256)
            commands["llama.cpp"] = [args.peer_server, "-m", args.model, "-t", str(args.threads), "-np", str(args.clients),
                                     "-c", str(cells), "-fa", "on", "--cache-ram", "0", *shlex.split(args.peer_flags)]
        chosen = args.programs.split(",") if args.programs else commands
        return {name: commands[name] for name in chosen if name in commands}

    def run(self, scenario):
        commands = list(self.commands().items())
        for round_number in range(self.args.rounds):
            k = round_number % len(commands)
            for name, command in [*commands[k:], *commands[:k]]:
                with Program(name, command, self.args.port) as program:
                    sample = getattr(self, scenario)(program, round_number)
                sample = {"scenario": scenario, "program": name, "command": command, "round": round_number, **sample}
                self.samples.append(sample)
                print(f"  {scenario}, round {round_number + 1}: {name}: {sample['seconds']:.1f} s", file=sys.stderr, flush=True)

    def load(self, program, seed, *flags):
        """What `weir bench-serve` measures."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "load.json"
            output_of([self.args.weir, "bench-serve", "--url", f"http://127.0.0.1:{program.port}", "--endpoint",
                       "completions", "--timeout", "7200", "--seed", str(seed), "--json", str(path), *map(str, flags)])
            return json.loads(path.read_text())

    def mix(self, program, round_number):
        load = self.load(program, 1 + round_number, "--clients", self.args.clients, "--mix", self.args.mix)
        return {**load, "peak_bytes": program.peak_bytes()}

    def burst(self, program, round_number):
        """A request with a new prefix alone; then eight with another new one at once."""
        flags = ["--prompt", PREFIX + TAIL, "--answer", 16, "--shared-prefix", PREFIX]
        alone = self.load(program, 1000 + round_number, "--requests", 1, *flags)
        burst = self.load(program, 2000 + round_number, "--requests", BURST, "--clients", BURST, *flags)
        return {"seconds": burst["seconds"], "alone": alone, "burst": burst}


def output_of(command):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{shlex.join(command)}\nexit {run.returncode}: {run.stderr[-600:]}")
    return run.stdout


def figure(load, path):
    group, *rest = path
    value = load["total"] if group == "total" else next(c for c in load["classes"] if c["name"] == group)
    for key in rest:
        value = value[key]
    return value


def named(samples, scenario):
    programs = dict.fromkeys(s["program"] for s in samples if s["scenario"] == scenario)
    return {name: [s for s in samples if s["scenario"] == scenario and s["program"] == name] for name in programs}


def mix_table(samples):
    """Medians of the rounds, smallest and largest, and each as a share of Weir's."""
    rows = named(samples, "mix")
    lines = ["| program | " + " | ".join(title for title, _ in FIGURES) + " | failed |", "|---" + "|--:" * (len(FIGURES) + 1) + "|"]
    for name, loads in rows.items():
        cells = [name]
        for _, path in FIGURES:
            values = [figure(load, path) for load in loads]
            cells.append(f"{statistics.median(values):.3g} ({min(values):.3g}..{max(values):.3g})")
        cells.append(str(sum(load["total"]["failed"] for load in loads)))
        lines.append("| " + " | ".join(cells) + " |")
    for name, loads in rows.items():
        if name == "weir" or "weir" not in rows:
            continue
        cells = [f"weir / {name}"]
        for _, path in FIGURES:
            ours = statistics.median(figure(load, path) for load in rows["weir"])
            theirs = statistics.median(figure(load, path) for load in loads)
            cells.append(f"{ours / theirs:.2f}" if theirs else "")
        lines.append("| " + " | ".join([*cells, ""]) + " |")
    return "\n".join(lines)


def burst_table(samples):
    """`computed`: prompt tokens of the eight that were not in the cache; `once`: one prefix and eight tails."""
    lines = ["| program | one alone, s | eight, s | / alone | computed | once | of tokens | failed |",
             "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for name, rows in named(samples, "burst").items():
        alone = statistics.median(r["alone"]["seconds"] for r in rows)
        burst = statistics.median(r["burst"]["seconds"] for r in rows)
        total = rows[0]["burst"]["total"]
        computed = statistics.median(r["burst"]["total"]["prompt_tokens"] - r["burst"]["total"]["cached_tokens"] for r in rows)
        once = total["prompt_tokens"] - (BURST - 1) * PREFIX
        failed = sum(r[part]["total"]["failed"] for r in rows for part in ("alone", "burst"))
        lines.append(f"| {name} | {alone:.2f} | {burst:.2f} | {burst / alone:.2f} | {computed:.0f} | {once} | "
                     f"{total['prompt_tokens']} | {failed} |")
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-server", help="path of llama-server; without it Weir is measured alone")
    parser.add_argument("--peer-flags", default="", help="more flags of llama-server")
    parser.add_argument("--weir", default=str(ROOT / "build/release/weir"))
    parser.add_argument("--weir-flags", default="", help="more flags of weir serve")
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-c", "--context", type=int, default=16640, help="tokens of one sequence [%(default)s]")
    parser.add_argument("--kv-memory", default="2G", help="of Weir [%(default)s]")
    parser.add_argument("--clients", type=int, default=16, help="and slots of the peer [%(default)s]")
    parser.add_argument("--mix", help=f"as bench-serve's; a class must be called short [{MIX}]")
    parser.add_argument("--scenarios", default="mix,burst")
    parser.add_argument("--programs", help="some of: weir,weir --policy fifo,llama.cpp [all there are]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help=f"one round of {QUICK_MIX}: shapes, not claims")
    parser.add_argument("--port", type=int, help="of the servers, one at a time [any free one]")
    parser.add_argument("--json", type=pathlib.Path, help="file for every figure")
    args = parser.parse_args()
    args.mix = args.mix or (QUICK_MIX if args.quick else MIX)
    args.rounds = 1 if args.quick else args.rounds
    return args


def main():
    args = arguments()
    bench, started = Bench(args), time.monotonic()
    for scenario in args.scenarios.split(","):
        bench.run(scenario)
        print({"mix": mix_table, "burst": burst_table}[scenario](bench.samples) + "\n", flush=True)
        if args.json:  # after each scenario: a run of an hour may be cut short
            record = {"weir": version(args.weir), "peer": args.peer_server and version(args.peer_server),
                      "model": pathlib.Path(args.model).name, "threads": args.threads, "samples": bench.samples}
            args.json.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
