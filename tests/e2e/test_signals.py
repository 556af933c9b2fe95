"""How the process ends: a server of its own for each test."""

import os
import pathlib
import signal
import subprocess

import pytest

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.fixture
def server():
    command = [os.environ["WEIR_TEST_BINARY"], "serve", "-m", os.environ["WEIR_TEST_MODEL"], "--port", "0", "-c", "256", "--kv-memory", "64MiB"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_ready_server_with_0(server, number):
    assert server.stdout.readline().startswith("ready on")
    server.send_signal(number)
    assert server.wait(timeout=30) == 0
    assert "ending; requests have" in server.stderr.read()


def handles(pid, number):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    caught = next(line.split()[1] for line in lines if line.startswith("SigCgt:"))
    return int(caught, 16) >> (number - 1) & 1


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_loading_server_with_0(server, number):
    while not handles(server.pid, number):
        assert server.poll() is None
    server.send_signal(number)
    assert server.wait(timeout=30) == 0
