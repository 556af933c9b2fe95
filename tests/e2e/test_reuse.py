"""Tokens that were computed once are not computed again, and the answer is the same as without a cache.

A test has a namespace (cache_salt) of its own, so that it finds an empty cache, whatever ran before. A cold run
is one in yet another namespace. Prompts are lists of token ids: their lengths are exact.
"""

import itertools
import json
import os
import random

import pytest

from conftest import CONTEXT, metric

WINDOW = int(os.environ["WEIR_E2E_WINDOW"])  # W of the model; without windows any length
BLOCK = 128  # a tile
LONG = min(3 * WINDOW, CONTEXT - 200)
LONGEST = min(6000, CONTEXT - 200)
NOUNS = "river garden letter window market doctor winter island bridge machine story table morning farmer".split()
VERBS = "found lost opened carried painted watched crossed followed".split()
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"

salts = (f"salt {i}" for i in itertools.count())


@pytest.fixture
def salt():
    return next(salts)


@pytest.fixture(autouse=True, scope="module")
def empty_cache(http):
    """Salts are counted from 0 in every run: the server may know them from the run before."""
    assert http.post("/v1/cache/flush").status_code == 200


@pytest.fixture(scope="module")
def text(http):
    """text(n, seed): n token ids of simple sentences; another seed is another text from its first word."""

    def make(count, seed):
        rng = random.Random(seed)
        said = [f"{seed}."]
        while len(said) <= count // 4 + 1:  # a sentence has more than four tokens
            said.append(f"The {rng.choice(NOUNS)} {rng.choice(VERBS)} the {rng.choice(NOUNS)}.")
        return http.post("/tokenize", json={"prompt": " ".join(said)}).json()["tokens"][:count]

    return make


class Answer:
    def __init__(self, body):
        self.choice, self.usage = body["choices"][0], body["usage"]
        self.text = self.choice["text"] if "text" in self.choice else self.choice["message"]["content"]
        self.prompt_tokens = self.usage["prompt_tokens"]
        self.cached = self.usage["prompt_tokens_details"]["cached_tokens"]


def ask(http, path, body, salt):
    body = {"temperature": 0, "max_tokens": 8, "ignore_eos": True, **body}
    reply = http.post(path, json={**body, "cache_salt": salt} if salt else body)
    assert reply.status_code == 200, reply.text
    answer = Answer(reply.json())
    assert sum(answer.usage["prompt_tokens_sources"].values()) == answer.prompt_tokens
    return answer


def complete(http, prompt, salt, **fields):
    answer = ask(http, COMPLETIONS, {"prompt": prompt, "logprobs": 3, **fields}, salt)
    assert answer.prompt_tokens == len(prompt)
    return answer


def chat(http, messages, salt, **fields):
    return ask(http, CHAT, {"messages": messages, "logprobs": True, "top_logprobs": 3, **fields}, salt)


def expect_cold_answer(answer, call, http, prompt, **fields):
    """Text and log-probabilities of every token are those of a run that finds nothing."""
    cold = call(http, prompt, next(salts), **fields)
    assert cold.cached == 0
    assert answer.choice == cold.choice


def expect_cached(answer, known):
    """Of `known` tokens before the first new one all but a tile at most."""
    assert known - BLOCK <= answer.cached <= known, f"{answer.cached} of {answer.prompt_tokens} cached, {known} known"


def parting(one, other):
    """Tokens that two prompts have in common."""
    return next(i for i, (a, b) in enumerate(zip(one, other)) if a != b)


def lengths():
    wanted = [1, 40, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW, LONGEST]
    return sorted({n for n in wanted if n <= CONTEXT - 16})


@pytest.mark.parametrize("tokens", lengths())
def test_of_the_same_prompt_only_the_last_token_is_computed(http, salt, text, tokens):
    """At any length; the first run is the cold one."""
    prompt = text(tokens, "same")
    first, second = complete(http, prompt, salt), complete(http, prompt, salt)
    assert (first.cached, second.cached) == (0, tokens - 1)
    assert second.choice == first.choice


@pytest.mark.parametrize("percent", [25, 50, 75, 95])
def test_an_edit_keeps_what_is_before_it(http, salt, text, percent):
    """Up to a tile, and nothing of what is behind."""
    prompt, position = text(LONG, "edit"), LONG * percent // 100
    complete(http, prompt, salt)
    edited = [*prompt[:position], 7 if prompt[position] != 7 else 8, *prompt[position + 1 :]]
    answer = complete(http, edited, salt)
    expect_cached(answer, position)
    expect_cold_answer(answer, complete, http, edited)


