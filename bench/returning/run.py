#!/usr/bin/env python3
"""Time to first token of returning turns: Weir and llama.cpp's server in one run. See README.md."""

import argparse
import dataclasses
import json
import math
import pathlib
import shlex
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/support"))
import memory  # noqa: E402
import scenarios  # noqa: E402
from programs import version  # noqa: E402

FULL = scenarios.Size(chats=8, room=3, tokens=6000, rounds=3, samples=4)
QUICK = scenarios.Size(chats=8, room=3, tokens=1000, rounds=1, samples=1)
ROOMY = {s.__name__: s for s in (scenarios.turns, scenarios.edit, scenarios.branch, scenarios.short)}
# llama.cpp's ways to reuse more of a model with windows.
PEERS = {
    "plain": [],
    "checkpoints": ["--checkpoint-min-step", "256", "--ctx-checkpoints", "64"],
    "swa-full": ["--swa-full"],
}
GOOD_REUSE = 0.9  # of what was known: a hit


class Bench:
    def __init__(self, args):
        same = ["-m", args.model, "-t", str(args.threads)]
        template = args.chat_template
        self.weir = [args.weir, "serve", *same, *(["--chat-template", template] if template else [])]
        peer = [args.peer_server, *same, "-fa", "on", *(["--chat-template-file", template] if template else []),
                *shlex.split(args.peer_flags)]
        self.peers = {f"llama.cpp {name}": [*peer, *PEERS[name]] for name in args.peers.split(",")}
        self.size = QUICK if args.quick else dataclasses.replace(FULL, tokens=args.tokens, rounds=args.rounds)
        self.window, self.samples = args.window, []

    def run(self, name):
        if name == "tight":
            return self.tight()
        commands = memory.roomy(self.weir, self.peers, self.size)
        with scenarios.Field(name, commands, self.samples) as field:
            ROOMY[name](field, self.size)
        return [table(self.samples, name)]

    def tight(self):
        """The conversations of `turns` with KV memory for some of them, and what could be hit with it."""
        budget = memory.measure_budget(self.weir, self.size, self.window)
        commands = budget.commands(self.weir, *next(iter(self.peers.items())))
        with scenarios.Field("tight", commands, self.samples) as field:
            scenarios.turns(field, self.size)
        best = memory.best_hits(scenarios.order_of_turns(self.size), self.size.room)
        self.samples.append({"scenario": "tight", "step": "bounds", "kv_bytes": budget.bytes,
                             "chat_tokens": budget.tokens, "weir_chat_bytes": budget.kv.weir(budget.tokens),
                             "best_hits": best})
        title = (f"KV memory {budget.bytes / 2**20:.1f} MiB for both; a conversation of {budget.tokens} tokens takes "
                 f"{budget.kv.weir(budget.tokens) / 2**20:.1f} MiB in Weir")
        return [table(self.samples, "tight"), title, hit_table(self.samples, best)]


def named(samples, **wanted):
    return [s for s in samples if all(s[key] == value for key, value in wanted.items())]


def measured(samples, scenario):
    return [s for s in samples if s["scenario"] == scenario and "seconds" in s]


def names_of(samples, key):
    return list(dict.fromkeys(s[key] for s in samples))


def percentile(values, share):
    """By nearest rank."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def table(samples, scenario):
    samples = measured(samples, scenario)
    lines = ["| scenario | step | program | turns | P50, s | P90, s | computed | of tokens | P50 / Weir's | P90 / Weir's |",
             "|---|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for step in names_of(samples, "step"):
        weir = [s["seconds"] for s in named(samples, step=step, program="weir")]
        for program in sorted(names_of(samples, "program"), key=lambda name: name != "weir"):
            rows = named(samples, step=step, program=program)
            seconds = [s["seconds"] for s in rows]
            cells = [scenario, step, program, len(rows)]
            cells += [f"{percentile(seconds, share):.3f}" for share in (0.5, 0.9)]
            cells += [f"{statistics.median(s['prompt_tokens'] - s['cached_tokens'] for s in rows):.0f}",
                      f"{statistics.median(s['prompt_tokens'] for s in rows):.0f}"]
            cells += ["" if program == "weir" else f"{percentile(seconds, share) / percentile(weir, share):.1f}"
                      for share in (0.5, 0.9)]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def hit_table(samples, best):
    """Hits and reused tokens of returning turns as shares of Belady's."""
    samples = measured(samples, "tight")
    lines = ["| program | hits | of Belady's | share | tokens reused | of Belady's | share |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    for program in names_of(samples, "program"):
        rows = named(samples, program=program)  # in the order of turns
        hits = sum(s["known"] > 0 and s["cached_tokens"] >= GOOD_REUSE * s["known"] for s in rows)
        reused = sum(s["cached_tokens"] for s in rows if s["known"])
        best_tokens = sum(s["known"] for s, hit in zip(rows, best) if hit)
        lines.append(f"| {program} | {hits} | {sum(best)} | {hits / sum(best):.2f} | {reused} | {best_tokens} | "
                     f"{reused / best_tokens:.2f} |")
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-server", required=True, help="path of llama-server")
    parser.add_argument("--weir", default=str(ROOT / "build/release/weir"))
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("--window", type=int, default=512, help="W of the model, for the memory of `tight` [512]")
    parser.add_argument("--chat-template", help="Jinja file for both programs [the model's own]")
    parser.add_argument("--scenarios", default=",".join([*ROOMY, "tight"]))
    parser.add_argument("--peers", default=",".join(PEERS), help="variants; the first serves in `tight` too")
    parser.add_argument("--peer-flags", default="", help="more flags of llama-server, for each variant")
    parser.add_argument("--tokens", type=int, default=FULL.tokens, help="of a conversation at its start [%(default)s]")
    parser.add_argument("--rounds", type=int, default=FULL.rounds, help="of turns after the first reading [%(default)s]")
    parser.add_argument("--quick", action="store_true", help="1,000 tokens and one round instead of 6,000 and three")
    parser.add_argument("--json", type=pathlib.Path, help="file for every request's figures")
    return parser.parse_args()


def main():
    args = arguments()
    bench, started = Bench(args), time.monotonic()
    for name in args.scenarios.split(","):
        print("\n\n".join(bench.run(name)) + "\n", flush=True)
        if args.json:  # after each scenario: a run of an hour may be cut short
            record = {"weir": version(args.weir), "peer": version(args.peer_server), "model": pathlib.Path(args.model).name,
                      "threads": args.threads, "size": vars(bench.size), "samples": bench.samples}
            args.json.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
