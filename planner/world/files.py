"""Reads files of others within limits and by version, into validated models, with clear errors."""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, Self, TypeAlias, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from planner.world.errors import FileError, from_validation
from planner.world.process_resources import uncollected

# Sizes by kind, bytes. The largest that is shipped has 0.2 MB, a graph with all edges 13 MB.
MAX_JSON_BYTES = 16_000_000
# YAML is read thirty times slower than JSON.
MAX_YAML_BYTES = 2_000_000
# Data sets' own files, such as meshes, and packed ones.
MAX_DATA_BYTES = 1 << 30
# Collections in collections, as of lists in lists.
MAX_DEPTH = 64
# Values and keys of one document, those that an alias repeats counted each time.
MAX_VALUES = 1_000_000
# Characters of a YAML number. It may be of base 60, whose conversion is quadratic.
MAX_NUMBER_CHARS = 400
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SIGNS_OF_NUMBERS = frozenset("+-.0123456789")
_MERGE_TAG = "tag:yaml.org,2002:merge"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
if TYPE_CHECKING:
    from yaml import SafeLoader as _SafeLoader
else:
    # The C loader is equally safe and eight times faster.
    _SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class FileModel(BaseModel):
    """A frozen record of a file; unknown fields, NaN and infinities are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields changed; cached properties are recomputed."""
        copied = super().model_copy(update=update, deep=deep)
        if update:
            for name in copied.__dict__.keys() - type(copied).model_fields.keys():
                del copied.__dict__[name]
        return copied


ModelT = TypeVar("ModelT", bound=BaseModel)
T = TypeVar("T")


def read_model(path: Path, model: type[ModelT]) -> ModelT:
    """Reads `path` as `model`.

    Raises:
        FileError: with file, field and reason.
    """
    return parse_model(read_document(path), model, path)


def parse_model(document: object, model: type[ModelT], source: Path | str) -> ModelT:
    """Validates an already parsed document; `source` names it in the error."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise from_validation(source, error) from None


def read_document(path: Path) -> object:
    """Parses a .json or .yaml file into plain Python values.

    Raises:
        FileError: if it is missing, no regular file, beyond a limit, not UTF-8 or not well formed.
    """
    if path.suffix == ".json":
        return parse_json(read_text(path, MAX_JSON_BYTES), path)
    return parse_yaml(read_text(path, MAX_YAML_BYTES), path)


# Files


def open_regular(path: Path) -> BinaryIO:
    """Opens a file for reading; never waits for a pipe's writer.

    Raises:
        FileError: if it is missing, not readable or not a regular file.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise FileError(path, "", "cannot be read: it is not a regular file")
    return os.fdopen(number, "rb")


def read_bytes(path: Path, max_bytes: int = MAX_DATA_BYTES) -> bytes:
    """The content of a regular file.

    Raises:
        FileError: if it cannot be read, or has more than `max_bytes`.
    """
    with open_regular(path) as stream:
        try:
            size = os.fstat(stream.fileno()).st_size
            # A file may grow meanwhile, and those of /proc have no size.
            content = b"" if size > max_bytes else stream.read(max_bytes + 1)
        except OSError as error:
            raise _unreadable(path, error) from None
    if size > max_bytes or len(content) > max_bytes:
        raise FileError(path, "", f"has more than {max_bytes} bytes")
    return content


def read_text(path: Path, max_bytes: int = MAX_JSON_BYTES) -> str:
    """The text of a regular file, with line ends as they are.

    Raises:
        FileError: if it cannot be read, is not UTF-8, or has more than `max_bytes`.
    """
    try:
        return read_bytes(path, max_bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _unreadable(path, error) from None


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of a regular file with their ends, one at a time; the file may be large.

    Raises:
        FileError: if it cannot be read, or a line has more than `MAX_JSON_BYTES`.
    """
    with open_regular(path) as stream:
        try:
            for number in itertools.count(1):
                line = stream.readline(MAX_JSON_BYTES + 1)
                if len(line) > MAX_JSON_BYTES:
                    raise FileError(path, f"line {number}", f"has more than {MAX_JSON_BYTES} bytes")
                if not line:
                    return
                yield line
        except OSError as error:
            raise _unreadable(path, error) from None


def read_line(path: Path, number: int, line: str | bytes, read: Callable[[Any], T]) -> T:
    """A line of JSON, by a model's or an adapter's `validate_json`.

    Raises:
        FileError: naming the line and its field.
    """
    try:
        return read(line)
    except ValidationError as error:
        plain = from_validation(path, error)
        where = f"line {number}" + (f".{plain.field}" if plain.field else "")
        raise FileError(path, where, plain.reason) from None


def _unreadable(path: Path, error: Exception) -> FileError:
    return FileError(path, "", f"cannot be read: {error}")


@contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """Makes an error of the file system one that names the file that is read."""
    try:
        yield
    except OSError as error:
        raise FileError(path, "", f"cannot be read: {error.strerror or error}") from None


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Makes an error of the file system one that names the file that is written."""
    try:
        yield
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error.strerror or error}") from None


