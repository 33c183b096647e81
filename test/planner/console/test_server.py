"""The server over real sockets: hello, news, orders, and what a page that misbehaves gets."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from email.message import Message
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from console_messages import entity, info, state, trace
from dispatcher_stage import Robots
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from planner.console import connection, server
from planner.console.access import Access, LiveShow, Pictures, access_to
from planner.console.connection import Hub
from planner.console.dispatcher import OrderDispatcher, SessionRecord
from planner.console.facts import Table
from planner.console.protocol import MAX_MESSAGE, Hello
from planner.console.rights import Visitor
from planner.console.server import Server
from planner.console.view import View
from planner.world.errors import PlannerError

TIMEOUT_S = 30.0


class Site:
    """A server of a view that the test fills."""

    def __init__(self, access: Access) -> None:
        hub = Hub()
        self.view, self.robots, self.pictures = View(Table(hub.changed)), Robots(), Pictures()
        dispatcher = OrderDispatcher(self.view, self.robots, SessionRecord(""), lambda: 0.0)

        def make(hello: Hello, *, may_order: bool) -> LiveShow:
            return LiveShow(dispatcher, Visitor(hello.session, may_order), self.pictures)

        self.hub = hub
        self.server = Server(access, hub, make)
        self.server.start()
        self.url = self.server.address.replace("http", "ws") + "ws"

    @contextmanager
    def page(self, session: str = "aaaaaaaa", **more: Any) -> Iterator[Page]:
        with connect(self.url, max_size=None) as socket:
            page = Page(socket)
            page.send(**{"type": "hello", "version": 1, "token": "", "session": session, **more})
            yield page


class Page:
    """A page without a browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.shown: dict[str, dict[str, Any]] = {}

    def send(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def receive(self, *kinds: str) -> dict[str, Any]:
        """The next message of a kind; news on the way are drawn."""
        while True:
            text = self.socket.recv(TIMEOUT_S)
            assert isinstance(text, str)
            message: dict[str, Any] = json.loads(text)
            if message["type"] in ("all", "patch"):
                for section, entries in message["set"].items():
                    self.shown.setdefault(section, {}).update(entries)
                self.send(type="drawn", version=message["version"])
            if message["type"] in kinds:
                return message

    def until(self, section: str, key: str) -> Any:
        while key not in self.shown.get(section, {}):
            self.receive("all", "patch")
        return self.shown[section][key]

    def closed(self) -> tuple[int, str]:
        """Code and reason with which the server sends the page away."""
        while True:
            try:
                self.socket.recv(TIMEOUT_S)
            except ConnectionClosed as left:
                return (left.rcvd.code, left.rcvd.reason) if left.rcvd else (0, "")


def get(address: str, **headers: str) -> tuple[int, Message, bytes]:
    """Status, headers and body of an address."""
    parts = urlsplit(address)
    asked = HTTPConnection(parts.netloc, timeout=TIMEOUT_S)
    try:
        asked.request("GET", parts.path, headers=headers)
        answer = asked.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        asked.close()


def masked(text: str) -> bytes:
    """A frame of text as a client sends it."""
    data = text.encode()
    assert len(data) < 126
    return bytes([0x81, 0x80 | len(data), 0, 0, 0, 0]) + data


@contextmanager
def deaf_page(site: Site) -> Iterator[socket.socket]:
    """A connection that reads nothing once it is open, as of a browser that hangs."""
    parts = urlsplit(site.url)
    asked = (
        f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with socket.create_connection((parts.hostname, parts.port or 0), TIMEOUT_S) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.sendall(asked.encode())
        assert b" 101 " in opened.recv(4096)
        yield opened


@contextmanager
def half_open(site: Site, begun: bytes) -> Iterator[socket.socket]:
    """A connection with the beginning of a request."""
    parts = urlsplit(site.url)
    with socket.create_connection((parts.hostname, parts.port or 0), TIMEOUT_S) as opened:
        opened.sendall(begun)
        yield opened


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site(access_to("127.0.0.1", 0, "", read_only=False))
    made.view.take("/world/info", info("agent_0", "agent_1"))
    yield made
    made.server.stop()


def test_the_page_comes_with_a_policy_that_allows_only_itself(site: Site) -> None:
    for name in ("", "console.js", "console.css", "icon.svg"):
        status, headers, body = get(site.server.address + name)
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert status == 200
        assert body
    for name in ("docs", "openapi.json", "../access.py"):
        assert get(site.server.address + name)[0] == 404


@pytest.mark.slow
def test_news_come_as_they_happen(site: Site) -> None:
    with site.page() as page:
        assert page.receive("welcome")["may_order"] is True
        assert page.until("world", "info")["agents"] == ["agent_0", "agent_1"]
        site.view.take("/world/state", state(1, entity("cup_0", 1.5), keyframe=True))
        assert page.until("truth", "cup_0")["x"] == 1.5
        site.view.take("/world/state", state(2, removed=["cup_0"]))
        while True:
            if "cup_0" in page.receive("patch")["drop"].get("truth", []):
                break


@pytest.mark.slow
def test_a_page_that_draws_nothing_gets_nothing_more(site: Site) -> None:
    with site.page() as page:
        page.receive("welcome")
        assert json.loads(page.socket.recv(TIMEOUT_S))["type"] == "all"
        for number in range(50):
            site.view.take("/world/state", state(number, entity("cup_0", number), keyframe=True))
        with pytest.raises(TimeoutError):
            page.socket.recv(0.3)


@pytest.mark.slow
def test_a_page_that_stops_drawing_is_sent_away(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "DRAW_S", 0.05)
    monkeypatch.setattr(connection, "_LOOK_S", 0.1)
    with site.page() as page:
        code, reason = page.closed()
    assert code == 4408
    assert reason.startswith("the page drew nothing")


def test_an_order_has_one_outcome(site: Site) -> None:
    with site.page() as page:
        page.send(type="instruct", order=7, words="Bring <b>the</b> cup.")
        done = page.receive("done")
        assert (done["order"], done["good"]) == (7, True)
        assert site.robots.asked[-1] == ("instruct", "Bring <b>the</b> cup.", (), ())
        page.send(type="skill", order=8, agent="agent_1", call="Pick[cup_0]")
        assert page.receive("done")["text"] == "this page is not the partner agent_1"


def test_a_message_that_cannot_be_used_is_answered_and_moves_nothing(site: Site) -> None:
    with site.page() as page:
        for text in ("", "{", '{"type":"fly"}', '{"type":"stop"}', "x" * (MAX_MESSAGE + 1)):
            page.socket.send(text)
            assert page.receive("error")["text"]
        page.send(type="hello", version=1, token="", session="aaaaaaaa")
        assert "only once" in page.receive("error")["text"]
    assert {what for what, *_ in site.robots.asked} <= {"pictures"}


def test_bytes_end_the_connection(site: Site) -> None:
    with site.page() as page:
        page.receive("welcome")
        page.socket.send(b"\x00\x01")
        assert page.closed() == (4400, "expected text, got bytes")
    with site.page() as page:
        page.receive("welcome")


def test_an_oversized_message_ends_the_connection_before_it_is_read(site: Site) -> None:
    # Only the head of the frame: a server that closes while a client still sends resets the
    # connection, and the client may lose the close frame.
    masked_text, length, mask = b"\x81\xff", (1 << 20).to_bytes(8, "big"), b"\x00" * 4
    with site.page() as page:
        page.receive("welcome")
        page.socket.socket.sendall(masked_text + length + mask)
        assert page.closed()[0] == 1009
    with site.page() as page:
        page.receive("welcome")


def test_a_flood_of_nonsense_ends_the_connection(site: Site) -> None:
    with site.page() as page:
        for _ in range(connection.MAX_ERRORS + 1):
            page.socket.send("nonsense")
        assert page.closed() == (4400, "too many messages that cannot be used")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hello", "code", "reason"),
    [
        ({"type": "stop", "order": 1}, 4400, "expected hello, got stop"),
        ({"version": 2}, 4400, "the page speaks version 2, the server 1: reload"),
        ({"session": "../../x"}, 4400, "hello.session: String should match pattern"),
    ],
)
def test_who_does_not_say_hello_is_sent_away(
    site: Site, hello: dict[str, Any], code: int, reason: str
) -> None:
    with connect(site.url) as socket:
        page = Page(socket)
        first = {"type": "hello", "version": 1, "token": "", "session": "aaaaaaaa"}
        page.send(**(hello if "type" in hello else {**first, **hello}))
        found = page.closed()
    assert found[0] == code
    assert found[1].startswith(reason)


def test_a_page_of_another_site_is_not_let_in(site: Site) -> None:
    with pytest.raises(InvalidStatus), connect(site.url, origin="http://evil.example"):
        pass
    assert get(site.server.address, Host="evil.example")[0] == 403


def test_tokens_tell_who_may_give_orders() -> None:
    site = Site(Access(control="control-token", view="viewer-token", port=0))
    try:
        with site.page(token="wrong") as page:  # noqa: S106
            assert page.closed() == (4401, "wrong token")
        with site.page(token="viewer-token") as page:  # noqa: S106
            assert page.receive("welcome")["may_order"] is False
        with site.page(token="control-token") as page:  # noqa: S106
            assert page.receive("welcome")["may_order"] is True
        assert [each.partition("#token=")[2] for each in site.server.addresses()] == [
            "control-token",
            "viewer-token",
        ]
    finally:
        site.server.stop()


def test_prompts_come_on_request_and_pictures_as_bytes(site: Site) -> None:
    site.view.take("/planner/trace", trace("the prompt", "the reply"))
    with site.page() as page:
        page.send(type="trace", key="1")
        assert page.receive("trace")["found"]["prompt"] == "the prompt"
        page.send(type="trace", key="9")
        assert page.receive("trace")["found"] is None
        page.send(type="pictures", on=True)
        site.pictures.put("agent_0", b"jpeg")
        site.hub.changed()
        while True:
            received = page.socket.recv(TIMEOUT_S)
            if isinstance(received, bytes):
                break
            message = json.loads(received)
            page.send(type="drawn", version=message["version"])
        assert received == b"\x07agent_0jpeg"


def test_a_port_that_is_taken_is_reported(site: Site) -> None:
    port = int(site.server.address.rpartition(":")[2].strip("/"))
    with pytest.raises(PlannerError, match=rf"port {port} of 127\.0\.0\.1 cannot be used: "):
        Site(Access(port=port))


def test_of_too_many_pages_the_oldest_that_only_looks_goes_and_each_new_one_can_stop() -> None:
    site = Site(Access(port=0, control="a-token-for-orders", view="a-token-to-look"))
    site.view.take("/world/info", info("agent_0", "agent_1"))
    orders, looks = "a-token-for-orders", "a-token-to-look"
    with ExitStack() as opened:

        def come(session: str, token: str) -> Page:
            page = opened.enter_context(site.page(session, token=token))
            page.receive("welcome")
            return page

        operator = come("operator", orders)
        second, viewer = come("secondone", orders), come("viewerone", looks)
        others = [come(f"othersnr{n}", looks) for n in range(connection.MAX_PAGES - 3)]
        late = come("latepages", looks)
        assert viewer.closed() == (4429, "more than 100 pages are open; reload to come back")
        late.send(type="stop", order=1)
        assert late.receive("done")["good"]
        assert ("stop", ("agent_0", "agent_1")) in site.robots.asked
        latest = come("latestone", orders)
        assert others[0].closed()[0] == 4429
        for page in (operator, second, latest, late, others[1]):
            page.send(type="stop", order=2)
            assert page.receive("done")["good"]
        assert site.hub.pages == connection.MAX_PAGES
    site.server.stop()


def test_who_has_a_seat_stays_among_pages_that_may_all_give_orders(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_PAGES", 3)
    with ExitStack() as opened:

        def come(session: str) -> Page:
            page = opened.enter_context(site.page(session))
            page.receive("welcome")
            return page

        # A copy of the operator's page has the same session; the newer one is kept.
        copied, operator, other = come("operator"), come("operator"), come("otherpage")
        third = come("thirdpage")
        assert copied.closed()[0] == 4429
        fourth = come("fourthone")
        assert other.closed()[0] == 4429
        for page in (operator, third, fourth):
            page.send(type="stop", order=1)
            assert page.receive("done")["good"]


def test_of_too_many_that_say_no_hello_the_oldest_is_closed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_GREETED", 2)
    with connect(site.url) as first, connect(site.url) as second, connect(site.url) as third:
        assert Page(first).closed() == (4429, "more than 2 connections say nothing")
        with site.page() as page:
            page.receive("welcome")
        assert Page(second).closed()[0] == 4429
        third.ping().wait(TIMEOUT_S)


def closed_by_server(opened: socket.socket) -> bool:
    try:
        return opened.recv(4096) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "begun", [b"", b"GET / HTTP/1.1\r\nHost: a", b"GET / HTTP/1.1\r\n\r\nGET "]
)
def test_a_half_open_request_is_closed(
    site: Site, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(server, "REQUESTS_S", 0.5)
    with site.page() as page, half_open(site, begun) as opened:
        page.receive("welcome")
        while not closed_by_server(opened):
            pass
        # A page is no request any more.
        page.send(type="stop", order=1)
        assert page.receive("done")["good"]


def test_of_too_many_requests_the_oldest_is_closed_and_pages_still_come(site: Site) -> None:
    with ExitStack() as opened:
        begun = [
            opened.enter_context(half_open(site, b"GET / HTTP/1.1\r\n"))
            for _ in range(3 * server.MAX_REQUESTS)
        ]
        assert all(closed_by_server(each) for each in begun[: server.MAX_REQUESTS])
        assert get(site.server.address)[0] == 200
        with site.page() as page:
            page.receive("welcome")


def test_a_closed_page_that_answers_nothing_is_gone_after_a_while(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CLOSE_S", 0.5)
    with deaf_page(site) as deaf:
        deaf.sendall(masked("no hello"))
        while not closed_by_server(deaf):
            pass


@pytest.mark.slow
def test_a_browser_that_stops_reading_is_sent_away_and_slows_nobody(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "DRAW_S", 1.5)
    monkeypatch.setattr(connection, "_LOOK_S", 0.1)
    # More than what the machine keeps for a socket that nobody reads.
    for number in range(40):
        site.view.table.set("test", str(number), "x" * 200_000)
    hello = {"type": "hello", "version": 1, "token": "", "session": "bbbbbbbb"}
    with deaf_page(site) as deaf, site.page() as page:
        deaf.sendall(masked(json.dumps(hello)))
        deaf.sendall(masked('{"type":"take","order":1,"seat":"agent_1"}'))
        page.until("seats", "now")
        while "agent_1" not in page.shown["seats"]["now"]:
            page.receive("patch")
        assert page.shown["seats"]["pages"] == 2
        while page.shown["seats"]["pages"] == 2:
            page.receive("patch")
        assert site.hub.pages == 1
        # What its partner does ends.
        assert ("abort", "agent_1") in site.robots.asked
