"""What the page shows, as versioned entries, and the differences between two versions of it."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
_Key: TypeAlias = tuple[str, str]
# By section and key; values are never changed.
Entries: TypeAlias = Mapping[_Key, Json]
# Removed entries that are remembered; a page that is further behind gets everything.
_MAX_REMOVED = 5000


@dataclass(frozen=True, slots=True)
class Patch:
    """The difference to an earlier version.

    Attributes:
        version: that a page has after it.
        text: JSON of the message to the page.
    """

    version: int
    text: str


class Table:
    """Sections of entries, `section -> key -> value`; each change gets the next version.

    One thread changes it, others ask for patches. Values must not be changed after they were set.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        """`on_change` is called after each change, in the thread that made it."""
        self._lock = threading.Lock()
        self._on_change = on_change
        self._entries: dict[_Key, Json] = {}
        # Of entries and removed entries; the newest last.
        self._versions: OrderedDict[_Key, int] = OrderedDict()
        self._removed = 0
        # Patches from before this version lack removals.
        self._complete_since = 0
        self._made: dict[int, Patch] = {}
        self.version = 0

    def set(self, section: str, key: str, value: Json) -> None:
        """Sets an entry; an equal value changes nothing."""
        where = (section, key)
        with self._lock:
            if where in self._entries:
                if self._entries[where] == value:
                    return
            elif where in self._versions:
                self._removed -= 1
            self._entries[where] = value
            self._touch(where)
        self._on_change()

    def drop(self, section: str, key: str) -> None:
        """Removes an entry, if there is one."""
        where = (section, key)
        with self._lock:
            if where not in self._entries:
                return
            del self._entries[where]
            self._removed += 1
            self._touch(where)
            self._forget_removed()
        self._on_change()

    def clear(self, section: str) -> None:
        """Removes all entries of a section."""
        for key in self.section(section):
            self.drop(section, key)

    def get(self, section: str, key: str) -> Json:
        """An entry; None if there is none."""
        with self._lock:
            return self._entries.get((section, key))

    def section(self, name: str) -> dict[str, Json]:
        """The entries of a section by key."""
        with self._lock:
            return {key: v for (section, key), v in self._entries.items() if section == name}

    def entries(self, sections: Collection[str]) -> Entries:
        """All entries of some sections."""
        with self._lock:
            return {key: value for key, value in self._entries.items() if key[0] in sections}

    def restore(self, sections: Collection[str], entries: Entries) -> None:
        """Makes these the entries of some sections; what is equal already does not change."""
        for section, key in self.entries(sections):
            if (section, key) not in entries:
                self.drop(section, key)
        for (section, key), value in entries.items():
            self.set(section, key, value)

    def patch(self, since: int) -> Patch:
        """All that changed after a version; everything for one that is too old or not ours."""
        with self._lock:
            whole = not 0 < since <= self.version or since < self._complete_since
            begin = 0 if whole else since
            if begin not in self._made:
                self._made[begin] = self._patch(begin, whole)
            return self._made[begin]

    def _patch(self, begin: int, whole: bool) -> Patch:
        values: dict[str, dict[str, Json]] = {}
        gone: dict[str, list[str]] = {}
        for where, version in reversed(self._versions.items()):
            if version <= begin:
                break
            section, key = where
            if where in self._entries:
                values.setdefault(section, {})[key] = self._entries[where]
            elif not whole:
                gone.setdefault(section, []).append(key)
        kind = "all" if whole else "patch"
        message = {"type": kind, "version": self.version, "set": values, "drop": gone}
        return Patch(self.version, json.dumps(message, separators=(",", ":"), allow_nan=False))

    def _touch(self, where: _Key) -> None:
        self.version += 1
        self._versions[where] = self.version
        self._versions.move_to_end(where)
        self._made.clear()

    def _forget_removed(self) -> None:
        if self._removed <= _MAX_REMOVED:
            return
        for where in [where for where in self._versions if where not in self._entries]:
            self._complete_since = max(self._complete_since, self._versions.pop(where))
        self._removed = 0
