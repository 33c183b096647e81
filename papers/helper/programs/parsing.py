"""Reads programs against a white list, and the grammar of what a model may write."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from functools import lru_cache

from papers.helper.programs.program import (
    ATTRIBUTES,
    WITH_ARGUMENT,
    Correction,
    Corrective,
    DoNothing,
    Instance,
    Invocation,
    Method,
    Program,
    ProgramError,
    Statement,
    default_vocabulary,
)
from planner.models.gbnf import quoted

MAX_CHARACTERS = 40_000
MAX_STATEMENTS = 500
_MAX_NAME = 60
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_OBJECT, _AGENT, _NOTHING = "InteractionObject", "AgentCorrective", "do_nothing"
_FIELDS = ("object_class", "landmark", "attributes")
_METHODS = {method.value: method for method in Method}
_MOVES = {move.value: move for move in Corrective}
_AFFORDANCE_OF = {"toasted": "toastable"}
_KINDS = {
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.For: "a loop",
    ast.While: "a loop",
    ast.If: "an if statement",
    ast.FunctionDef: "a function",
    ast.ClassDef: "a class",
    ast.With: "a with statement",
    ast.Try: "a try statement",
}


def parse_program(text: str, *, corrective: bool = False) -> Program:
    """Reads a program; it is refused as a whole.

    Comments and texts are ignored, and what is only printed, which `Program.notes` names. A word
    for a class is replaced by the class's name (HELPER-D2).

    Args:
        text: Python text.
        corrective: whether it is a repair, which may move the agent and do nothing.

    Raises:
        ProgramError: with the first line that cannot be carried out, and why.
    """
    reader = _Reader(corrective=corrective)
    return Program(tuple(reader.read(text)), text, tuple(reader.notes))


class _Reader:
    """Reads one program; `objects` and `agents` are the variables bound so far."""

    def __init__(self, *, corrective: bool) -> None:
        self._vocabulary, self._corrective = default_vocabulary(), corrective
        self._objects: dict[str, Instance] = {}
        self._agents: set[str] = set()
        self.notes: list[str] = []

    def read(self, text: str) -> list[Statement]:
        nodes = _nodes(text)
        found = [statement for node in nodes if (statement := self._statement(node)) is not None]
        if not found:
            raise ProgramError(0, "there is no statement")
        return found

    def _statement(self, node: ast.stmt) -> Statement | None:
        if isinstance(node, ast.Assign):
            return self._assignment(node)
        if _only_prints(node):
            self.notes.append(f"line {node.lineno} has no effect: {_shown(node)}")
            return None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return self._call(node, node.value)
        if isinstance(node, ast.Pass) or _is_text(node):
            return None
        raise _refused(node, f"{_kind(node)} has no place in a program: {_shown(node)}")

    def _assignment(self, node: ast.Assign) -> Statement | None:
        target, value = node.targets[0], node.value
        if len(node.targets) != 1 or not isinstance(target, ast.Name):
            raise _refused(node, f"an instance can be kept in one variable only: {_shown(node)}")
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            raise _refused(node, f"expected {_OBJECT}(...) after the equals sign: {_shown(node)}")
        variable = _variable(node, target.id)
        if value.func.id == _AGENT:
            self._check_corrective(node)
            if value.args or value.keywords:
                raise _refused(node, f"{_AGENT} has no arguments: {_shown(node)}")
            self._objects.pop(variable, None)
            self._agents.add(variable)
            return None
        if value.func.id != _OBJECT:
            raise _refused(node, f"there is no {value.func.id}: {_shown(node)}")
        self._agents.discard(variable)
        instance = self._instance(node, variable, value)
        self._objects[variable] = instance
        return instance

    def _instance(self, node: ast.stmt, variable: str, call: ast.Call) -> Instance:
        given: dict[str, ast.expr] = dict(zip(_FIELDS, call.args, strict=False))
        if len(call.args) > len(_FIELDS):
            raise _refused(
                node, f"{_OBJECT} takes at most {len(_FIELDS)} arguments: {_shown(node)}"
            )
        for keyword in call.keywords:
            if keyword.arg not in _FIELDS or keyword.arg in given:
                raise _refused(node, f"{_OBJECT} does not take {keyword.arg} here: {_shown(node)}")
            given[keyword.arg] = keyword.value
        if "object_class" not in given:
            raise _refused(node, f"{_OBJECT} needs a class: {_shown(node)}")
        class_name = self._class(node, _text(node, given["object_class"]))
        landmark = given.get("landmark")
        near = "" if landmark is None or _is_none(landmark) else _text(node, landmark)
        wanted = _attributes(node, given.get("attributes"))
        for attribute in wanted:
            self._check_state(node, class_name, attribute)
        landmark_name = self._class(node, near) if near else ""
        return Instance(variable, class_name, landmark_name, wanted, node.lineno)

    def _call(self, node: ast.stmt, call: ast.Call) -> Statement:
        function = call.func
        if isinstance(function, ast.Name) and function.id == _NOTHING:
            self._check_corrective(node)
            if call.args or call.keywords:
                raise _refused(node, f"{_NOTHING} has no arguments")
            return DoNothing(node.lineno)
        if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
            raise _refused(node, f"expected a method of an instance: {_shown(node)}")
        variable, word = function.value.id, function.attr
        if call.keywords:
            raise _refused(node, f"{word} has no keywords: {_shown(node)}")
        if variable in self._agents:
            move = _MOVES.get(word)
            if move is None or call.args:
                raise _refused(node, f"{_AGENT} has only {', '.join(_MOVES)}: {_shown(node)}")
            return Correction(variable, move, node.lineno)
        return self._invocation(node, variable, word, call.args)

    def _invocation(
        self, node: ast.stmt, variable: str, word: str, given: Sequence[ast.expr]
    ) -> Invocation:
        instance = self._bound(node, variable)
        method = _METHODS.get(word)
        if method is None:
            raise _refused(node, f"{_OBJECT} has no {word}: {_shown(node)}")
        if method not in WITH_ARGUMENT:
            if given:
                raise _refused(node, f"{word} has no argument: {_shown(node)}")
            if method is Method.TOAST:
                self._check_state(node, instance.class_name, "toasted")
            return Invocation(variable, method, "", node.lineno)
        if len(given) != 1 or not isinstance(given[0], ast.Name):
            raise _refused(node, f"{word} takes one instance: {_shown(node)}")
        argument = given[0].id
        self._bound(node, argument)
        if argument == variable:
            raise _refused(node, f"{word} needs another instance than its own: {_shown(node)}")
        return Invocation(variable, method, argument, node.lineno)

    def _bound(self, node: ast.stmt, variable: str) -> Instance:
        if variable in self._agents:
            raise _refused(node, f"{variable} is an {_AGENT}: {_shown(node)}")
        instance = self._objects.get(variable)
        if instance is None:
            raise _refused(node, f"{variable[:_MAX_NAME]} is not defined: {_shown(node)}")
        return instance

    def _class(self, node: ast.stmt, word: str) -> str:
        found = self._vocabulary.nearest(word)
        if found is None:
            near = self._vocabulary.suggestions(word)
            hint = f"; similar: {', '.join(near)}" if near else ""
            raise _refused(node, f"there is no class {word[:_MAX_NAME]!r}{hint}")
        return found

    def _check_state(self, node: ast.stmt, class_name: str, attribute: str) -> None:
        """Refuses what nothing of a class can become, such as a toasted potato (HELPER-C27)."""
        needed = _AFFORDANCE_OF.get(attribute)
        if needed is not None and needed not in self._vocabulary.affordances_of(class_name):
            raise _refused(node, f"{class_name} cannot be {attribute}: only slices of bread can")

    def _check_corrective(self, node: ast.stmt) -> None:
        if not self._corrective:
            raise _refused(node, f"only a repair may say {_shown(node)}")


def _nodes(text: str) -> list[ast.stmt]:
    if len(text) > MAX_CHARACTERS:
        raise ProgramError(0, f"it has {len(text)} characters, at most {MAX_CHARACTERS}")
    if not text.isascii() or "\\" in text:
        _check_characters(text)
    try:
        found = ast.parse(text).body
    except SyntaxError as error:
        raise ProgramError(error.lineno or 0, f"it is not Python: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise ProgramError(0, f"it is not Python: {str(error) or type(error).__name__}") from None
    if len(found) > MAX_STATEMENTS:
        reason = f"it has {len(found)} statements, at most {MAX_STATEMENTS}"
        raise ProgramError(found[MAX_STATEMENTS].lineno, reason)
    return found


def _check_characters(text: str) -> None:
    """Python takes some other letters for ASCII ones; only comments may have any."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            wrong = not token.string.isascii() or "\\" in token.string
            if wrong and token.type != tokenize.COMMENT:
                shown = ascii(token.string[:_MAX_NAME])
                raise ProgramError(token.start[0], f"only ASCII letters are allowed, not {shown}")
    except (tokenize.TokenError, SyntaxError) as error:
        raise ProgramError(0, f"it is not Python: {error.args[0]}") from None


