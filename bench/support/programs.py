"""The servers that are compared: started, asked and ended. Loopback only."""

import dataclasses
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time

START_SECONDS, ANSWER_SECONDS, END_SECONDS = 120, 1800, 30
CHAT = "/v1/chat/completions"


@dataclasses.dataclass
class Answer:
    seconds: float  # from sending the request to the first text
    text: str
    prompt_tokens: int
    cached_tokens: int
    answer_tokens: int

    @property
    def computed_tokens(self):
        return self.prompt_tokens - self.cached_tokens


def version(command):
    run = subprocess.run([command, "--version"], capture_output=True, text=True)
    return (run.stdout + run.stderr).strip()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def frames(reply):
    """The JSON values of a stream as they come."""
    for line in reply:
        if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
            yield json.loads(line[5:])


class Program:
    """A running server: `with Program(name, command) as program`. It listens on any free port unless told which."""

    def __init__(self, name, command, port=None):
        self.name, self.port = name, port or free_port()
        self.command = [*command, "--host", "127.0.0.1", "--port", str(self.port)]

    def __enter__(self):
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(self.command, stdout=self._log, stderr=self._log)
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise SystemExit(f"{' '.join(self.command)}\nis not ready:\n{self.log()[-800:]}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def log(self):
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")

    def _is_ready(self):
        try:
            return self._send("GET", "/health").status == 200
        except OSError:
            return False

    def _send(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json", "Connection": "close"})
        return connection.getresponse()

    def json(self, method, path, body=None):
        return json.load(self._send(method, path, body))

    def chat(self, messages, max_tokens):
        body = {"messages": messages, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True,
                "stream": True, "stream_options": {"include_usage": True}}
        started, seconds, text, usage = time.perf_counter(), None, "", None
        reply = self._send("POST", CHAT, body)
        if reply.status != 200:
            raise SystemExit(f"{self.name}: HTTP {reply.status}: {reply.read(600)}\n{self.log()[-800:]}")
        for frame in frames(reply):
            said = "".join(c["delta"].get("content") or "" for c in frame.get("choices", []))
            if said and seconds is None:
                seconds = time.perf_counter() - started
            text, usage = text + said, frame.get("usage") or usage
        if usage is None:
            raise SystemExit(f"{self.name}: a stream without usage\n{self.log()[-800:]}")
        seconds = time.perf_counter() - started if seconds is None else seconds
        return Answer(seconds, text, usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"],
                      usage["completion_tokens"])

    def peak_bytes(self):
        """The most memory that the process ever held."""
        status = pathlib.Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.M)[1]) * 1024

    def kv_buffer_bytes(self):
        """Of a llama.cpp server: what its log says it allocated for KV, or None."""
        found = re.findall(r"KV buffer size\s*=\s*([\d.]+) MiB", self.log())
        return sum(int(float(mib) * 2**20) for mib in found) if found else None
