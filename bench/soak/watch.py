"""The server seen from outside while a soak runs, and the judgement at its end."""

import asyncio
import pathlib
import re
import sys
import time

import httpx

SAMPLE_SECONDS = 5
IDLE_SECONDS = 60  # in which an idle server must have let everything go
END_SECONDS = 30
SETTLING_SHARE = 1 / 3  # of the samples, at the start: pools are touched for the first time
FLAT_BYTES = 4 << 20  # growth that is none: allocator noise. No share of the whole: most of that is weights
# Gauges that are zero when nobody asks anything, as far as a server has them.
IDLE_ZERO = re.compile(r"^weir_(kv_reserved|bucket_waiting|running|waiting|queued|prefilling|batch|pinned|reserved|live|pending|loading)_?\w*")
BAD_LOG = re.compile(r"check failed|sanitizer|runtime error|terminate called|data race|\berror\]", re.I)


class Monitor:
    def __init__(self, base, process):
        self.base, self.process, self.samples = base, process, []

    async def wait_ready(self):
        async with self.client() as http:
            for _ in range(1200):
                if self.process.returncode is not None:
                    raise SystemExit(f"the server ended with {self.process.returncode} before it was ready")
                try:
                    if (await http.get("/health")).status_code == 200:
                        return
                except httpx.HTTPError:
                    pass
                await asyncio.sleep(0.1)
        raise SystemExit("the server is not ready after 120 s")

    def client(self):
        return httpx.AsyncClient(base_url=self.base, timeout=120, trust_env=False)

    async def follow(self, end, tally):
        started = time.monotonic()
        async with self.client() as http:
            while (now := time.monotonic()) < end and self.process.returncode is None:
                self.samples.append({"at_s": now - started, **self.process_state(), **await series(http)})
                show(now - started, end - started, self.samples[-1], tally)
                await asyncio.sleep(min(SAMPLE_SECONDS, max(end - time.monotonic(), 0)))

    def process_state(self):
        folder = pathlib.Path(f"/proc/{self.process.pid}")
        try:
            status = (folder / "status").read_text()
            return {"rss_bytes": int(re.search(r"^VmRSS:\s+(\d+)", status, re.M)[1]) * 1024,
                    "threads": int(re.search(r"^Threads:\s+(\d+)", status, re.M)[1]),
                    "descriptors": len(list((folder / "fd").iterdir()))}
        except (OSError, TypeError):
            return {"rss_bytes": 0, "threads": 0, "descriptors": 0}


async def series(http):
    try:
        text = (await http.get("/metrics")).text
    except httpx.HTTPError as error:
        return {"metrics_error": str(error) or type(error).__name__}
    return {m[1]: float(m[2]) for m in re.finditer(r"^(weir_[^ ]+) (\S+)$", text, re.M) if "_bucket{" not in m[1]}


def show(passed, total, sample, tally):
    line = (f"{passed / 60:.1f} of {total / 60:.1f} min: {tally.total()} requests, {tally.violation_count} violations, "
            f"RSS {sample['rss_bytes'] / 2**20:.1f} MiB, {sample['threads']} threads, {sample['descriptors']} descriptors")
    print(line, file=sys.stderr, end="\r" if sys.stderr.isatty() else "\n", flush=True)


class Verdict:
    def __init__(self):
        self.findings = []

    def add(self, is_good, what):
        self.findings.append({"good": bool(is_good), "what": what})

    def is_good(self):
        return all(finding["good"] for finding in self.findings)

    def lines(self):
        marks = {True: "ok  ", False: "FAIL"}
        return [*(f"{marks[f['good']]} {f['what']}" for f in self.findings), "", "soak: " + ("passed" if self.is_good() else "FAILED")]


