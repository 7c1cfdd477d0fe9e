"""The server of `algorist view`: few answers, to this machine alone, whatever it is sent."""

import http.client
import json
import socket
import struct
import threading
import time

import pytest
import small
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import PATIENCE, wait_until

import algorist
from algorist.model.learner import Learner, TaskEncoding
from algorist.viewer import server as room
from algorist.viewer.app import App
from algorist.viewer.server import Server

SORT = {"algorithm": "heapsort", "fields": {"numbers": "5 2 9 1"}}


@pytest.fixture(scope="module")
def app():
    names = ["heapsort", "dijkstra", "bubble_sort", "lcs_length"]
    learner = Learner.new(names, small.model(), TaskEncoding())
    return App(small_and_lively(learner).by_algorithm(), "small")


def small_and_lively(learner):
    small.lively(learner.net)
    return learner


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


def asked(server, method, path, body=None, **headers):
    """Status, headers and content of an answer; without a header that is None."""
    sent = {"Host": f"127.0.0.1:{server.server_port}", **headers}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in sent.items():
        if value is not None:
            connection.putheader(name.replace("_", "-"), value)
    connection.endheaders(body)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def solved(server, value, **headers):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    sent = {"Content_Type": "application/json", "Content_Length": str(len(body)), **headers}
    status, _, content = asked(server, "POST", "/api/solve", body, **sent)
    return status, json.loads(content)


def assert_it_answers(server):
    status, trace = solved(server, SORT)
    assert (status, trace["steps"]) == (200, algorist.get("heapsort").trace(key=[5, 2, 9, 1]).steps)


def test_it_listens_on_the_loopback_interface_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_the_page_may_load_nothing_from_elsewhere(server):
    status, headers, content = asked(server, "GET", "/")
    assert status == 200
    assert headers["Content-Type"].startswith("text/html")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; connect-src 'self'")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert b"http:" not in content.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"https:" not in content


def test_the_head_of_an_answer_has_no_content(server):
    status, headers, content = asked(server, "HEAD", "/")
    assert (status, content) == (200, b"")
    assert int(headers["Content-Length"]) > 1000


def test_it_tells_what_the_net_knows(server):
    status, _, content = asked(server, "GET", "/api/algorithms")
    found = json.loads(content)
    assert status == 200
    assert [a["name"] for a in found["algorithms"]] == [
        "lcs_length", "dijkstra", "bubble_sort", "heapsort",
    ]  # fmt: skip
    assert [field["name"] for field in found["algorithms"][1]["fields"]] == [
        "graph", "directed", "source", "weight",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]"]
)
def test_who_asks_for_another_name_gets_nothing(server, host):
    name = host and host.format(port=server.server_port)
    for method, path in (("GET", "/"), ("GET", "/api/algorithms"), ("POST", "/api/solve")):
        status, _, content = asked(server, method, path, Host=name)
        assert status == 403
        assert json.loads(content) == {"error": "this server answers to its own name alone"}


def test_it_answers_to_localhost_too(server):
    assert asked(server, "GET", "/", Host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", ""])
def test_pages_of_other_sites_cannot_let_it_solve(server, origin):
    assert solved(server, SORT, Origin=origin)[0] == 403


def test_its_own_page_can(server):
    assert solved(server, SORT, Origin=server.address.rstrip("/"))[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/main.js",
        "/server.py",
        "/../server.py",
        "/../../../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/etc/passwd",
        "/api",
        "/api/solve",
        "*",
        "http://evil.example/",
    ],
)
def test_there_are_no_files(server, path):
    status, _, content = asked(server, "GET", path)
    assert (status, json.loads(content)) == (404, {"error": "there is nothing here"})


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"])
def test_there_is_nothing_else_to_do(server, method):
    assert asked(server, method, "/")[0] == 501


