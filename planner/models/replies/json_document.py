"""Replies as JSON: a pydantic model defines the grammar and validates the reply.

Grammars are not recursive (`planner.models.gbnf`), so texts and arrays are bounded and models that
refer to themselves are rejected. Fields come in the order of their declaration.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from planner.models.gbnf import GrammarError, quoted
from planner.models.replies.form import ReplyError, check_length

DocumentT = TypeVar("DocumentT", bound=BaseModel)
MAX_TEXT = 200
MAX_ITEMS = 16
_TEXT = rf'"\"" ([^"\\\n] | "\\" ["\\/nt]){{0,{MAX_TEXT}}} "\""'
_PLAIN = {
    "integer": 'sign ("0" | [1-9] [0-9]{0,8})',
    "number": 'sign ("0" | [1-9] [0-9]{0,8}) ("." [0-9]{1,6})?',
    "boolean": '"true" | "false"',
    "null": '"null"',
}


@dataclass(frozen=True)
class JsonReply(Generic[DocumentT]):
    """The form of one JSON document; a `planner.models.replies.form.ReplyForm`."""

    document: type[DocumentT]
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()

    @cached_property
    def grammar(self) -> str:
        """GBNF of the documents that the model accepts, without blanks.

        Raises:
            GrammarError: for a part of JSON Schema that is not supported.
        """
        schema = self.document.model_json_schema()
        rules = _Rules(schema.get("$defs", {}))
        root = rules.of(schema, ())
        return f"root ::= {root}\n" + rules.text()

    def read(self, text: str, *, ended: bool) -> DocumentT:
        """Parses the document wherever it is in the reply, such as in a Markdown code fence.

        Raises:
            ReplyError: naming the field.
        """
        check_length(text)
        begin = text.find("{")
        if begin < 0:
            raise ReplyError("the reply has no JSON object")
        try:
            found, _ = json.JSONDecoder(strict=False).raw_decode(text, begin)
            return self.document.model_validate(found)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the document"
            raise ReplyError(f"{where}: {first['msg']}") from None
        except (ValueError, RecursionError) as error:
            why = "" if ended else "; it was cut off"
            raise ReplyError(f"the reply is not JSON: {error}{why}") from None


class _Rules:
    """The rules below the root that a schema needs."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._rules: dict[str, str] = {}

    def text(self) -> str:
        return "".join(f"{name} ::= {body}\n" for name, body in self._rules.items())

    def of(self, schema: dict[str, Any], path: tuple[str, ...]) -> str:
        """The body of a schema's rule; `path` lists the definitions on the way to it."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name in path:
                raise GrammarError(f"{name} refers to itself")
            return self.of(self._definitions[name], (*path, name))
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return f"({' | '.join(self.of(choice, path) for choice in choices)})"
        if "const" in schema or "enum" in schema:
            values = schema["enum"] if "enum" in schema else [schema["const"]]
            return f"({' | '.join(quoted(json.dumps(value)) for value in values)})"
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema, path)
        if kind == "array":
            return self._array(schema, path)
        if kind == "string":
            return self._named("string", _TEXT)
        if kind in _PLAIN:
            self._named("sign", '"-"?')
            return self._named(kind, _PLAIN[kind])
        raise GrammarError(f"JSON Schema's {sorted(schema)} is not supported")

    def _named(self, name: str, body: str) -> str:
        self._rules.setdefault(name, body)
        return name

    def _object(self, schema: dict[str, Any], path: tuple[str, ...]) -> str:
        fields = schema.get("properties")
        if not fields:
            raise GrammarError("an object without named fields is not supported")
        parts = [
            f"{quoted(json.dumps(name) + ':')} {self.of(field, path)}"
            for name, field in fields.items()
        ]
        return '"{" ' + ' "," '.join(parts) + ' "}"'

    def _array(self, schema: dict[str, Any], path: tuple[str, ...]) -> str:
        item = self.of(schema["items"], path) if "items" in schema else None
        if item is None:
            raise GrammarError("an array whose items have no type is not supported")
        low = schema.get("minItems", 0)
        high = min(schema.get("maxItems", MAX_ITEMS), MAX_ITEMS)
        if high < max(low, 1):
            raise GrammarError(f"an array of {low} to {high} items is not supported")
        more = f'{item} ("," {item}){{{max(low - 1, 0)},{high - 1}}}'
        return f'"[" {more} "]"' if low else f'"[" ({more})? "]"'
