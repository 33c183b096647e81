"""The panel beside a frame: its propositions in words, special relations, ties and gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner.episodes.drawing.colours import proposition_colour
from planner.episodes.drawing.frames import Frame, order_is_groups
from planner.episodes.drawing.parts import Part, below, beside, over
from planner.episodes.drawing.shapes import (
    INK,
    SOFT,
    Box,
    Colour,
    Path,
    Shape,
    line_height,
    text_lines,
    wrapped,
)
from planner.evaluation.explanation import phrase
from planner.evaluation.task import (
    Dependency,
    DependencyMode,
    Evaluation,
    GateRelation,
    Predicate,
    Tie,
    TieKind,
)

WIDTH = 320.0
_SIZE, _HEAD_SIZE = 12.0, 12.5
_GLYPH_WIDTH = 46.0
_BLANK, _BAD = "#dde1e7", "#c02626"


def notes(
    evaluation: Evaluation, frame: Frame, colours: Mapping[str, Colour], unknown: Sequence[str]
) -> Part:
    """The panel of a frame; `unknown` are names in it that nothing in the house has."""
    lines = [_proposition(evaluation, i) for i in frame.indices]
    special = [
        *_relations(evaluation, frame, colours),
        *(_tie(evaluation, tie) for tie in evaluation.ties if _concerns(tie, frame)),
    ]
    gates = list(_gates(evaluation, frame))
    strange = _paragraph(", ".join(unknown), WIDTH, _BAD)
    return below(
        [
            _head("Has to come true"),
            *lines,
            *([_head("Relations and ties"), *special] if special else []),
            *([_head("When it counts"), *gates] if gates else []),
            *([_head("Not in this house"), strange] if unknown else []),
        ],
        7,
    )


def _head(text: str) -> Part:
    return Part(
        WIDTH,
        line_height(_HEAD_SIZE) + 4,
        tuple(text_lines([text], 0, 4, _HEAD_SIZE, SOFT, bold=True)),
    )


def _paragraph(text: str, width: float, colour: Colour = INK) -> Part:
    lines = wrapped(text, _SIZE, width)
    height = len(lines) * line_height(_SIZE)
    return Part(width, height, tuple(text_lines(lines, 0, 0, _SIZE, colour)))


def _proposition(evaluation: Evaluation, i: int) -> Part:
    colour = proposition_colour(i)
    badge = over(
        [
            Part(24, 16, (Box(0, 0, 24, 16, colour, radius=3),)),
            Part(24, 16, tuple(text_lines([str(i)], 8 if i < 10 else 4, 0.5, _SIZE, "#ffffff"))),
        ]
    )
    lasts = "" if i in evaluation.terminal else " (need not last)"
    text = _paragraph(phrase(evaluation.propositions[i]) + lasts, WIDTH - 34)
    return beside([badge, text], 10)


def _relations(
    evaluation: Evaluation, frame: Frame, colours: Mapping[str, Colour]
) -> Iterator[Part]:
    """Nearness, as boxes side by side."""
    for i in frame.indices:
        item = evaluation.propositions[i]
        if item.predicate not in (Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED):
            continue
        fills = [colours.get(names[0], _BLANK) for names in item.lists[:3]]
        shapes = [Box(2 + 14 * k, 2, 12, 12, fill, radius=2) for k, fill in enumerate(fills)]
        yield _legend(shapes, f"{i}: {phrase(item)}")


def _tie(evaluation: Evaluation, tie: Tie) -> Part:
    """The same or different arguments, as two boxes with the sign between."""
    fills = [proposition_colour(i) for i, _ in tie.members[:2]]
    shapes: list[Shape] = [
        Box(30 * k + 1, 2, 12, 12, fill, radius=2) for k, fill in enumerate(fills)
    ]
    shapes += [Path(((17, y), (27, y)), INK, 1.8) for y in (6, 10)]
    same = tie.kind is TieKind.SAME
    if not same:
        shapes.append(Path(((19, 14), (25, 2)), INK, 1.8))
    words = {
        evaluation.propositions[i].argument_names[k].lstrip("*").rstrip("s") for i, k in tie.members
    }
    numbers = [str(i) for i, _ in tie.members]
    noun = words.pop() if len(words) == 1 else "entity"
    text = f"{_listed(numbers)}: {'the same' if same else 'a different'} {noun}"
    return _legend(shapes, text)


def _legend(shapes: Sequence[Shape], text: str) -> Part:
    glyph = Part(_GLYPH_WIDTH, 16, tuple(shapes))
    return beside([glyph, _paragraph(text, WIDTH - _GLYPH_WIDTH - 6)], 6)


def _concerns(tie: Tie, frame: Frame) -> bool:
    return any(i in frame.indices for i, _ in tie.members)


def _gates(evaluation: Evaluation, frame: Frame) -> Iterator[Part]:
    gated: dict[str, list[str]] = {}
    for gate in evaluation.dependencies:
        inside = [str(i) for i in gate.gated if i in frame.indices]
        gated.setdefault(_moment(gate), []).extend(inside)
    for moment, indices in gated.items():
        if indices:
            yield _paragraph(f"{_listed(indices)}: {moment}", WIDTH)
    if not order_is_groups(evaluation):
        for i in frame.indices:
            before = [str(one) for one, other in evaluation.edges if other == i]
            if before:
                yield _paragraph(f"{i}: later than {_listed(before)}", WIDTH)


def _moment(gate: Dependency) -> str:
    heads = _listed([str(i) for i in gate.depends_on], gate.mode)
    plural = len(gate.depends_on) > 1
    match gate.relation:
        case GateRelation.WHILE_SATISFIED:
            return f"while {heads} {'hold' if plural else 'holds'}"
        case GateRelation.AFTER_SATISFIED:
            return f"after {heads} {'have' if plural else 'has'} come true"
        case GateRelation.AFTER_UNSATISFIED:
            return f"after {heads} {'hold' if plural else 'holds'} no longer"


def _listed(words: Sequence[str], mode: DependencyMode = DependencyMode.ALL) -> str:
    link = "and" if mode is DependencyMode.ALL else "or"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {link} {words[-1]}"