@contextmanager
def replacing(path: Path, *, make_folder: bool = False) -> Iterator[Path]:
    """A path beside a file, for what replaces it when all of it is written.

    Raises:
        FileError: if it cannot be written; the file is as it was.
    """
    aside = path.with_name(path.name + ".part")
    with writing(path):
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield aside
            aside.replace(path)
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)


# Texts


def parse_json(
    text: str,
    source: Path | str,
    field: str = "",
    *,
    max_chars: int = MAX_JSON_BYTES,
    max_values: int = MAX_VALUES,
    is_finite: bool = False,
) -> object:
    """The content of a JSON text.

    A key that an object has twice is an error, as readers differ in which value counts; and so is
    half a character (a lone surrogate), which JSON can write and no file can hold.

    Args:
        text: untrusted.
        source: its name for errors.
        field: where it is in the source.
        max_chars: limit of its length.
        max_values: limit of values and keys.
        is_finite: NaN and infinities, which JSON does not allow, are errors too.

    Raises:
        FileError: if it is beyond a limit or not well formed, with the field where there is one.
    """
    if len(text) > max_chars:
        raise FileError(source, field, f"has more than {max_chars} characters")
    above = (field,) if field else ()
    try:
        if reason := _beyond(text, max_values):
            raise FileError(source, field, reason)
        document = json.loads(
            text, object_pairs_hook=_once, parse_constant=_refuse if is_finite else None
        )
    except _TwiceError as error:
        raise FileError(source, ".".join((*above, error.key)), "is there twice") from None
    except (ValueError, RecursionError) as error:
        raise FileError(source, field, f"is not well formed: {error}") from None
    # Only an escape can make one from a text that was UTF-8.
    if _SURROGATE_ESCAPE.search(text):
        for way, half in _lone_surrogates(document, above):
            reason = f"has the lone surrogate U+{ord(half):04X}, which is half a character"
            raise FileError(source, ".".join(way), reason)
    return document


def _beyond(text: str, max_values: int) -> str:
    """Which limit a JSON text exceeds; "" if none. A text that is not JSON may pass."""
    signs = _STRING.sub(b"", text.encode("utf-8", "surrogatepass"))
    brackets = signs.translate(_ONE_KIND, _NOT_BRACKETS)
    if len(brackets) + signs.count(b",") + signs.count(b":") > 2 * max_values:
        return f"has more than {max_values} values"
    # Each round takes the innermost brackets of every branch away.
    for _ in range(MAX_DEPTH):
        shorter = brackets.replace(b"[]", b"")
        if len(shorter) == len(brackets):
            break
        brackets = shorter
    return _too_deep() if brackets.count(b"[") > MAX_DEPTH or b"[]" in brackets else ""


def parse_yaml(text: str, source: Path | str) -> object:
    """The content of a YAML text; no objects but plain values are made.

    Raises:
        FileError: if it is beyond a limit or not well formed.
    """
    if len(text) > MAX_YAML_BYTES:
        raise FileError(source, "", f"has more than {MAX_YAML_BYTES} characters")
    try:
        _check_events(text, source)
        with uncollected():
            return yaml.load(text, Loader=_Loader)  # noqa: S506
    except _TwiceError as error:
        raise FileError(source, error.key, "is there twice") from None
    # Dates and keys that cannot be made raise any of these.
    except (ValueError, TypeError, RecursionError, OverflowError, yaml.YAMLError) as error:
        raise FileError(source, "", f"is not well formed: {error}") from None


