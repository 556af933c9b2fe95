"""What the clients of a soak do: answers read to the end, requests given up, and requests that are wrong."""

import asyncio
import collections
import json
import random
import string

import httpx

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
OVERLOAD = {429, 503}
ANSWER_SECONDS = 300
MANY_VIOLATIONS = 200  # kept with their details
NOUNS = "house river garden window road city table letter story horse tree island ship train bridge door".split()


class Tally:
    """What happened, by action and outcome; and what must not happen."""

    def __init__(self):
        self.outcomes = collections.Counter()
        self.violations = []
        self.violation_count = 0
        self.compared = 0  # answers with an earlier one of the same prompt

    def count(self, action, outcome):
        self.outcomes[action, str(outcome)] += 1

    def violate(self, action, what):
        self.violation_count += 1
        self.count(action, "VIOLATION")
        if len(self.violations) < MANY_VIOLATIONS:
            self.violations.append(f"{action}: {what}")

    def total(self):
        return sum(self.outcomes.values())

    def counts(self):
        return {f"{action} {outcome}": n for (action, outcome), n in sorted(self.outcomes.items())}

    def lines(self):
        return ["| action | outcome | times |", "|---|---|--:|",
                *(f"| {action} | {outcome} | {n} |" for (action, outcome), n in sorted(self.outcomes.items()))]


def words(rng, count):
    return " ".join(rng.choice(NOUNS) for _ in range(count))