def test_requests_are_limited(server):
    assert solved(server, SORT, Content_Type="text/plain")[0] == 415
    assert solved(server, SORT, Content_Length=None)[0] == 411
    assert solved(server, SORT, Content_Length="-1")[0] == 411
    assert solved(server, SORT, Content_Length="12x")[0] == 411
    for length in (str(room.MOST_BYTES + 1), "9" * 5000):
        status, answer = solved(server, SORT, Content_Length=length)
        assert status == 413
        assert f"expected at most {room.MOST_BYTES}" in answer["error"]
    assert_it_answers(server)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "got a request that is no JSON"),
        (b"{", "got a request that is no JSON"),
        (b"\xff\xfe", "got a request that is no JSON"),
        (b"[" * 100_000, "got a request that is no JSON"),
        (b"[]", "got [], expected an object"),
        (b"NaN", "got nan, expected an object"),
        (b"{}", "unknown algorithm 'None'"),
        (b'{"algorithm": ["heapsort"]}', "unknown algorithm"),
        (b'{"algorithm": "heapsorts"}', "did you mean 'heapsort'?"),
        (b'{"algorithm": "heapsort"}', "random: got None, expected n and seed"),
        (b'{"algorithm": "heapsort", "fields": null}', "fields: got None, expected texts by name"),
        (b'{"algorithm": "heapsort", "fields": {"numbers": 3}}', "fields: got {'numbers': 3}"),
        (b'{"algorithm": "heapsort", "fields": {"grph": ""}}', "unknown field 'grph'"),
        (b'{"algorithm": "heapsort", "fields": {}}', "heapsort: got no problem, expected for"),
        (b'{"algorithm": "heapsort", "random": 5}', "random: got 5, expected n and seed"),
        (b'{"algorithm": "heapsort", "random": {"n": 0}}', "n: got 0, expected a whole number"),
        (b'{"algorithm": "heapsort", "random": {"n": "x"}}', "n: got 'x', expected a whole"),
        (b'{"algorithm": "heapsort", "random": {"n": true}}', "n: got True, expected a whole"),
        (b'{"algorithm": "heapsort", "random": {"n": 1e400}}', "n: got inf, expected a whole"),
        (b'{"algorithm": "heapsort", "random": {"n": 4, "seed": -1}}', "seed: got -1, expected"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(server, body, message):
    status, answer = solved(server, body)
    assert status == (400 if message.endswith("no JSON") else 200)
    assert message in answer["error"]
    assert "\n" not in answer["error"]


@pytest.mark.parametrize("error", [KeyError("oops"), OSError("no space left on device")], ids=repr)
def test_a_mistake_of_the_program_is_an_answer_too(server, monkeypatch, capfd, error):
    def broken(asked):
        raise error

    monkeypatch.setattr(server.app, "solve", broken)
    status, answer = solved(server, SORT)
    assert status == 500
    assert type(error).__name__ in answer["error"]
    assert error.args[0] in capfd.readouterr().err  # for those who run it


def sent(server, data, *, finish=True):
    """What comes back for some bytes."""
    place = ("127.0.0.1", server.server_port)
    with socket.create_connection(place, timeout=PATIENCE) as connection:
        try:
            connection.sendall(data)
            if finish:
                connection.shutdown(socket.SHUT_WR)
            received = b""
            while part := connection.recv(65536):
                received += part
        except OSError:  # it may close before it has read all
            return b""
        return received


WORDS = st.sampled_from(
    [b"GET", b"POST", b" ", b"/", b"/api/solve", b"HTTP/1.1", b"HTTP/9.9", b"\r\n", b"\n", b"\0",
     b"Host: 127.0.0.1", b"Content-Length: 5", b"Content-Length: -5", b"Transfer-Encoding: chunked",
     b"Content-Type: application/json", b":", b"Expect: 100-continue", b"{}", b"A" * 70_000]
)  # fmt: skip
BYTES = st.one_of(st.binary(max_size=300), st.lists(WORDS, max_size=14).map(b"".join))


def test_it_survives_whatever_it_is_sent(server):
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(BYTES)
    def survives(data):
        answer = sent(server, data)
        assert b"Traceback" not in answer
        assert b"HTTP/1.0 500" not in answer

    survives()
    assert_it_answers(server)


def test_it_survives_whatever_it_is_asked_to_solve(server):
    names = st.sampled_from(["algorithm", "fields", "random", "n", "seed", "numbers", "graph", "x"])
    words = st.sampled_from(
        ["heapsort", "dijkstra", "lcs_length", "5 2 9", "a,b,1\nb,c,2", "a", ""]
    )
    values = st.recursive(
        st.none() | st.booleans() | st.integers(-3, 7) | st.floats() | words | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    )
    fields = st.dictionaries(
        st.sampled_from(["numbers", "graph", "source", "directed", "x", "y", "inputs"]),
        words | st.text(max_size=20),
        max_size=3,
    )
    problems = st.fixed_dictionaries(
        {"algorithm": st.sampled_from(["heapsort", "dijkstra", "lcs_length"]), "fields": fields}
    )

    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    @given(values | problems)
    def survives(value):
        status, answer = solved(server, value)
        assert status == 200
        assert "steps" in answer or "\n" not in answer["error"]

    survives()
    assert_it_answers(server)


def dawdle(server):
    """Send a little now and then, for longer than anybody should listen."""
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        for _ in range(2_000):
            connection.sendall(b"X")
            time.sleep(0.05)


def test_clients_that_stop_or_dawdle_are_left(server, monkeypatch):
    head = b"POST /api/solve HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 99\r\n"
    host = f"Host: 127.0.0.1:{server.server_port}\r\n\r\n".encode()
    with monkeypatch.context() as patch:
        patch.setattr(room, "READ_SECONDS", 0.4)
        with pytest.raises(OSError, match=r"reset|[Pp]ipe"):
            dawdle(server)
        patch.setattr(room, "READ_SECONDS", 2)
        assert b"400" in sent(server, head + host + b'{"algo', finish=False)
    assert_it_answers(server)


def test_too_many_at_a_time_are_turned_away(server):
    idle = [
        socket.create_connection(("127.0.0.1", server.server_port))
        for _ in range(room.MOST_CONNECTIONS + 8)
    ]
    for connection in idle[room.MOST_CONNECTIONS :]:
        connection.settimeout(PATIENCE)
        assert connection.recv(1) == b""  # closed
    for connection in idle:
        connection.close()
    wait_until(lambda: is_answered(server))


def is_answered(server):
    try:
        assert_it_answers(server)
    except OSError:
        return False
    return True


def test_browsers_leave_out_the_usual_port(server, monkeypatch):
    monkeypatch.setattr(server, "names", room.own_names(80))
    for name in ("127.0.0.1", "localhost", "127.0.0.1:80"):
        assert asked(server, "GET", "/", Host=name)[0] == 200
        assert solved(server, SORT, Host=name, Origin=f"http://{name}")[0] == 200
    assert room.own_names(8000) == {"127.0.0.1:8000", "localhost:8000"}


def test_of_clients_that_went_away_nothing_is_said(server):
    head = f"POST /api/solve HTTP/1.0\r\nHost: 127.0.0.1:{server.server_port}\r\n".encode()
    kind = b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    reset = struct.pack("ii", 1, 0)
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        connection.sendall(head + kind + b"{")
        time.sleep(0.2)  # until it reads on
    assert_it_answers(server)


def test_connections_that_got_no_thread_leave_their_room(server, monkeypatch):
    def threadless(server, request, client_address):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(room.ThreadingHTTPServer, "process_request", threadless)
        for _ in range(room.MOST_CONNECTIONS):
            assert sent(server, b"") == b""
    assert_it_answers(server)