def _check_events(text: str, source: Path | str) -> None:
    """Refuses what the loader, which recurses and repeats, must not get."""
    values = 0
    # Of the open collections: anchor, values before it.
    collections: list[tuple[str | None, int]] = []
    # How many values each anchor stands for.
    sizes: dict[str | None, int] = {}
    for event in yaml.parse(text, Loader=_SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in collections):
                raise FileError(source, _line(event), f"the alias {event.anchor!r} holds itself")
            values += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            values += 1
            sizes[event.anchor] = 1
            if len(event.value) > MAX_NUMBER_CHARS and _may_be_number(event):
                reason = f"a number has more than {MAX_NUMBER_CHARS} characters"
                raise FileError(source, _line(event), reason)
        elif isinstance(event, yaml.CollectionStartEvent):
            collections.append((event.anchor, values))
            values += 1
            if len(collections) > MAX_DEPTH:
                raise FileError(source, _line(event), _too_deep())
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = collections.pop()
            sizes[anchor] = values - before
        if values > MAX_VALUES:
            raise FileError(source, "", f"has more than {MAX_VALUES} values")


def _may_be_number(event: yaml.ScalarEvent) -> bool:
    tag = event.tag or ""
    return tag.endswith((":int", ":float")) or (
        event.implicit[0] and event.value[0] in _SIGNS_OF_NUMBERS
    )


def _line(event: yaml.Event) -> str:
    return "" if event.start_mark is None else f"line {event.start_mark.line + 1}"


def _too_deep() -> str:
    return f"is nested too deeply: more than {MAX_DEPTH} levels"


class _TwiceError(Exception):
    """A key that a mapping has twice."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key.encode("utf-8", "backslashreplace").decode()


class _Loader(_SafeLoader):
    """Refuses a key that a mapping has twice; one that it also merges in (`<<`) is replaced."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        known: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE_TAG:
                if (key.tag, key.value) in known:
                    raise _TwiceError(key.value)
                known.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(next(key for i, key in enumerate(keys) if key in keys[:i]))
    return found


def _lone_surrogates(
    value: object, field: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every lone surrogate with the path of its field; a bad key counts for its object."""
    if isinstance(value, str):
        if found := _SURROGATE.search(value):
            yield field, found.group()
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _lone_surrogates(item, (*field, str(i)))
    elif isinstance(value, dict):
        for key, item in value.items():
            if found := _SURROGATE.search(key):
                yield field, found.group()
            yield from _lone_surrogates(item, (*field, key))


# Versioned files: which versions can be read, and how older ones are converted.
#
# A change that an older reader would misunderstand, or that makes older files invalid, is a new
# version and comes with a step that converts a document of the previous version, so that all older
# versions can be read. Adding a field with a default is not a new version. A file of a newer
# version is refused.

Document: TypeAlias = dict[str, JsonValue]
# By the version from which a step converts; it returns a new document without `version`.
Steps: TypeAlias = Mapping[int, Callable[[Document], Document]]


def read_versioned(
    path: Path, model: type[ModelT], version: int, steps: Steps | None = None
) -> ModelT:
    """Reads a file of this or an older version.

    Raises:
        FileError: with file, field and reason.
    """
    return parse_model(upgraded(read_document(path), version, path, steps), model, path)


def upgraded(
    document: object, version: int, source: Path | str, steps: Steps | None = None
) -> object:
    """Converts a document to the newest version; anything but a document is returned unchanged.

    Raises:
        FileError: for a version that is newer, or older than the first step.
    """
    if not isinstance(document, dict):
        return document
    found = document.get("version")
    if found is None:
        return document  # The model will report the missing field.
    if not isinstance(found, int) or isinstance(found, bool):
        raise FileError(source, "version", f"is not a number; this planner reads version {version}")
    known = steps or {}
    while found != version:
        if found not in known:
            reason = f"version {found} is not supported; this planner reads version {version}"
            raise FileError(source, "version", reason)
        document = known[found]({k: v for k, v in document.items() if k != "version"})
        found += 1
        document = {"version": found, **document}
    return document
