"""Parser and flags of commands, Ctrl-C, exit statuses, and the sign of life of a supervisor."""

from __future__ import annotations

import argparse
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, Self

from planner.parts.option import Option, OptionError, OptionValue
from planner.world.errors import PlannerError, did_you_mean

# Above which the first line of a help names options only by `[options]`.
_MAX_OPTIONS_OF_USAGE = 12


class _Formatter(argparse.HelpFormatter):
    """Help whose usage stays short."""

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        """As in argparse, but many options that may be left out are `[options]`."""
        every, exclusive = list(actions), list(groups)
        needed = [a for a in every if a.required or not a.option_strings]
        few = len(every) - len(needed) <= _MAX_OPTIONS_OF_USAGE
        if not few and not any(group.required for group in exclusive):
            others = argparse.Action([], "", metavar="[options]")
            every = [*(a for a in needed if a.option_strings), others]
            every += [a for a in needed if not a.option_strings]
        super().add_usage(usage, every, exclusive, prefix)


class PartOption(argparse.Action):
    """An option of parts, which help shows with the value of another flag that chooses the part."""

    def __init__(
        self,
        option_strings: Sequence[str],
        dest: str,
        *,
        chosen_by: str,
        part_of: Callable[[str], str],
        helps: Mapping[str, str],
    ) -> None:
        """Declares the option.

        Args:
            option_strings: as of argparse.
            dest: as of argparse.
            chosen_by: the other flag.
            part_of: the name of the part that a value of that flag chooses.
            helps: the help by the names of the parts that have the option.
        """
        super().__init__(option_strings, dest, metavar="VALUE", help=argparse.SUPPRESS)
        self.chosen_by, self._part_of, self._helps = chosen_by, part_of, helps

    def choose(self, value: str) -> None:
        """Shows the option in help if the value of the other flag chooses a part that has it."""
        self.help = self._helps.get(self._part_of(value), argparse.SUPPRESS)

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        _option_string: str | None = None,
    ) -> None:
        """Stores the value."""
        setattr(namespace, self.dest, values)


class ShowVersion(argparse.Action):
    """Prints the installed version and ends the process."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _namespace: argparse.Namespace,
        _values: str | Sequence[Any] | None,
        _option_string: str | None = None,
    ) -> None:
        """Ends the process with status 0."""
        # Not imported by every command.
        from importlib.metadata import version

        print(f"{parser.prog} {version('planner')}")
        parser.exit()


class CommandParser(argparse.ArgumentParser):
    """`argparse.ArgumentParser` without the usage message before an error.

    Subcommand parsers are of this class too, see `add_subparsers`. Help shows those `PartOption`
    that belong to what was chosen on the same command line, before or after `--help`.
    """

    def __init__(
        self, *, declare: Callable[[argparse.ArgumentParser], None] | None = None, **settings: Any
    ) -> None:
        """As in argparse.

        Args:
            declare: declares the arguments, once there is something to parse: of a subcommand whose
                arguments take long to import.
            settings: of argparse.
        """
        super().__init__(**{"formatter_class": _Formatter, **settings})
        self._words: Sequence[str] = ()
        self._declare = declare

    def format_help(self) -> str:
        """The help for the words that were parsed."""
        for action in self._actions:
            if isinstance(action, PartOption):
                action.choose(self._given(action.chosen_by))
        return super().format_help()

    def _given(self, flag: str) -> str:
        """The value that a flag has so far, in one of the forms of `planner up` as well."""
        words = [
            f"--{word.replace(':=', '=', 1)}" if ":=" in word else word for word in self._words
        ]
        default = self._option_string_actions[flag].default or ""
        reader = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        reader.add_argument(flag, default=default, dest="given")
        try:
            return str(reader.parse_known_args(words)[0].given)
        except argparse.ArgumentError:
            return str(default)

    def error(self, message: str) -> NoReturn:
        """Ends the process with a one-line message and `EXIT_USAGE`."""
        self.exit(EXIT_USAGE, f"error: {message} (see {self.prog} --help)\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """As in argparse, but unknown arguments are an error here, where the options are known."""
        self._words = sys.argv[1:] if args is None else list(args)
        if self._declare is not None:
            declare, self._declare = self._declare, None
            declare(self)
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [option for action in self._actions for option in action.option_strings]
            near = did_you_mean(unknown[0].partition("=")[0], options)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{near}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = did_you_mean(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{near}") from None


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns, as in a table."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


class ProgressBar:
    """Progress of something that takes long; silent unless stderr is a terminal."""

    _CELLS = 30
    # Seconds until a bar appears, and between updates.
    _AFTER_S, _EVERY_S = 0.7, 0.1

    def __init__(self, title: str) -> None:
        """Takes the title, printable text."""
        self._title = title
        self._live = sys.stderr.isatty()
        self._next_s = time.monotonic() + self._AFTER_S
        self._shown = False

    def show(self, share: float) -> None:
        """Shows the completed share, 0 to 1."""
        if not self._live or time.monotonic() < self._next_s:
            return
        self._next_s, self._shown = time.monotonic() + self._EVERY_S, True
        done = round(min(max(share, 0.0), 1.0) * self._CELLS)
        bar = "#" * done + "." * (self._CELLS - done)
        print(f"\r{self._title} [{bar}] {share:4.0%}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Clears the line."""
        if self._shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


