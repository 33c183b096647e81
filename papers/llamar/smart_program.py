"""Programs of SmartLLM, and their execution in joint steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from papers.llamar.actions import Action, ActionError, Verb, parse_action
from planner.models.gbnf import quoted
from planner.models.replies.form import ReplyError, check_length
from planner.world.geometry import record

MAX_FUNCTIONS, MAX_STEPS, MAX_LINES = 32, 64, 128
_FENCE = re.compile(r"```(?:python)?\n(.*?)(?:```|\Z)", re.DOTALL)
_WORD = "[a-z] [a-z0-9_]{0,40}"
_THING = r'"\"" [A-Za-z0-9_]{1,60} "\""'
_THREADING, _THREAD = "threading", "Thread"
_START, _JOIN = "start", "join"
_ROBOTS = "robots"
_LOOPS = (ast.For, ast.While, ast.AsyncFor)


@record
class Step:
    """One action of one robot of a function.

    Attributes:
        robot: the position of the function's parameter.
        action: of the paper's list.
    """

    robot: int
    action: Action


@record
class Function:
    """A subtask: its robots, and what they do one after the other."""

    name: str
    robots: tuple[str, ...]
    steps: tuple[Step, ...]


@record
class Functions:
    """The first reply. `dropped` is as in `planner.models.replies.dictionary.Entries`."""

    by_name: Mapping[str, Function]
    text: str
    dropped: tuple[str, ...] = ()


@record
class Run:
    """A function with robots, by their names; `thread` is "" where the program waits for it."""

    function: str
    robots: tuple[str, ...]
    thread: str = ""


@record
class Join:
    """The program waits for a thread."""

    thread: str


Line: TypeAlias = Run | Join


@record
class Allocation:
    """The second reply: what the program does, in order; its end waits for all threads."""

    lines: tuple[Line, ...]
    text: str
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class FunctionsReply:
    """The form of the functions; a `planner.models.replies.form.ReplyForm`.

    Attributes:
        verbs: what the robots can do.
    """

    verbs: tuple[Verb, ...]
    max_tokens: int = 2048
    stop: tuple[str, ...] = ()

    @cached_property
    def grammar(self) -> str:
        """GBNF of functions; only the parser checks that parameters are bound."""
        calls = " | ".join(_call_rule(verb) for verb in self.verbs)
        return (
            f'root ::= function ("\\n" function){{0,{MAX_FUNCTIONS - 1}}}\n'
            'function ::= "def " word "(" word (", " word){0,5} "):" '
            f'("\\n    " step){{1,{MAX_STEPS}}}\n'
            f"step ::= {calls}\n"
            f"word ::= {_WORD}\n"
            f"thing ::= {_THING}\n"
        )

    def read(self, text: str, *, ended: bool) -> Functions:
        """Reads the functions; a code fence around them is removed.

        Raises:
            ReplyError: naming the first line that cannot be part of a program.
        """
        source = _source(text, ended=ended)
        found: dict[str, Function] = {}
        for node in _statements(source):
            if not isinstance(node, ast.FunctionDef):
                raise _refused(node, f"expected a function, not {_kind(node)}")
            if node.name in found:
                raise _refused(node, f"{node.name} is defined twice")
            found[node.name] = self._function(node)
        if not found:
            raise ReplyError("the reply has no function")
        if len(found) > MAX_FUNCTIONS:
            raise ReplyError(f"the program has {len(found)} functions, at most {MAX_FUNCTIONS}")
        return Functions(found, source)

    def _function(self, node: ast.FunctionDef) -> Function:
        given = node.args
        extra = (given.posonlyargs, given.kwonlyargs, given.defaults, given.vararg, given.kwarg)
        if any(extra) or not given.args or node.decorator_list:
            raise _refused(node, f"{node.name} takes robots, and nothing else")
        robots = tuple(one.arg for one in given.args)
        steps = tuple(self._step(each, robots) for each in _body(node.body))
        if len(steps) > MAX_STEPS:
            raise _refused(node, f"{node.name} has {len(steps)} steps, at most {MAX_STEPS}")
        return Function(node.name, robots, steps)

    def _step(self, node: ast.stmt, robots: tuple[str, ...]) -> Step:
        call = _call(node)
        if not isinstance(call.func, ast.Name):
            raise _refused(node, "expected an action of the list")
        if not call.args or not isinstance(call.args[0], ast.Name):
            raise _refused(node, f"the first argument of {call.func.id} has to be a robot")
        robot = call.args[0].id
        if robot not in robots:
            raise _refused(node, f"{robot} is not defined")
        arguments = ", ".join(_constant(one) for one in call.args[1:])
        written = f"{call.func.id}({arguments})" if arguments else call.func.id
        try:
            action = parse_action(written)
        except ActionError as error:
            raise _refused(node, str(error)) from None
        if action.verb not in self.verbs:
            raise _refused(node, f"there is no {call.func.id}")
        return Step(robots.index(robot), action)


@dataclass(frozen=True)
class AllocationReply:
    """The form of the lines that call the functions.

    Attributes:
        functions: of the first reply.
        robots: the names of the robots.
    """

    functions: Mapping[str, Function]
    robots: tuple[str, ...]
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()

    @cached_property
    def grammar(self) -> str:
        """GBNF of threads and calls; only the parser counts robots and checks names."""
        names = " | ".join(map(quoted, self.functions))
        robots = " | ".join(map(quoted, self.robots))
        return (
            f'root ::= line ("\\n" line){{0,{MAX_LINES - 1}}}\n'
            'line ::= function "(" robot (", " robot){0,5} ")" | word "." ("start" | "join") "()" '
            f'| word " = {_THREADING}.{_THREAD}(target=" function ", args=(" '
            'robot ("," | (", " robot){1,5}) "))"\n'
            f"function ::= {names}\n"
            f"robot ::= {robots}\n"
            f"word ::= {_WORD}\n"
        )

    def read(self, text: str, *, ended: bool) -> Allocation:
        """Reads the lines; a code fence around them is removed.

        Raises:
            ReplyError: naming the first line that cannot be part of a program.
        """
        source = _source(text, ended=ended)
        nodes = _statements(source)
        if len(nodes) > MAX_LINES:
            raise ReplyError(f"the program has {len(nodes)} lines, at most {MAX_LINES}")
        lines: list[Line] = []
        made: dict[str, Run] = {}
        started: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.Assign):
                run = self._thread(node)
                if run.thread in made:
                    raise _refused(node, f"{run.thread} is a thread already")
                made[run.thread] = run
                continue
            line = self._line(node, made, started)
            if isinstance(line, Run) and line.thread:
                started.add(line.thread)
            lines.append(line)
        idle = [name for name in made if name not in started]
        if idle:
            raise ReplyError(f"the thread {idle[0]} is never started")
        if not lines:
            raise ReplyError("the program calls no function")
        return Allocation(tuple(lines), source)

    def _thread(self, node: ast.Assign) -> Run:
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            raise _refused(node, "a thread can be kept in a name only")
        call = node.value
        if not isinstance(call, ast.Call) or _shown(call.func) != f"{_THREADING}.{_THREAD}":
            raise _refused(node, f"expected {_THREADING}.{_THREAD}(target=..., args=...)")
        given = {one.arg: one.value for one in call.keywords}
        target, robots = given.pop("target", None), given.pop("args", None)
        if call.args or given or not isinstance(target, ast.Name):
            raise _refused(node, "a thread takes target, a function, and args, its robots")
        if not isinstance(robots, ast.Tuple | ast.List):
            raise _refused(node, "args has to be a tuple of robots, such as (Alice,)")
        return self._run(node, target.id, robots.elts, node.targets[0].id)

    def _line(self, node: ast.stmt, made: Mapping[str, Run], started: set[str]) -> Line:
        call = _call(node)
        if isinstance(call.func, ast.Name):
            return self._run(node, call.func.id, call.args)
        if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name):
            raise _refused(node, "expected a function, or a thread that is started or joined")
        thread, method = call.func.value.id, call.func.attr
        if thread not in made:
            raise _refused(node, f"{thread} is not defined")
        if method not in (_START, _JOIN) or call.args:
            raise _refused(node, f"a thread has {_START}() and {_JOIN}(), not {method}")
        if method == _START and thread in started:
            raise _refused(node, f"{thread} was started before")
        if method == _JOIN and thread not in started:
            raise _refused(node, f"{thread} was not started")
        return made[thread] if method == _START else Join(thread)

    def _run(
        self, node: ast.stmt, function: str, given: Sequence[ast.expr], thread: str = ""
    ) -> Run:
        known = self.functions.get(function)
        if known is None:
            raise _refused(node, f"{function} is not defined")
        robots = tuple(self._robot(node, one) for one in given)
        if len(robots) != len(known.robots) or len(set(robots)) < len(robots):
            raise _refused(node, f"{function} takes {len(known.robots)} different robots")
        return Run(function, robots, thread)

    def _robot(self, node: ast.stmt, given: ast.expr) -> str:
        """A robot by its name, or as `robots[0]`."""
        if isinstance(given, ast.Name) and given.id in self.robots:
            return given.id
        if isinstance(given, ast.Subscript) and _shown(given.value) == _ROBOTS:
            place = given.slice.value if isinstance(given.slice, ast.Constant) else None
            if isinstance(place, int) and place in range(len(self.robots)):
                return self.robots[place]
        raise _refused(node, f"{_shown(given)} is not a robot of the team")


def _source(text: str, *, ended: bool) -> str:
    check_length(text)
    fenced = _FENCE.search(text)
    if fenced:
        return fenced[1].strip()
    # A line that was cut off is left out only where others remain; else it is refused as it is.
    kept = text.strip() if ended else text.rpartition("\n")[0].strip()
    return kept or text.strip()


def _statements(source: str) -> list[ast.stmt]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ReplyError(f"the reply is not a program: {error}") from None
    return _body(tree.body)


def _body(nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements without those that do nothing: docstrings, `pass`, the import of threads."""
    return [node for node in nodes if not _does_nothing(node)]


