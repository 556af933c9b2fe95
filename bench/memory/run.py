#!/usr/bin/env python3
"""Peak resident memory of the server at a filled context against weights + KV budget. See README.md."""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/support"))
from programs import free_port  # noqa: E402



def status_bytes(pid, key):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{key}:\s+(\d+) kB", text, re.M)[1]) * 1024


def post(base, path, body):
    request = urllib.request.Request(base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=1200) as reply:
        return json.load(reply)


def metric(base, name):
    with urllib.request.urlopen(base + "/metrics", timeout=20) as reply:
        text = reply.read().decode()
    return sum(float(m[1]) for m in re.finditer(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.M))


def wait_ready(base, server):
    for _ in range(600):
        if server.poll() is not None:
            raise SystemExit(f"the server ended with exit code {server.returncode}")
        try:
            urllib.request.urlopen(base + "/health", timeout=2)
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server is not ready after 60 s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir", default=str(ROOT / "build/release/weir"))
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-c", "--context", type=int, default=16384)
    parser.add_argument("--kv-memory", default="512M")
    args = parser.parse_args()

    port = free_port()
    base = f"http://127.0.0.1:{port}"
    command = [args.weir, "serve", "-m", args.model, "-c", str(args.context), "--kv-memory", args.kv_memory, "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_ready(base, server)
        idle = status_bytes(server.pid, "VmRSS")
        ids = post(base, "/tokenize", {"content": "The old house stood by the river. " * args.context})["tokens"]
        body = {"prompt": ids[: args.context - 16], "max_tokens": 8, "temperature": 0}
        usage = post(base, "/v1/completions", body)["usage"]
        peak = status_bytes(server.pid, "VmHWM")
        budget = metric(base, "weir_kv_pool_bytes")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)
    weights = os.path.getsize(args.model)
    bound = weights + budget
    mib = 1 << 20
    print(f"prompt {usage['prompt_tokens']} tokens; weights {weights / mib:.1f} MiB, KV budget {budget / mib:.1f} MiB")
    print(f"idle {idle / mib:.1f} MiB, peak {peak / mib:.1f} MiB = {peak / bound:.3f} of weights + budget (at most 1.10)")
    return 0 if peak <= 1.1 * bound else 1


if __name__ == "__main__":
    sys.exit(main())
