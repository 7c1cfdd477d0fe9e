"""Traces as a stream: lines that say how far they are, and clients that go away to cancel."""

import json
import socket
import threading

import pytest
import small
from processes import PATIENCE

from algorist.model.learner import Learner, TaskEncoding
from algorist.viewer import app as room
from algorist.viewer.app import App
from algorist.viewer.server import Server

SORT = {"algorithm": "heapsort", "fields": {"numbers": "5 2 9 1"}}


@pytest.fixture(scope="module")
def app():
    learner = Learner.new(["heapsort"], small.model(), TaskEncoding())
    return App(learner.by_algorithm(), "small")


@pytest.fixture
def server(app, capfd):
    """A server that has printed nothing when the test is over."""
    with Server(app) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()
    assert capfd.readouterr() == ("", "")


def connected(server, asked):
    """A connection that has asked for a stream."""
    body = json.dumps(asked).encode()
    head = (
        f"POST /api/solve HTTP/1.0\r\nHost: 127.0.0.1:{server.server_port}\r\n"
        "Content-Type: application/json\r\nAccept: application/x-ndjson\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    connection = socket.create_connection(("127.0.0.1", server.server_port), timeout=PATIENCE)
    connection.sendall(head.encode() + body)
    return connection


def streamed(server, asked):
    """The head and the lines of a stream."""
    with connected(server, asked) as connection, connection.makefile("rb") as file:
        head, _, content = file.read().partition(b"\r\n\r\n")
    return head.decode(), [json.loads(line) for line in content.splitlines()]


def test_the_trace_comes_last_after_how_far_it_is(server, app):
    head, lines = streamed(server, SORT)
    assert head.startswith("HTTP/1.0 200 ")
    assert "Content-Type: application/x-ndjson" in head
    assert "Content-Security-Policy" in head
    *far, trace = lines
    assert [set(line) for line in far] == [{"step", "steps"}] * len(far)
    assert far[-1]["step"] == far[-1]["steps"] == trace["steps"] - 1
    assert trace == json.loads(json.dumps(app.solve(SORT)))


def test_what_is_wrong_comes_with_its_field(server):
    _, lines = streamed(server, {"algorithm": "heapsort", "fields": {"numbers": "5 x"}})
    assert lines == [
        {
            "error": "VALUE: got 'x', expected a finite number",
            "field": "numbers",
            "at_field": "got 'x', expected a finite number",
        }
    ]
    _, lines = streamed(server, {"algorithm": "heapsort", "random": {"n": 0}})
    assert lines[0]["field"] == "n"


def test_a_mistake_of_the_program_is_the_last_line(server, app, monkeypatch, capfd):
    def broken(*problem, **how):
        raise KeyError("oops")

    monkeypatch.setattr(room, "solve", broken)
    _, lines = streamed(server, SORT)
    assert "KeyError" in lines[-1]["error"]
    assert "oops" in capfd.readouterr().err


def test_who_goes_away_ends_the_computation(server, monkeypatch):
    ended, rounds = threading.Event(), []

    def endless(*problem, on_progress, **how):
        try:
            while len(rounds) < 100_000:
                rounds.append(1)
                on_progress(1, 100_000)
        finally:
            ended.set()

    with monkeypatch.context() as patch:
        patch.setattr(room, "solve", endless)
        connection = connected(server, SORT)
        assert connection.recv(1)
        connection.close()
        assert ended.wait(PATIENCE)
    assert len(rounds) < 100_000
    assert streamed(server, SORT)[1][-1]["algorithm"] == "heapsort"
