#!/usr/bin/env python3
"""Memory and threads of a connection: idle ones, ones that sent a body, and streams. See README.md."""

import argparse
import asyncio
import json
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/support"))
from programs import free_port  # noqa: E402

BODY = "x" * 30_000  # of a request that is refused after it was read


def status(pid, key):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{key}:\s+(\d+)", text, re.M)[1])


def anonymous_kib(pid):
    """Resident memory that is no file: the mapped weights would hide it."""
    return status(pid, "RssAnon")


def request(method, path, body=None):
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    return head.encode() + b"\r\n" + data


async def answer(reader):
    """One reply with a Content-Length: its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = int(re.search(r"content-length: (\d+)", head, re.I)[1])
    await reader.readexactly(length)
    return int(head.split()[1])


async def connect(port, count):
    return [await asyncio.open_connection("127.0.0.1", port, limit=1 << 16) for _ in range(count)]


async def ask_all(connections, message, expected):
    for _, writer in connections:
        writer.write(message)
    statuses = await asyncio.gather(*(answer(reader) for reader, _ in connections))
    wrong = [s for s in statuses if s != expected]
    if wrong:
        raise SystemExit(f"{len(wrong)} of {len(statuses)} answers are not {expected}: {set(wrong)}")


async def stream(port, number, tokens):
    """One stream to its end; its own short prompt. Whether it ended with [DONE]."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = {"prompt": f"Number {number}:", "max_tokens": tokens, "ignore_eos": True, "stream": True, "temperature": 0}
    writer.write(request("POST", "/v1/completions", body))
    data = b""
    while not data.endswith(b"0\r\n\r\n"):
        piece = await reader.read(1 << 16)
        if not piece:
            break
        data += piece
    writer.close()
    return b"data: [DONE]" in data


async def highest(pid, task):
    """The result of `task`, and the most anonymous KiB and threads while it ran."""
    most, threads = 0, 0
    while not task.done():
        most, threads = max(most, anonymous_kib(pid)), max(threads, status(pid, "Threads"))
        await asyncio.wait([task], timeout=0.05)
    return task.result(), most, threads


def row(name, count, before, after, threads):
    print(f"| {name} | {count} | {(after - before) / max(count, 1):.1f} | {before / 1024:.1f} | {after / 1024:.1f} | {threads} |")


async def measure(args, port, pid):
    all_streams = lambda: asyncio.gather(*(stream(port, n, args.tokens) for n in range(args.streams)))
    await all_streams()  # touches the KV memory that the streams below will use
    start, start_threads = anonymous_kib(pid), status(pid, "Threads")
    print("| connections | number | KiB each | MiB before | MiB after | threads |\n|---|--:|--:|--:|--:|--:|")
    row("none", 0, start, start, start_threads)

    idle = await connect(port, args.idle)
    await ask_all(idle, request("GET", "/health"), 200)
    after_idle = anonymous_kib(pid)
    row("idle, asked once", args.idle, start, after_idle, status(pid, "Threads"))

    for one in idle:  # in turn: what a connection keeps, not what all hold at once
        await ask_all([one], request("POST", "/v1/completions", {"prompt": BODY, "max_tokens": "none"}), 400)
    row("idle, after a body of 30 kB", args.idle, start, anonymous_kib(pid), status(pid, "Threads"))

    before = anonymous_kib(pid)
    began = time.monotonic()
    done, most, threads = await highest(pid, asyncio.ensure_future(all_streams()))
    row("streams beside them, at most", args.streams, before, most, threads)
    print(f"\n{sum(done)} of {args.streams} streams of {args.tokens} tokens whole, in {time.monotonic() - began:.1f} s")
    # The connections that were idle meanwhile are still there, unless the streams took a minute.
    if time.monotonic() - began < 50:
        await ask_all(idle, request("GET", "/health"), 200)
    for _, writer in idle:
        writer.close()
    return all(done) and threads == start_threads


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir", default=str(ROOT / "build/release/weir"))
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--idle", type=int, default=1000)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=16, help="of each stream")
    parser.add_argument("--port", type=int, default=0)
    args = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    port = args.port or free_port()
    server = subprocess.Popen(
        [args.weir, "serve", "-m", args.model, "-c", "2048", "--port", str(port), "--kv-memory", "256MiB", "--queue", str(args.streams + 8)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            if server.poll() is not None:
                raise SystemExit(f"the server ended with exit code {server.returncode}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                break
            except OSError:
                time.sleep(0.1)
        good = asyncio.run(measure(args, port, server.pid))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
    sys.exit(0 if good else "a stream was cut short, or threads grew with connections")


if __name__ == "__main__":
    main()