def _attributes(node: ast.stmt, given: ast.expr | None) -> tuple[str, ...]:
    if given is None or _is_none(given):
        return ()
    if not isinstance(given, ast.List | ast.Tuple):
        raise _refused(node, f"attributes has to be a list of texts: {_shown(node)}")
    words = tuple(_text(node, one) for one in given.elts)
    for word in words:
        if word not in ATTRIBUTES:
            reason = f"an attribute is one of {', '.join(ATTRIBUTES)}, not {word[:_MAX_NAME]!r}"
            raise _refused(node, reason)
    return tuple(dict.fromkeys(words))


def _variable(node: ast.stmt, name: str) -> str:
    # Names with a leading underscore are the interpreter's own.
    if not _NAME.match(name) or len(name) > _MAX_NAME:
        raise _refused(node, f"{name[:_MAX_NAME]!a} is not a name for a variable")
    if name in (_OBJECT, _AGENT, _NOTHING):
        raise _refused(node, f"{name} cannot be bound")
    return name


def _text(node: ast.stmt, given: ast.expr) -> str:
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value
    raise _refused(node, f"expected a text in quotation marks: {_shown(node)}")


def _is_none(given: ast.expr) -> bool:
    return isinstance(given, ast.Constant) and given.value is None


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _only_prints(node: ast.stmt) -> bool:
    """Whether a statement prints texts or variables, and calls nothing else."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "print"
        and not node.value.keywords
        and all(isinstance(given, ast.Constant | ast.Name) for given in node.value.args)
    )


def _kind(node: ast.stmt) -> str:
    return _KINDS.get(type(node), "this")


def _shown(node: ast.stmt) -> str:
    try:
        line = ast.unparse(node).partition("\n")[0]
    except (RecursionError, ValueError):
        return type(node).__name__
    return line if len(line) <= 2 * _MAX_NAME else f"{line[: 2 * _MAX_NAME]}..."


def _refused(node: ast.stmt, reason: str) -> ProgramError:
    return ProgramError(node.lineno, reason)


# GBNF of programs: what a model cannot write cannot be refused (HELPER-D3).

_WORD = "[a-z] [a-z0-9_]{0,39}"
# Only the parser checks what a grammar cannot: that variables are bound, and to what.
_MAX_LINES = MAX_STATEMENTS // 2


def program_grammar(classes: Sequence[str], *, corrective: bool = False) -> str:
    """The grammar of programs that name these classes.

    Args:
        classes: the names of the vocabulary that may be used, such as those of the house.
        corrective: whether it is a repair, which may move the agent and do nothing.

    Returns:
        GBNF in the subset that `planner.models.gbnf` reads, with the rule `root`. The other rules
        are `line`, `instance`, `call`, `comment`, `word`, `class`, `attribute`.
    """
    return _grammar(tuple(dict.fromkeys(classes)), corrective)


@lru_cache(maxsize=32)
def _grammar(classes: tuple[str, ...], corrective: bool) -> str:
    plain = " | ".join(quoted(f".{one}()") for one in Method if one not in WITH_ARGUMENT)
    taking = " | ".join(quoted(f".{one}(") for one in Method if one in WITH_ARGUMENT)
    forms = ["instance", "call", "comment"]
    repair = ""
    if corrective:
        forms += ["mover", "move", quoted("do_nothing()")]
        moves = " | ".join(quoted(f".{one}()") for one in Corrective)
        repair = f'mover ::= word " = AgentCorrective()"\nmove ::= word ({moves})\n'
    return (
        f'root ::= line ("\\n" line){{0,{_MAX_LINES - 1}}} "\\n"?\n'
        f"line ::= {' | '.join(forms)}\n"
        'instance ::= word " = InteractionObject(\\"" class "\\"" '
        '(", landmark=\\"" class "\\"")? '
        '(", attributes=[" attribute (", " attribute){0,2} "]")? ")"\n'
        f'call ::= word ({plain}) | word ({taking}) word ")"\n'
        f"{repair}"
        'comment ::= "# " [ -~]{1,160}\n'
        f"word ::= {_WORD}\n"
        f"class ::= {' | '.join(map(quoted, classes))}\n"
        f"attribute ::= {' | '.join(quoted(chr(34) + one + chr(34)) for one in ATTRIBUTES)}\n"
    )
