"""Bad requests, clients that leave, full queues: the right word, and the next request is served."""

import concurrent.futures
import json
import re
import select
import socket
import struct
import time
import urllib.parse

import httpx
import openai
import pytest

from conftest import CONTEXT, URL, metric

ENDLESS = {"prompt": "one two three", "max_tokens": CONTEXT, "ignore_eos": True}
CANCELLED = 'weir_requests_total{outcome="cancelled"}'


@pytest.fixture(autouse=True)
def serves_afterwards(http):
    yield
    reply = http.post("/v1/completions", json={"prompt": "hello", "max_tokens": 1})
    assert reply.status_code == 200


def connect(body):
    """A raw connection that has sent a completion request."""
    parts = urllib.parse.urlsplit(URL)
    sock = socket.create_connection((parts.hostname, parts.port), timeout=60)
    data = json.dumps(body).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    sock.sendall(head.encode() + data)
    return sock


def wait_until_running(http):
    for _ in range(5000):
        if metric(http, "weir_running_requests") > 0:
            return
    pytest.fail("the request never ran")


def wait_for(http, name, value):
    for _ in range(5000):
        if metric(http, name) >= value:
            return
    pytest.fail(f"{name} stays below {value}")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("how", ["close", "reset", "half close"])
def test_a_client_that_leaves_frees_the_server(http, idle, stream, how):
    """In prefill or decode: the request counts as cancelled and the engine comes to rest."""
    idle()
    before = metric(http, CANCELLED)
    sock = connect({**ENDLESS, "stream": stream})
    wait_until_running(http)
    if how == "half close":
        sock.shutdown(socket.SHUT_WR)
    else:
        if how == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    wait_for(http, CANCELLED, before + 1)
    idle()
    sock.close()


def test_a_full_queue_is_refused_with_retry_after(idle):
    """Far more at once than queue and engine take: some 503, each with Retry-After; when all leave it is over."""
    clients = [connect(ENDLESS) for _ in range(150)]  # one runs, 64 wait
    silent, refused = list(clients), []
    deadline = time.monotonic() + 60
    while not refused and time.monotonic() < deadline:
        for sock in select.select(silent, [], [], 1)[0]:
            silent.remove(sock)
            head = sock.recv(4096).decode().lower()
            if head.startswith("http/1.1 503"):
                refused.append(head)
    for sock in clients:
        sock.close()
    assert refused and all(re.search(r"\r\nretry-after: \d+\r\n", head) for head in refused)
    idle()


BAD = [
    (b"{", None),
    (b"[1]", None),
    (b'{"prompt": "a\xff"}', None),
    (b'{"prompt": ' + b"[" * 10000 + b"]" * 10000 + b"}", None),
    (b'{"prompt": "a", "temperature": -1}', "temperature"),
    (b'{"prompt": "a", "temperature": NaN}', None),
    (b'{"prompt": "a", "max_tokens": -1}', "max_tokens"),
    (b'{"prompt": "a", "n": 17}', "n"),
    (b'{"prompt": "a", "logit_bias": {"5": 101}}', "logit_bias"),
    (b'{"prompt": [99999999]}', "prompt"),
    (b'{"prompt": []}', "prompt"),
    (b"{}", "prompt"),
]


@pytest.mark.parametrize("body, param", BAD)
def test_a_bad_body_is_a_400_that_names_the_field(http, body, param):
    """In OpenAI's error shape."""
    reply = http.post("/v1/completions", content=body, headers={"Content-Type": "application/json"})
    error = reply.json()["error"]
    assert reply.status_code == 400 and error["message"] and error["type"] == "invalid_request_error"
    assert error["param"] == param


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_over_the_context_names_both_numbers(http, stream):
    """A plain 400, also for a stream."""
    reply = http.post("/v1/completions", json={"prompt": [5] * (CONTEXT + 3), "stream": stream})
    message = reply.json()["error"]["message"]
    assert reply.status_code == 400 and str(CONTEXT) in message and str(CONTEXT + 3) in message


def test_an_answer_ends_at_the_context(http):
    """max_tokens beyond it is cut, with reason length."""
    body = {"prompt": [5] * (CONTEXT - 6), "max_tokens": 10**12, "ignore_eos": True}
    answer = http.post("/v1/completions", json=body).json()
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["total_tokens"] == CONTEXT


def test_ten_megabytes_are_refused_while_health_answers(http):
    """400 or 413, and /health in between."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        big = pool.submit(httpx.post, URL + "/v1/completions", json={"prompt": "tell me more " * 800_000}, timeout=60, trust_env=False)
        while not big.done():
            assert http.get("/health", timeout=5).status_code == 200
    assert big.result().status_code in (400, 413)


def test_the_official_client_raises(ai, model):
    """BadRequestError with the server's words."""
    with pytest.raises(openai.BadRequestError) as caught:
        ai.chat.completions.create(model=model, messages=[{"role": "wizard", "content": "x"}])
    assert caught.value.body["param"] == "messages[0].role"
