"""API keys: a server of its own with a key file."""

import os
import subprocess

import httpx
import pytest

SECRETS = ["sk-ann-1", "sk-root-2"]


def command(*more):
    return [os.environ["WEIR_TEST_BINARY"], "serve", "-m", os.environ["WEIR_TEST_MODEL"], "--port", "0", "-c", "256", "--kv-memory", "64MiB", *more]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Its URL and the file that its log goes to."""
    folder = tmp_path_factory.mktemp("keys")
    (folder / "keys").write_text("# test\nsk-ann-1 ann concurrent=1\nsk-root-2 root admin\n")
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command("--api-key-file", str(folder / "keys")), stdout=subprocess.PIPE, stderr=log, text=True)
    yield process.stdout.readline().split()[-1], folder / "log"
    process.kill()
    process.communicate()


def ask(url, key, method="POST", path="/v1/completions", body=None):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    json = body or {"prompt": "one two three", "max_tokens": 2}
    return httpx.request(method, url + path, headers=headers, json=json if method == "POST" else None, trust_env=False, timeout=60)


def test_only_keys_of_the_file_come_in(server):
    url, _ = server
    assert ask(url, None).status_code == ask(url, "sk-ann-").status_code == 401
    assert ask(url, "sk-ann-1").status_code == 200
    assert httpx.get(url + "/health", trust_env=False).status_code == 200


def test_metrics_and_cache_want_the_admin(server):
    url, _ = server
    for path in ("/metrics", "/v1/cache"):
        assert [ask(url, key, "GET", path).status_code for key in (None, *SECRETS)] == [401, 403, 200]


def test_no_key_hits_what_another_left(server):
    """The same prompt of more than a tile, warm for one key and cold for the other."""
    url, _ = server
    body = {"prompt": [7] * 150, "max_tokens": 1}
    cached = lambda key: ask(url, key, body=body).json()["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached("sk-ann-1") == 0
    assert cached("sk-ann-1") > 0
    assert cached("sk-root-2") == 0


def test_no_key_is_in_the_log_and_names_are(server):
    url, log = server
    ask(url, "sk-ann-1")
    ask(url, "sk-eve-3")
    text = log.read_text()
    assert "key=ann" in text and "sk-" not in text


@pytest.mark.parametrize("text", [None, "", "# none\n", "sk-1 a\nsk-1 b\n", "sk-1 a root\n"])
def test_a_bad_file_ends_the_start_with_one_line(tmp_path, text):
    path = tmp_path / "keys"
    if text is not None:
        path.write_text(text)
    ended = subprocess.run(command("--api-key-file", str(path)), capture_output=True, text=True, timeout=60)
    assert ended.returncode != 0 and str(path) in ended.stderr and "sk-" not in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_an_empty_key_does_not_open_the_server():
    ended = subprocess.run(command("--api-key", ""), capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2 and "must not be empty" in ended.stderr
