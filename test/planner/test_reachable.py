import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from planner.reachable import reachable_sockets

INET, INET6 = socket.AF_INET, socket.AF_INET6
UDP, TCP = socket.SOCK_DGRAM, socket.SOCK_STREAM


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def bound(stack: ExitStack, family: int, kind: int, address: str) -> tuple[socket.socket, int]:
    try:
        made = stack.enter_context(socket.socket(family, kind))
        made.bind((address, 0))
    except OSError as error:
        pytest.skip(f"no such socket here: {error}")
    return made, made.getsockname()[1]


@pytest.mark.parametrize(
    ("family", "address", "shown"),
    [
        (INET, "0.0.0.0", "udp 0.0.0.0"),  # noqa: S104 - what is looked for
        (INET6, "::", "udp6 ::"),
        (INET6, "::ffff:0.0.0.0", "udp6 0.0.0.0"),
    ],
)
def test_bound_to_every_address_is_reachable(
    stack: ExitStack, family: int, address: str, shown: str
) -> None:
    _, port = bound(stack, family, UDP, address)
    assert f"{shown}:{port}" in reachable_sockets()


@pytest.mark.parametrize(
    ("family", "address"),
    [(INET, "127.0.0.1"), (INET, "127.1.2.3"), (INET6, "::1"), (INET6, "::ffff:127.0.0.1")],
)
def test_bound_to_the_loopback_is_not(stack: ExitStack, family: int, address: str) -> None:
    before = reachable_sockets()
    bound(stack, family, UDP, address)
    assert reachable_sockets() == before


def test_a_server_counts_and_its_connections_do_not(stack: ExitStack) -> None:
    server, port = bound(stack, INET, TCP, "0.0.0.0")  # noqa: S104
    assert f"tcp 0.0.0.0:{port}" not in reachable_sockets()
    server.listen()
    assert reachable_sockets().count(f"tcp 0.0.0.0:{port}") == 1
    stack.enter_context(socket.create_connection(("127.0.0.1", port)))
    accepted, _ = server.accept()
    stack.enter_context(accepted)
    server.close()
    assert not [found for found in reachable_sockets() if found.endswith(f":{port}")]


def test_other_processes_count_for_themselves(stack: ExitStack) -> None:
    _, port = bound(stack, INET, UDP, "0.0.0.0")  # noqa: S104
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert not [each for each in reachable_sockets(other.pid) if each.endswith(f":{port}")]
        other.communicate(b"\n")


def test_a_process_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        reachable_sockets(0x7FFFFFFF)