class Crowd:
    """The clients, their shared conversations and known answers."""

    def __init__(self, base, args, tally):
        self.base, self.args, self.tally = base, args, tally
        self.host, self.port = "127.0.0.1", args.port
        self.http = httpx.AsyncClient(base_url=base, timeout=ANSWER_SECONDS, trust_env=False,
                                      limits=httpx.Limits(max_connections=None, max_keepalive_connections=args.clients))
        rng = random.Random(f"{args.seed} shared")
        self.prompts = [words(rng, rng.choice([5, 40, 150, 400, 900])) for _ in range(24)]
        self.known = {}  # prompt -> its greedy answer: must stay the same whatever is cached
        self.conversations = [[] for _ in range(12)]
        self.busy = set()
        self.features = set()

    async def close(self):
        await self.http.aclose()

    async def find_features(self):
        """Optional parts of the API that this server has."""
        for name, fields in {"n": {"n": 2}, "logit_bias": {"logit_bias": {"5": -100}}}.items():
            reply = await self.http.post(COMPLETIONS, json={"prompt": "a", "max_tokens": 2, **fields})
            if reply.status_code == 200:
                self.features.add(name)

    async def client(self, number, end):
        rng = random.Random(f"{self.args.seed} client {number}")
        loop = asyncio.get_running_loop()
        actions, weights = zip(*self.actions().items())
        while loop.time() < end:
            action = rng.choices(actions, weights)[0]
            try:
                await action(rng)
            except (httpx.HTTPError, OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, ValueError) as error:
                self.tally.violate(action.__name__, f"{type(error).__name__}: {error}")
            if rng.random() < 0.2:
                await asyncio.sleep(rng.random())

    def actions(self):
        actions = {self.same_answer: 12, self.turn: 16, self.sampled: 8, self.burst: 2, self.cancel_stream: 10, self.leave_early: 8,
                   self.half_close: 3, self.never_reads: 2, self.trickle: 2, self.pipeline: 2, self.malformed: 10, self.too_long: 2,
                   self.broken_http: 5, self.big_head: 1, self.big_body: 1, self.one_salt: 3, self.flush: 0.3, self.look: 1}
        if "n" in self.features:
            actions[self.several] = 5
        if "logit_bias" in self.features:
            actions[self.biased] = 3
        return actions

    # --- answers read to the end

    async def ask(self, action, body, path=COMPLETIONS):
        """The answer's JSON, or None when the server was overloaded."""
        reply = await self.http.post(path, json=body)
        self.tally.count(action, reply.status_code)
        if reply.status_code == 200:
            return reply.json()
        self.expect(action, reply, OVERLOAD)
        return None

    def expect(self, action, reply, statuses):
        if reply.status_code not in statuses:
            self.tally.violate(action, f"HTTP {reply.status_code}: {reply.text[:300]}")
        elif reply.status_code in OVERLOAD and "retry-after" not in reply.headers:
            self.tally.violate(action, f"HTTP {reply.status_code} without Retry-After")
        elif reply.status_code >= 400 and not reply.json().get("error", {}).get("message"):
            self.tally.violate(action, f"HTTP {reply.status_code} without an error: {reply.text[:300]}")

    async def stream(self, action, path, body, stop_after=None):
        """The text of a stream, or None when overloaded or given up after so many events."""
        text, events, ended = "", 0, False
        async with self.http.stream("POST", path, json={**body, "stream": True}) as reply:
            if reply.status_code != 200:
                await reply.aread()
                self.tally.count(action, reply.status_code)
                self.expect(action, reply, OVERLOAD)
                return None
            async for line in reply.aiter_lines():
                if not line.startswith("data:"):
                    continue
                if line[5:].strip() == "[DONE]":
                    ended = True
                    continue
                event = json.loads(line[5:])
                if "error" in event:
                    overloaded = event["error"].get("type") == "overloaded_error"
                    self.tally.count(action, "overloaded in the stream" if overloaded else "error in the stream")
                    if not overloaded:
                        self.tally.violate(action, f"error in the stream: {event['error']}")
                    return None
                for choice in event.get("choices", []):
                    text += choice.get("text") or choice.get("delta", {}).get("content") or ""
                events += 1
                if stop_after is not None and events >= stop_after:
                    self.tally.count(action, "given up")
                    return None
        self.tally.count(action, 200)
        if not ended:
            self.tally.violate(action, "a stream without [DONE]")
        return text

    async def same_answer(self, rng):
        """Greedy answers do not depend on the cache, nor on who else asks."""
        i = rng.randrange(len(self.prompts))
        body = {"prompt": self.prompts[i], "max_tokens": 24, "temperature": 0, "ignore_eos": True}
        if rng.random() < 0.5:
            text = await self.stream("same answer", COMPLETIONS, body)
        else:
            answer = await self.ask("same answer", body)
            text = answer and answer["choices"][0]["text"]
        if text is None:
            return
        self.tally.compared += i in self.known
        if self.known.setdefault(i, text) != text:
            self.tally.violate("same answer", f"prompt {i}: {text!r}, and before: {self.known[i]!r}")

    async def turn(self, rng):
        """A conversation goes on, is edited in the middle, or its last answer is made again."""
        free = [i for i in range(len(self.conversations)) if i not in self.busy]
        if not free:
            return await self.sampled(rng)
        i = rng.choice(free)
        self.busy.add(i)
        try:
            said = list(self.conversations[i])
            if len(said) >= 12:
                said = []
            if said and rng.random() < 0.15:
                k = rng.randrange(0, len(said), 2)
                said = [*said[:k], {"role": "user", "content": words(rng, 20)}]
            elif said and rng.random() < 0.15:
                said = said[:-1]
            else:
                said.append({"role": "user", "content": words(rng, rng.choice([10, 30, 120]))})
            text = await self.stream("turn", COMPLETIONS, {"prompt": self.as_text(said), "max_tokens": rng.randrange(1, 48)})
            if text is not None:
                self.conversations[i] = [*said, {"role": "assistant", "content": text}]
        finally:
            self.busy.discard(i)

    @staticmethod
    def as_text(said):
        return "\n".join(f"{message['role']}: {message['content']}" for message in said)

    async def sampled(self, rng):
        body = {"prompt": words(rng, rng.randrange(1, 600)), "max_tokens": rng.randrange(1, 64),
                "temperature": rng.random() * 1.5, "top_p": 0.1 + 0.9 * rng.random(), "top_k": rng.randrange(0, 60),
                "seed": rng.randrange(1000), "stop": rng.choice([None, ["\n"], ["a", "zz"]]),
                "logprobs": rng.choice([None, None, 3])}
        await self.stream("sampled", COMPLETIONS, body)

    async def burst(self, rng):
        prefix = words(rng, 500)
        bodies = [{"prompt": f"{prefix} {i}", "max_tokens": 4, "ignore_eos": True} for i in range(4)]
        await asyncio.gather(*(self.ask("burst", body) for body in bodies))

    async def several(self, rng):
        n = rng.randrange(2, 5)
        answer = await self.ask("n > 1", {"prompt": words(rng, rng.randrange(1, 300)), "n": n, "max_tokens": 16,
                                          "temperature": 1, "seed": rng.randrange(99)})
        if answer and sorted(choice["index"] for choice in answer["choices"]) != list(range(n)):
            self.tally.violate("n > 1", f"asked for {n}: {[c['index'] for c in answer['choices']]}")

    async def biased(self, rng):
        await self.ask("logit_bias", {"prompt": words(rng, 30), "max_tokens": 8, "temperature": 0,
                                      "logit_bias": {str(rng.randrange(1000)): rng.choice([-100, -1, 5, 100])}})

    async def one_salt(self, rng):
        """A namespace that is never used again."""
        salt = "".join(rng.choices(string.ascii_letters, k=12))
        await self.ask("new salt", {"prompt": self.prompts[rng.randrange(8)], "max_tokens": 2, "cache_salt": salt})

    async def flush(self, rng):
        reply = await self.http.post("/v1/cache/flush")
        self.tally.count("flush", reply.status_code)
        self.expect("flush", reply, {200, 503})

    async def look(self, rng):
        for path in ("/v1/models", "/metrics", "/v1/cache", "/health"):
            reply = await self.http.get(path)
            self.tally.count("look", reply.status_code)
            if reply.status_code not in (200, 503):
                self.tally.violate("look", f"{path}: HTTP {reply.status_code}")

    # --- requests that are given up

    async def cancel_stream(self, rng):
        await self.stream("cancel", COMPLETIONS, {"prompt": words(rng, rng.randrange(1, 800)), "max_tokens": 200, "ignore_eos": True},
                          stop_after=rng.randrange(1, 12))

    async def leave_early(self, rng):
        """Gone while the request waits or its prompt is read."""
        body = {"prompt": words(rng, rng.randrange(100, 1200)), "max_tokens": 50, "stream": rng.random() < 0.5}
        reader, writer = await self.connect()
        writer.write(post(COMPLETIONS, body))
        await writer.drain()
        await asyncio.sleep(rng.choice([0, 0.001, 0.02, 0.2, 1]))
        await close(writer)
        self.tally.count("leave early", "gone")

    async def half_close(self, rng):
        """Closing only the sending side counts as leaving: the server closes the connection."""
        reader, writer = await self.connect()
        writer.write(post(COMPLETIONS, {"prompt": words(rng, 200), "max_tokens": 100, "ignore_eos": True}))
        writer.write_eof()
        await read_to_end(reader)
        await close(writer)
        self.tally.count("half close", "closed")

    async def never_reads(self, rng):
        reader, writer = await self.connect()
        writer.write(post(COMPLETIONS, {"prompt": "x", "max_tokens": 400, "ignore_eos": True, "stream": True, "logprobs": 20}))
        await writer.drain()
        await asyncio.sleep(rng.random() * 8)
        await close(writer)
        self.tally.count("never reads", "gone")

    async def trickle(self, rng):
        """A byte at a time, and gone before the head ends."""
        reader, writer = await self.connect()
        for byte in b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nCont"[: rng.randrange(2, 40)]:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.05)
        await close(writer)
        self.tally.count("trickle", "gone")

    async def pipeline(self, rng):
        """Three requests in one write: three answers, in order."""
        reader, writer = await self.connect()
        body = {"prompt": "a b c", "max_tokens": 2, "ignore_eos": True}
        writer.write(post(COMPLETIONS, body) + post(COMPLETIONS, body) + get("/health"))
        statuses = [await read_reply(reader) for _ in range(3)]
        await close(writer)
        self.tally.count("pipeline", " ".join(map(str, statuses)))
        if statuses[2] != 200 or not set(statuses[:2]) <= {200, *OVERLOAD}:
            self.tally.violate("pipeline", f"statuses {statuses}")

    # --- requests that are wrong

    async def malformed(self, rng):
        body, statuses = rng.choice([
            (b"{", {400}), (b"", {400}), (b"[1]", {400}), (b"\xff\xfe{}", {400}), (b"[" * 100_000, {400}),
            (b'{"prompt":"a","prompt":"b"}', {400}), (b'{"prompt":7}', {400}), (b'{"prompt":["a"],"max_tokens":-1}', {400}),
            (b'{"prompt":"a","temperature":"hot"}', {400}), (b'{"prompt":"a","n":100000}', {400}),
            (b'{"prompt":[99999999]}', {400}), (b'{"prompt":"a","logit_bias":{"x":1}}', {400}),
            (b'{"prompt":"a","stop":7}', {400}), (b'{"messages":[]}', {400}), (b"{}", {400}),
        ])
        reply = await self.http.post(COMPLETIONS, content=body, headers={"Content-Type": "application/json"})
        self.tally.count("malformed", reply.status_code)
        self.expect("malformed", reply, statuses | {503})
        path, method, statuses = rng.choice([("/nothing", "GET", {404}), (COMPLETIONS, "GET", {405}), ("/v1/models/none", "GET", {404})])
        reply = await self.http.request(method, path)
        self.tally.count("wrong path", reply.status_code)
        self.expect("wrong path", reply, statuses)

    async def too_long(self, rng):
        body = {"prompt": words(rng, 3 * self.args.context), "max_tokens": 4}
        reply = await self.http.post(COMPLETIONS, json=body)
        self.tally.count("too long", reply.status_code)
        self.expect("too long", reply, {400} | OVERLOAD)

    async def broken_http(self, rng):
        bytes_sent = rng.choice([
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40), b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
            b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n",
            b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
            b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"prompt\":",
        ])
        reader, writer = await self.connect()
        writer.write(bytes_sent)
        await writer.drain()
        writer.write_eof()
        answer = await read_to_end(reader)
        await close(writer)
        status = answer[9:12].decode(errors="replace") if answer.startswith(b"HTTP/1.") else "closed"
        self.tally.count("broken HTTP", status)
        if status.startswith(("2", "5")) and status != "505":
            self.tally.violate("broken HTTP", f"{bytes_sent[:60]!r}: {answer[:200]!r}")

    async def big_head(self, rng):
        await self.big("big head", b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"x" * (1 << 20) + b"\r\n\r\n", {b"431", b"400"})

    async def big_body(self, rng):
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n"
        await self.big("big body", head + b" " * (1 << 20), {b"413", b"503"})

    async def big(self, action, data, statuses):
        """The server may close before it has read all."""
        reader, writer = await self.connect()
        answer = b""
        try:
            writer.write(data)
            await asyncio.wait_for(writer.drain(), 30)
            answer = await asyncio.wait_for(reader.read(4096), 30)
        except ConnectionError:
            pass
        await close(writer)
        self.tally.count(action, answer[9:12].decode() or "closed")
        if answer and answer[9:12] not in statuses:
            self.tally.violate(action, answer[:200])

    async def connect(self):
        return await asyncio.open_connection(self.host, self.port)


def post(path, body):
    data = json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


async def read_reply(reader):
    """The status of one answer with Content-Length; its body is read."""
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), ANSWER_SECONDS)
    fields = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:] if ": " in line)
    await reader.readexactly(int(fields["content-length"]))
    return int(head[9:12])


async def read_to_end(reader):
    try:
        return await asyncio.wait_for(reader.read(1 << 20), ANSWER_SECONDS)
    except ConnectionError:
        return b""


async def close(writer):
    writer.close()
    try:
        await writer.wait_closed()
    except (ConnectionError, OSError):
        pass
