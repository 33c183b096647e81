"""The type of what finds a suite, for commands of episodes, which know no suites."""

from collections.abc import Callable, Sequence
from pathlib import Path

# The folders and files of a suite by its name.
FindSuite = Callable[[str], Sequence[Path]]
