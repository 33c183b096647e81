"""Who may open the page: this machine without a token, others with one."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from planner.world.errors import PlannerError

LOOPBACK, DEFAULT_PORT = "127.0.0.1", 8642
# Variable with the token, which a command line would show to all users of the machine.
TOKEN = "PLANNER_CONSOLE_TOKEN"  # noqa: S105 - the name of a variable
_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
_TOKEN_BYTES, _MIN_TOKEN = 18, 12


@dataclass(frozen=True, slots=True)
class Access:
    """The address and what it takes to use it.

    Attributes:
        host: address to listen on.
        port: 0 = any free one.
        control: token of pages that may give orders; "" = none is needed, on the loopback.
        view: token of pages that may only look; "" = as `control`.
        read_only: no page may give orders.
    """

    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    control: str = ""
    view: str = ""
    read_only: bool = False

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def allows(self, token: str) -> bool:
        """Whether a page with this token is let in."""
        return not self.control or _same(token, self.control) or self._is_viewer(token)

    def may_order(self, token: str) -> bool:
        """Whether it may give orders."""
        return not self.read_only and (not self.control or _same(token, self.control))

    def _is_viewer(self, token: str) -> bool:
        return bool(self.view) and _same(token, self.view)

    def is_own(self, host: str, origin: str) -> bool:
        """Whether a request comes from this page and not from one of another site.

        A page of another site may open a connection to this machine, and a name of another site
        may be made to lead here: on the loopback only its names count.

        Args:
            host: header `Host`.
            origin: header `Origin`; "" = none, as of a program that is not a browser.
        """
        try:
            named = urlsplit(f"//{host}").hostname or ""
            named = f"[{named}]" if ":" in named else named
            if self.is_loopback and named not in _LOOPBACK_NAMES:
                return False
            return not origin or urlsplit(origin).netloc == host
        except ValueError:
            return False


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def access_to(host: str, port: int, token: str, *, read_only: bool) -> Access:
    """The access to an address; a token is made where one is needed and none given.

    Args:
        host: address to listen on.
        port: 0 = any free one.
        token: of pages that may give orders; "" = one is made, except on the loopback.
        read_only: no page may give orders.

    Raises:
        PlannerError: if the port or the token cannot be used.
    """
    if not 0 <= port <= 65535:
        raise PlannerError(f"port: expected 0 to 65535, got {port}")
    if token and (len(token) < _MIN_TOKEN or not token.isascii() or not token.isprintable()):
        raise PlannerError(
            f"token: expected at least {_MIN_TOKEN} visible ASCII characters, got {len(token)}"
        )
    if not token and is_loopback(host):
        return Access(host, port, read_only=read_only)
    made = token or secrets.token_urlsafe(_TOKEN_BYTES)
    return Access(host, port, made, secrets.token_urlsafe(_TOKEN_BYTES), read_only)


def _same(given: str, expected: str) -> bool:
    """In a time that tells nothing about where they differ."""
    return hmac.compare_digest(given.encode(), expected.encode())
