"""One page of the console."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False, slots=True)
class Visitor:
    """One page.

    Attributes:
        session: chosen by the page.
        may_order: whether it may give orders at all.
        name: of the person; "" = none given.
        shows_pictures: whether it shows camera pictures.
    """

    session: str
    may_order: bool
    name: str = ""
    shows_pictures: bool = False

    @property
    def who(self) -> str:
        """For the record and the log."""
        return f"{self.name or 'page'} {self.session[:6]}"
