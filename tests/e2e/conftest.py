"""One running server, found through WEIR_URL (tests/e2e/run starts it)."""

import os

import httpx
import openai
import pytest

URL = os.environ["WEIR_URL"]
CONTEXT = int(os.environ["WEIR_CONTEXT"])


@pytest.fixture(scope="session")
def http():
    with httpx.Client(base_url=URL, timeout=900, trust_env=False) as client:
        yield client


@pytest.fixture(scope="session")
def model(http):
    return http.get("/v1/models").json()["data"][0]["id"]


@pytest.fixture(scope="session")
def ai():
    client = openai.OpenAI(base_url=URL + "/v1", api_key="none", timeout=900, max_retries=0, http_client=httpx.Client(trust_env=False))
    yield client
    client.close()


@pytest.fixture
def idle(http):
    """Waits, without guessing a time, until the engine has nothing to do."""

    def wait():
        for _ in range(2000):
            if metric(http, "weir_running_requests") == metric(http, "weir_waiting_requests") == 0:
                return
        pytest.fail("requests are still running or waiting")

    return wait


def metric(http, name):
    """The value of a series, by its name with labels."""
    for line in http.get("/metrics").text.splitlines():
        if line.rpartition(" ")[0] == name:
            return float(line.rpartition(" ")[2])
    raise KeyError(name)