def _does_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names] == [_THREADING]
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, ast.Pass)


def _call(node: ast.stmt) -> ast.Call:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        raise _refused(node, f"expected a call, not {_kind(node)}")
    if node.value.keywords:
        raise _refused(node, "expected a call without keywords")
    return node.value


def _constant(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int):
        return str(node.value)
    raise ReplyError(f"line {node.lineno}: {_shown(node)} is not a text")


def _shown(node: ast.expr) -> str:
    try:
        return ast.unparse(node)[:40]
    except RecursionError:
        return type(node).__name__


def _kind(node: ast.stmt) -> str:
    return "a loop" if isinstance(node, _LOOPS) else type(node).__name__


def _call_rule(verb: Verb) -> str:
    """A call of an action; the argument is a thing or one of the verb's values."""
    name = quoted(f"{verb}(")
    if verb.values:
        values = " | ".join(quoted(f'"{value}"') for value in verb.values)
        return f'{name} word ", " ({values}) ")"'
    if verb is Verb.PUT:
        return f'{name} word ", " thing (", \\"on\\"" | ", \\"within\\"")? ")"'
    return f'{name} word ", " thing ")"' if verb.takes_thing else f'{name} word ")"'


def _refused(node: ast.stmt, reason: str) -> ReplyError:
    return ReplyError(f"line {node.lineno}: {reason}")