# Flags of several commands.


def add_url_flag(parser: argparse._ActionsContainer, flag: str = "--model-url") -> None:
    """Declares where the server of a model is."""
    parser.add_argument(flag, default="", metavar="URL", help="address of its server, .../v1")


def add_model_flags(parser: argparse._ActionsContainer, about: str, flag: str = "--model") -> None:
    """Declares a model, of which the help is `about`, and where its server is."""
    parser.add_argument(flag, default="", metavar="MODEL", help=about)
    add_url_flag(parser, f"{flag}-url")


def add_seconds_flag(parser: argparse._ActionsContainer, option: Option) -> None:
    """Declares the flag of an option that is a time, with its default."""
    flag = f"--{option.name.replace('_', '-')}"
    parser.add_argument(flag, type=float, default=option.default, metavar="S", help=_help(option))


def add_backend_flags(
    parser: argparse._ActionsContainer, names: Sequence[str], about: str, default: str = ""
) -> None:
    """Declares a backend, one of `names`, of which the help is `about`, and its settings."""
    parser.add_argument(
        "--backend",
        choices=names,
        default=default,
        metavar="NAME",
        help=f"{about}; one of {', '.join(names)}",
    )
    parser.add_argument(
        "--backend-config", default="", metavar="FILE", help="its settings; default: the shipped"
    )


def add_sensors_flag(parser: argparse._ActionsContainer) -> None:
    """Declares how the sensors of a simulator err."""
    parser.add_argument(
        "--sensors",
        default="",
        metavar="NAME",
        help="how the simulator's sensors err: consumer_rgbd, spot_hand, perfect or a file, and :S "
        "after it for S times as strong, :ERROR=S for one error; default: not at all",
    )


# Options of parts.


def add_option_flags(
    group: argparse._ArgumentGroup,
    options: Mapping[str, Iterable[Option]],
    chosen_by: str = "",
    *,
    part_of: Callable[[str], str] = str,
    dashes: bool = True,
) -> None:
    """Declares a flag for each option of parts; flags that are not given are None.

    Args:
        group: of flags.
        options: of each part, by its name.
        chosen_by: the flag that chooses the part, and with it the options that help shows; empty =
            help shows all.
        part_of: the name of the part that a value of that flag chooses.
        dashes: whether there are dashes for the underscores of names.
    """
    if chosen_by:
        group.description = f"those of one are shown by {chosen_by} NAME --help"
    helps: dict[str, dict[str, str]] = {}
    for part, declared in options.items():
        for option in declared:
            helps.setdefault(option.name, {})[part] = _help(option)
    for name, texts in helps.items():
        flag = f"--{name.replace('_', '-') if dashes else name}"
        if chosen_by:
            group.add_argument(
                flag, action=PartOption, chosen_by=chosen_by, part_of=part_of, helps=texts
            )
        else:
            about = f"of {', '.join(texts)}: {next(iter(texts.values()))}"
            group.add_argument(flag, metavar="VALUE", help=about)


def add_flags(group: argparse._ArgumentGroup, options: Iterable[Option]) -> None:
    """Declares a flag for each option that is of no part; flags that are not given are None."""
    for option in options:
        flag = f"--{option.name.replace('_', '-')}"
        group.add_argument(flag, metavar="VALUE", help=_help(option))


