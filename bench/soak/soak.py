#!/usr/bin/env python3
"""A server under hostile and ordinary clients for a long time: does it stay up, flat and clean? See README.md."""

import argparse
import asyncio
import json
import pathlib
import random
import shlex
import sys
import time

import clients
import watch

ROOT = pathlib.Path(__file__).resolve().parents[2]


async def start_server(args):
    command = [args.weir, "serve", "-m", args.model, "-t", str(args.threads), "-c", str(args.context), "--kv-memory", args.kv_memory,
               "--queue", str(args.queue), "--host", "127.0.0.1", "--port", str(args.port), *shlex.split(args.weir_flags)]
    log = open(args.log, "wb")
    process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
    return process, log


async def run(args):
    process, log = await start_server(args)
    tally = clients.Tally()
    verdict = watch.Verdict()
    try:
        base = f"http://127.0.0.1:{args.port}"
        monitor = watch.Monitor(base, process)
        await monitor.wait_ready()
        crowd = clients.Crowd(base, args, tally)
        await crowd.find_features()
        print(f"soak: {args.minutes:g} minutes, {args.clients} clients, seed {args.seed}; "
              f"{', '.join(sorted(crowd.features)) or 'no optional features'}", file=sys.stderr, flush=True)
        end = time.monotonic() + 60 * args.minutes
        tasks = [asyncio.create_task(crowd.client(i, end)) for i in range(args.clients)]
        await monitor.follow(end, tally)
        await asyncio.gather(*tasks)
        await crowd.close()
        await watch.judge_idle(monitor, verdict)
        watch.judge_memory(monitor.samples, verdict)
        watch.judge_tally(tally, verdict)
    finally:
        await watch.judge_end(process, verdict)
        log.close()
    watch.judge_log(pathlib.Path(args.log), verdict)
    return tally, verdict, monitor


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir", default=str(ROOT / "build/release/weir"))
    parser.add_argument("--weir-flags", default="", help="more flags of weir serve")
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-c", "--context", type=int, default=2048)
    parser.add_argument("--kv-memory", default="64M", help="small, so that tiles are evicted all the time [%(default)s]")
    parser.add_argument("--queue", type=int, default=8, help="small, so that it is full now and then [%(default)s]")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=None, help="[a new one]")
    parser.add_argument("--port", type=int, default=21150)
    parser.add_argument("--log", default="soak_server.log", help="the server's output [%(default)s]")
    parser.add_argument("--json", type=pathlib.Path, help="file for samples and counts")
    args = parser.parse_args()
    args.seed = random.randrange(2**32) if args.seed is None else args.seed
    return args


def main():
    args = arguments()
    tally, verdict, monitor = asyncio.run(run(args))
    print("\n".join(tally.lines()))
    print("\n".join(verdict.lines()))
    if args.json:
        record = {"seed": args.seed, "minutes": args.minutes, "counts": tally.counts(), "violations": tally.violations,
                  "verdict": verdict.findings, "samples": monitor.samples}
        args.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if verdict.is_good() else 1


if __name__ == "__main__":
    sys.exit(main())