def test_two_users_in_turns_keep_what_they_had(http, salt, text):
    """Each adds something in each round."""
    tokens = min(WINDOW + 100, CONTEXT // 2)
    prompts = [text(tokens, name) for name in ("Ann", "Bob")]
    known = [0, parting(*prompts)]
    for turn in range(3):
        for i, prompt in enumerate(prompts):
            answer = complete(http, prompt, salt)
            expect_cached(answer, known[i])
            known[i] = len(prompt)
            prompts[i] = prompt + text(30, f"turn {turn} {i}")
    expect_cold_answer(answer, complete, http, prompt)


def test_a_branch_starts_where_the_prompts_part_and_the_first_one_is_still_known(http, salt, text):
    """Head and one tail, the same head and another tail, then on from the first tail."""
    head = text(min(2 * WINDOW + 50, CONTEXT // 2), "head")
    one, other = head + text(150, "one way"), head + text(150, "other way")
    complete(http, one, salt)
    branch = complete(http, other, salt)
    expect_cached(branch, parting(one, other))
    expect_cold_answer(branch, complete, http, other)
    back = one + text(30, "and back")
    answer = complete(http, back, salt)
    expect_cached(answer, len(one))
    expect_cold_answer(answer, complete, http, back)


def test_regenerating_a_long_answer_computes_one_token(http, salt, text):
    """The prompt's window is still there when the answer was longer than the window."""
    prompt = text(200, "regenerate")
    first = complete(http, prompt, salt, max_tokens=WINDOW + 60)
    again = complete(http, prompt, salt, max_tokens=30)
    assert again.cached == len(prompt) - 1
    logprobs = [a.choice["logprobs"]["token_logprobs"] for a in (again, first)]
    assert first.text.startswith(again.text) and logprobs[0] == logprobs[1][:30]


def test_twenty_turns_of_a_chat_never_read_it_again(http, salt):
    """Each finds the prompt and the answer before it, up to a tile."""
    messages, known = [], 0
    turns = 20 if CONTEXT > 4096 else 6
    for turn in range(turns):
        question = " ".join(random.Random(turn).choices(NOUNS, k=turns))
        messages.append({"role": "user", "content": f"{turn}: {question}?"})
        answer = chat(http, messages, salt, max_tokens=6)
        assert answer.cached >= known - BLOCK, f"turn {turn}: {answer.cached} of {known} known"
        if turn in (turns // 2, turns - 1):
            expect_cold_answer(answer, chat, http, messages, max_tokens=6)
        known = answer.prompt_tokens + answer.usage["completion_tokens"]
        messages.append({"role": "assistant", "content": answer.text})


def test_salts_share_nothing(http, salt, text):
    """One namespace knows nothing of another, and none of them of the common one."""
    prompt = text(300, "salts")
    assert [complete(http, prompt, s).cached for s in (salt, "yours", None)] == [0, 0, 0]
    assert [complete(http, prompt, s).cached for s in (salt, "yours", None)] == [299, 299, 299]


def test_a_flush_forgets_everything(http, salt, text):
    """In all namespaces; it says how much that was."""
    prompt = text(300, "flushed")
    for name_space in (salt, None):
        complete(http, prompt, name_space)
    assert http.post("/v1/cache/flush").json()["forgotten_nodes"] >= 2 * 3  # two whole tiles and a tail each
    assert http.get("/v1/cache").json()["trie"]["nodes"] == 0
    for name_space in (salt, None):
        assert complete(http, prompt, name_space).cached == 0


def test_a_stream_says_how_much_was_cached(http, salt, text):
    """As the plain answer does."""
    prompt = text(200, "stream")
    plain = [complete(http, prompt, salt) for _ in range(2)][-1]
    body = {"prompt": prompt, "temperature": 0, "max_tokens": 8, "ignore_eos": True, "cache_salt": salt,
            "stream": True, "stream_options": {"include_usage": True}}
    lines = [line for line in http.post(COMPLETIONS, json=body).text.splitlines() if line.startswith("data: {")]
    assert json.loads(lines[-1][6:])["usage"] == plain.usage


def test_the_cache_view_adds_up(http, idle, salt, text):
    """Pools in bytes, nothing alive or pinned at idle, and the newest conversation first."""
    complete(http, text(300, "view"), salt, max_tokens=1)
    idle()
    view = http.get("/v1/cache").json()
    assert view["pools"][0]["name"] == "full"
    for pool in view["pools"]:
        assert pool["tiles_live"] == 0 and pool["tiles_used"] <= pool["tiles"]
        assert pool["bytes"] == pool["tiles"] * pool["tile_bytes"]
        assert pool["bytes_used"] == pool["tiles_used"] * pool["tile_bytes"]
        assert metric(http, f'weir_kv_pool_bytes{{group="{pool["name"]}"}}') == pool["bytes"]
    trie = view["trie"]
    assert trie["pinned"] == 0 and trie["nodes"] >= 3 and 1 <= trie["tails"] < trie["nodes"]
    points = view["resume_points"]
    assert points["total"] == sum(points.values()) - points["total"]
    assert points["newest"] > 0 or len(view["pools"]) == 1  # without windows every place is one
    assert len(view["conversations"]) <= 100 and view["conversations"][0]["tokens"] == 300


def test_sources_in_metrics_sum_to_the_prompts(http, idle, salt, text):
    """Every token of a prompt comes from one source."""
    prompt = text(250, "sources")
    for _ in range(2):
        complete(http, prompt, salt)
    idle()
    sources = [metric(http, f'weir_prompt_source_tokens_total{{source="{s}"}}') for s in ("device", "replayed", "computed")]
    assert sources[0] >= 249 and sum(sources) == metric(http, "weir_prompt_tokens_total")