async def judge_idle(monitor, verdict):
    """Everything that a request holds is given back once nobody asks."""
    async with monitor.client() as http:
        deadline = time.monotonic() + IDLE_SECONDS
        while held := await held_at_idle(http):
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(0.2)
        gauges = [name for name in await series(http) if is_idle_zero(name)]
        verdict.add(not held, f"at idle nothing is held{': ' + ', '.join(held) if held else ''}; looked at {', '.join(gauges)}")
        for word in ("running", "waiting"):
            most = max((s.get(f"weir_{word}_requests", 0) for s in monitor.samples), default=0)
            verdict.add(most > 0, f"{word} requests: up to {most:g} at a sample (0: the gauge or the load is broken)")
        trie = (await http.get("/v1/cache")).json()["trie"]
        evicted = trie["evicted_nodes"] + trie["evicted_windows"]
        verdict.add(evicted > 0, f"cache pressure: {evicted} tiles and windows were evicted")


async def held_at_idle(http):
    values = await series(http)
    if "metrics_error" in values:
        return [f"/metrics cannot be read: {values['metrics_error']}"]
    held = [f"{name} {value:g}" for name, value in values.items() if is_idle_zero(name) and value]
    cache = (await http.get("/v1/cache")).json()
    held += [f"pool {pool['name']}: {key} {pool[key]}" for pool in cache["pools"] for key in pool
             if key in ("tiles_live", "tiles_pinned", "tiles_reserved", "bytes_reserved") and pool[key]]
    held += [f"trie: {key} {cache['trie'][key]}" for key in ("pinned",) if cache["trie"].get(key)]
    return held


def is_idle_zero(name):
    return IDLE_ZERO.match(name) and not name.partition("{")[0].endswith(("_total", "_sum", "_count"))


def judge_memory(samples, verdict):
    """A straight line through the memory after the first third."""
    points = [(s["at_s"], s["rss_bytes"]) for s in samples[int(len(samples) * SETTLING_SHARE) :]]
    if len(points) < 6:
        return verdict.add(False, f"{len(points)} samples of memory after settling: too few to judge")
    mean_t = sum(t for t, _ in points) / len(points)
    mean_b = sum(b for _, b in points) / len(points)
    slope = sum((t - mean_t) * (b - mean_b) for t, b in points) / sum((t - mean_t) ** 2 for t, _ in points)
    growth = slope * (points[-1][0] - points[0][0])
    verdict.add(growth <= FLAT_BYTES, f"memory is flat: {growth / 2**20:+.2f} MiB over the last {(points[-1][0] - points[0][0]) / 60:.1f} min "
                                      f"of about {mean_b / 2**20:.1f} MiB (allowed {FLAT_BYTES / 2**20:.1f}), {slope * 3600 / 2**20:+.1f} MiB an hour")
    threads = {s["threads"] for s in samples[1:] if s["threads"]}
    verdict.add(len(threads) <= 1, f"threads: {sorted(threads)}")


def judge_tally(tally, verdict):
    verdict.add(not tally.violation_count, f"{tally.violation_count} violations in {tally.total()} outcomes")
    for violation in tally.violations[:20]:
        verdict.add(False, violation)
    answered = sum(n for (_, outcome), n in tally.outcomes.items() if outcome == "200")
    verdict.add(answered, f"{answered} whole answers")
    verdict.add(tally.compared, f"{tally.compared} greedy answers compared with an earlier one of the same prompt")


async def judge_end(process, verdict):
    if process.returncode is not None:
        return verdict.add(False, f"the server ended by itself with {process.returncode}")
    process.terminate()
    try:
        code = await asyncio.wait_for(process.wait(), END_SECONDS)
        verdict.add(code == 0, f"SIGTERM ends it with {code}")
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
        verdict.add(False, f"still there {END_SECONDS} s after SIGTERM")


def judge_log(path, verdict):
    bad = [line for line in path.read_text(errors="replace").splitlines() if BAD_LOG.search(line)]
    verdict.add(not bad, "the server's log has no error" if not bad else f"{len(bad)} bad lines in the log: {bad[0][:200]}")