# Carries out a program of SmartLLM in joint steps: at most one action of each robot in a step.


@dataclass
class _Active:
    """A function that runs; `at` is its next step."""

    function: Function
    robots: tuple[str, ...]
    thread: str
    at: int = 0

    @property
    def is_over(self) -> bool:
        return self.at == len(self.function.steps)


class ProgramRun:
    """One program. What becomes of an action is not looked at: the next one follows."""

    def __init__(self, functions: Functions, allocation: Allocation) -> None:
        self._functions, self._lines = functions.by_name, allocation.lines
        self._at = 0
        self._active: list[_Active] = []
        self._calling: _Active | None = None
        self.given = 0
        self.steps = sum(
            len(functions.by_name[line.function].steps)
            for line in allocation.lines
            if isinstance(line, Run)
        )

    def next(self) -> Mapping[str, Action]:
        """The next action of each robot that has one; empty once the program has ended.

        To be called after the actions of the last call have ended. Where several threads want the
        same robot, the one that began first has it.
        """
        self._advance()
        taken: dict[str, Action] = {}
        for active in self._active:
            step = active.function.steps[active.at]
            robot = active.robots[step.robot]
            if robot not in taken:
                taken[robot] = step.action
                active.at += 1
        self.given += len(taken)
        return taken

    @property
    def running(self) -> tuple[str, ...]:
        """The names of the functions that run."""
        return tuple(dict.fromkeys(active.function.name for active in self._active))

    def _advance(self) -> None:
        """Goes on to the first line that has to wait."""
        self._active = [active for active in self._active if not active.is_over]
        while self._at < len(self._lines) and not self._waits(self._lines[self._at]):
            self._at += 1

    def _waits(self, line: Run | Join) -> bool:
        """Whether a line, which is begun if it was not, has still to wait."""
        if isinstance(line, Join):
            return any(active.thread == line.thread for active in self._active)
        if self._calling is None:
            active = _Active(self._functions[line.function], line.robots, line.thread)
            if not active.is_over:
                self._active.append(active)
            if line.thread:
                return False
            self._calling = active
        is_running = not self._calling.is_over
        if not is_running:
            self._calling = None
        return is_running