def _help(option: Option) -> str:
    among = f"; one of {', '.join(filter(None, option.choices))}" if option.choices else ""
    default = str(option.default)
    if isinstance(option.default, bool):
        default = default.lower()
    return f"{option.help}{among} (default: {default or 'empty'})".replace("%", "%%")


def read_flags(args: argparse.Namespace, options: Iterable[Option]) -> dict[str, OptionValue]:
    """The options that were given as flags of `add_flags`; paths become absolute.

    Raises:
        OptionError: for an invalid value.
    """
    return {
        option.name: _read(option, text)
        for option in options
        if (text := getattr(args, option.name)) is not None
    }


def read_option_flags(
    args: argparse.Namespace, part: str, options: Mapping[str, Iterable[Option]]
) -> dict[str, OptionValue]:
    """The options of one part that were given as flags; paths become absolute.

    Args:
        args: of a parser with the flags of `add_option_flags`.
        part: the chosen part; one that is not in `options` has none.
        options: of each part, by its name.

    Raises:
        OptionError: for an invalid value, or an option of other parts.
    """
    own = {option.name: option for option in options.get(part, ())}
    every = dict.fromkeys(name for declared in options.values() for name in _names(declared))
    given = {name: text for name in every if (text := getattr(args, name)) is not None}
    for name in given:
        if name not in own:
            users = ", ".join(user for user, each in options.items() if name in _names(each))
            there = f"{part} has {', '.join(own) or 'none'}" if part else "none of them is chosen"
            raise OptionError(name, f"is of {users}; {there}")
    return {name: _read(own[name], text) for name, text in given.items()}


def _names(options: Iterable[Option]) -> list[str]:
    return [option.name for option in options]


def _read(option: Option, text: str) -> OptionValue:
    value = option.read(text)
    return str(Path(text).resolve()) if option.is_path and text else value


# Ctrl-C and SIGTERM for commands that have to clean up.


@contextmanager
def termination_requested() -> Iterator[Callable[[], bool]]:
    """Catches Ctrl-C and SIGTERM; yields a function that returns whether one came.

    Raises:
        KeyboardInterrupt: at the second.
    """
    received: list[int] = []

    def note(number: int, _frame: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt as Ctrl-C does, so that what was started is stopped."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# The sign of life of a supervisor, and the exit statuses by which it tells ends apart.

# Of the environment: a file with the time, on the monotonic clock of this machine.
VARIABLE = "PLANNER_SUPERVISOR"
# Wall seconds between two signs of life, and after which without one it counts as silent.
PERIOD_S, SILENT_AFTER_S = 0.5, 3.0
_TIME = struct.Struct("d")


class Pulse:
    """The supervisor's side; close it in the end."""

    def __init__(self) -> None:
        """Begins with a sign of life."""
        self._file = os.memfd_create("planner-supervisor")
        self.environment: Mapping[str, str] = {VARIABLE: f"/proc/{os.getpid()}/fd/{self._file}"}
        self.beat()

    def beat(self) -> None:
        """Gives a sign of life."""
        os.pwrite(self._file, _TIME.pack(time.monotonic()), 0)

    def close(self) -> None:
        """Ends it; what reads it still can."""
        os.close(self._file)


def supervisor_is_silent() -> bool:
    """Whether this process has a supervisor of which nothing was heard for `SILENT_AFTER_S`.

    Raises:
        PlannerError: if its sign of life cannot be read.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return False
    (beat_s,) = _TIME.unpack(os.pread(_opened(path), _TIME.size, 0))
    return bool(time.monotonic() - beat_s > SILENT_AFTER_S)


@cache
def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise PlannerError(f"{VARIABLE}: {path}: {error.strerror}") from None


# Exit statuses shared by all processes, by which a supervisor tells ends apart.

EXIT_OK = 0
EXIT_FAILED = 1
# A wrong argument, as in argparse.
EXIT_USAGE = 2
# As shells report Ctrl-C.
EXIT_INTERRUPTED = 130
# A configuration error that no restart can fix: a wrong file, a second bridge in the domain.
# The number is EX_CONFIG of sysexits.h. The supervisor does not restart such a process.
EXIT_CONFIGURATION = 78
