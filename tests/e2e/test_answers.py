"""Answers through the official client and raw HTTP: the same text however it is asked for."""

import json

import pytest

PROMPT = "Once upon a time there was a small house by the river."
TALK = [{"role": "system", "content": "You are kind."}, {"role": "user", "content": "Say hello."}]


def frames(reply):
    data = [line[6:] for line in reply.text.splitlines() if line.startswith("data: ")]
    assert data[-1] == "[DONE]"
    return [json.loads(d) for d in data[:-1]]


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
@pytest.mark.parametrize("sampling", [{"temperature": 0}, {"temperature": 1.2, "seed": 5, "top_k": 50}])
def test_a_stream_says_what_the_plain_answer_says(http, path, sampling):
    """Text, finish reason and usage are equal, once the prompt is known."""
    ask = {"prompt": PROMPT} if path == "/v1/completions" else {"messages": TALK}
    body = {**ask, **sampling, "max_tokens": 24}
    http.post(path, json=body)
    plain = http.post(path, json=body).json()
    chunks = frames(http.post(path, json={**body, "stream": True, "stream_options": {"include_usage": True}}))
    choice = plain["choices"][0]
    parts = [c["choices"][0] for c in chunks if c["choices"]]
    text = "".join(p.get("text") or p.get("delta", {}).get("content") or "" for p in parts)
    assert text == (choice["text"] if "text" in choice else choice["message"]["content"])
    assert [p["finish_reason"] for p in parts if p["finish_reason"]] == [choice["finish_reason"]]
    assert chunks[-1]["usage"] == plain["usage"]


def test_a_greedy_answer_is_the_same_every_time(http):
    """Bit for bit, also with log-probabilities."""
    body = {"prompt": PROMPT, "temperature": 0, "max_tokens": 16, "logprobs": 3}
    first, second = (http.post("/v1/completions", json=body).json()["choices"][0] for _ in range(2))
    assert first == second


def test_a_stop_string_cuts_before_itself(http):
    """Cut anywhere out of the free answer, streamed or not."""
    body = {"prompt": PROMPT, "temperature": 0, "max_tokens": 20, "ignore_eos": True}
    free = http.post("/v1/completions", json=body).json()["choices"][0]["text"]
    for begin, length in ((0, 1), (3, 5), (len(free) // 2, 4)):
        stop = free[begin : begin + length]
        answer = http.post("/v1/completions", json={**body, "stop": ["\x01 never", stop]}).json()["choices"][0]
        assert (answer["text"], answer["finish_reason"]) == (free[: free.index(stop)], "stop")
        chunks = frames(http.post("/v1/completions", json={**body, "stop": stop, "stream": True}))
        assert "".join(c["choices"][0]["text"] for c in chunks) == answer["text"]


@pytest.mark.parametrize("stream", [False, True])
def test_several_answers_are_drawn_apart_and_the_first_as_if_alone(http, stream):
    """n = 3 with a seed: answer 0 is that of n = 1; the prompt counts once."""
    body = {"prompt": PROMPT, "temperature": 1.5, "seed": 3, "max_tokens": 24, "ignore_eos": True}
    alone = http.post("/v1/completions", json=body).json()
    if stream:
        chunks = frames(http.post("/v1/completions", json={**body, "n": 3, "stream": True, "stream_options": {"include_usage": True}}))
        texts = ["".join(c["choices"][0]["text"] for c in chunks if c["choices"] and c["choices"][0]["index"] == i) for i in range(3)]
        usage = chunks[-1]["usage"]
    else:
        answer = http.post("/v1/completions", json={**body, "n": 3}).json()
        texts, usage = [c["text"] for c in answer["choices"]], answer["usage"]
    assert texts[0] == alone["choices"][0]["text"]
    assert len(set(texts)) == 3
    assert usage["prompt_tokens"] == alone["usage"]["prompt_tokens"]
    assert usage["completion_tokens"] == 3 * 24


def test_a_list_of_prompts_is_answered_in_its_order(http):
    """Each as if it were alone."""
    prompts = [PROMPT, "The sea was", PROMPT + " It had"]
    body = {"temperature": 0, "max_tokens": 12}
    alone = [http.post("/v1/completions", json={**body, "prompt": p}).json()["choices"][0]["text"] for p in prompts]
    answer = http.post("/v1/completions", json={**body, "prompt": prompts}).json()
    assert [c["index"] for c in answer["choices"]] == [0, 1, 2]
    assert [c["text"] for c in answer["choices"]] == alone


def test_a_bias_forces_and_forbids(http):
    """At temperature 0: the token with the most writes all of the answer; `false` takes it away, in either form."""
    body = {"prompt": PROMPT, "temperature": 0, "max_tokens": 6, "ignore_eos": True, "logprobs": 0}
    first, second = (http.post("/tokenize", json={"content": text}).json()["tokens"][-1] for text in ("river", "house"))
    assert first != second

    def written(bias):
        block = http.post("/v1/completions", json={**body, "logit_bias": bias}).json()["choices"][0]["logprobs"]
        assert len(block["tokens"]) == 6
        return set(block["tokens"])

    only_first, only_second = written({str(first): 100}), written({str(second): 100})
    assert len(only_first) == len(only_second) == 1 and only_first != only_second
    assert written({str(first): False, str(second): 100}) == only_second
    assert written([[first, 100], [second, False]]) == only_first


def test_echo_scores_the_prompt(http):
    """Prompt log-probabilities: one a token, the first unknown; the same for text and token ids."""
    body = {"temperature": 0, "max_tokens": 0, "echo": True, "logprobs": 1}
    ids = http.post("/tokenize", json={"prompt": PROMPT}).json()["tokens"]
    by_text = http.post("/v1/completions", json={**body, "prompt": PROMPT}).json()
    by_ids = http.post("/v1/completions", json={**body, "prompt": ids}).json()
    values = by_text["choices"][0]["logprobs"]["token_logprobs"]
    assert by_text["choices"][0]["text"] == PROMPT
    assert values[0] is None and len(values) == len(ids) and all(v <= 0 for v in values[1:])
    assert by_ids["choices"][0]["logprobs"]["token_logprobs"] == values


def test_a_text_survives_tokenize_and_detokenize(http):
    """Any characters; count is the length."""
    text = "Zwei Füchse 🦊🦊 und 三 Ääpfel\n\n  {code} <s>"
    reply = http.post("/tokenize", json={"content": text}).json()
    assert reply["count"] == len(reply["tokens"])
    back = http.post("/detokenize", json={"tokens": reply["tokens"]}).json()["content"]
    # A vocabulary without a token for the space mark spells it in bytes, which stay what they are.
    assert back.replace("\u2581", " ").lstrip(" ") == text


def test_the_official_client(ai, model):
    """Typed chat, completion and stream with log-probabilities."""
    chat = ai.chat.completions.create(model=model, messages=TALK, max_tokens=5, temperature=0, logprobs=True, top_logprobs=2)
    assert chat.usage.completion_tokens == len(chat.choices[0].logprobs.content)
    chunks = list(ai.completions.create(model=model, prompt=PROMPT, max_tokens=5, temperature=0, stream=True))
    assert chunks[-1].choices[0].finish_reason in ("stop", "length")
    assert [m.id for m in ai.models.list()] == [model] == [ai.models.retrieve(model).id]
