"""Questions to the memory, answered in words and structured, and the index behind them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_samples import layout_of

from planner.language.answers import BY_WORDS, QuestionKind
from planner.memory.index import EntityIndex
from planner.memory.memory import Memory
from planner.memory.query import SimilaritySearch, ask, structured
from planner.memory.updater import Facts, Operation
from planner.parts.calls import parse_call
from planner.world.belief import Entity, OperationKind
from planner.world.embedding import Vectors
from planner.world.skill import SkillResult
from planner.world.vocabulary import Relation

ADD, UPDATE, REMOVE = OperationKind.ADD, OperationKind.UPDATE, OperationKind.REMOVE


def add(text: str, table: int, class_name: str = "cup") -> Operation:
    facts = Facts(class_name, (0.1, 0.1, 0.1), f"table_{table}", Relation.ON, "hall_0", {})
    return Operation(ADD, description=text, position_m=(1.0, 1.0, 0.8), facts=facts)


@pytest.fixture
def memory() -> Memory:
    memory = Memory(layout_of(2), None)
    memory.edit([add("blue cup", 0), add("red cup", 1), add("book", 1, "book")], "test", 100.0)
    return memory


def ids(memory: Memory, text: str, **options: str) -> list[int]:
    return [entity.entity_id for entity in ask(memory, text, **options).entities]


def test_where_is_the_red_cup(memory: Memory) -> None:
    answer = ask(memory, "Where is the red cup?")
    assert answer.kind is QuestionKind.FIND
    assert [e.entity_id for e in answer.entities] == [103, 102]
    assert answer.scores == (1.0, 0.5)
    assert answer.text.splitlines() == [
        "Object.103 cup_103 (cup) is on table_1 in hall_0, told at 100.0 s.",
        "Matched by words.",
    ]


@pytest.mark.parametrize(
    "text", ["what is in the hall_0?", "What is in the hallway", "list things in the hallway"]
)
def test_what_is_in_a_room(memory: Memory, text: str) -> None:
    answer = ask(memory, text)
    assert answer.kind is QuestionKind.PLACE
    assert [e.entity_id for e in answer.entities] == [102, 103, 104]
    assert answer.text.startswith("3 things in hall_0:\nObject.102 cup_102")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("how many cups are in the hall_0?", [102, 103]),
        ("How many cups are there?", [102, 103]),
        ("how many cups are there in the whole house?", [102, 103]),
        ("how many dishes are in the hallway", [102, 103]),
        ("how many red cups do you see in the hallway?", [103]),
        ("which cups are on table_1?", [103]),
        ("how many plates are there?", []),
    ],
)
def test_how_many_and_which(memory: Memory, text: str, found: list[int]) -> None:
    answer = ask(memory, text)
    assert [entity.entity_id for entity in answer.entities] == found
    assert answer.text.startswith(
        f"{len(found)} thing{'s' * (len(found) != 1)}" if found else "Nothing"
    )


def test_what_is_on_furniture_and_in_hands(memory: Memory) -> None:
    assert ids(memory, "what is on table_1?") == [103, 104]
    memory.note_result("agent_0", parse_call("Pick[cup_103]"), SkillResult.success(), 120.0)
    assert ids(memory, "what is on table_1?") == [104]
    assert ids(memory, "what is held by agent_0") == [103]
    assert "is held by agent_0, inferred at 120.0 s" in ask(memory, "where is cup_103").text


def test_what_changed(memory: Memory) -> None:
    memory.edit([Operation(REMOVE, 104)], "test", 150.0)
    answer = ask(memory, "what changed since 120 s?")
    assert answer.kind is QuestionKind.CHANGES
    assert answer.text.splitlines() == ["1 entry changed since 120 s:", "Remove Object.104"]
    assert ask(memory, "what changed in the last minute").text.count("\n") == 2
    assert ask(memory, "what has changed since 3 minutes").text == "Nothing changed since 180 s."
    assert structured(answer)["changes"] == ["Remove Object.104"]


def test_changes_that_are_no_longer_known_are_said_to_be(memory: Memory) -> None:
    memory.load(memory.content())
    assert ask(memory, "what changed since 50 s").text.endswith(
        "Older changes are no longer known."
    )


@pytest.mark.parametrize(
    ("text", "which"),
    [
        ("Is the cup on the top shelf?", "top shelf"),
        ("How many cups are on the left table?", "left table"),
        ("Is the lower cabinet open?", "lower cabinet"),
        ("What is in the second drawer?", "second drawer"),
    ],
)
def test_what_is_told_by_its_position_is_not_answered_for_any(
    memory: Memory, text: str, which: str
) -> None:
    assert ask(memory, text).text == (
        f"I cannot tell which is the {which}: what I have seen I know by name."
    )


def test_what_is_not_known_is_said(memory: Memory) -> None:
    answer = ask(memory, "where is the green cup?")
    assert answer.unknown == ("green",)
    assert "Nothing is known of: green." in answer.text
    assert answer.scores == (0.5, 0.5)
    nothing = ask(memory, "where is the hippopotamus?")
    assert nothing.entities == ()
    assert nothing.text.startswith("Nothing like that is remembered.")


def test_plurals_rooms_and_limits(memory: Memory) -> None:
    assert ids(memory, "cups") == [102, 103]
    assert ids(memory, "cup", room="attic_0") == []
    assert len(ask(memory, "", limit=2).entities) == 2
    assert len(ask(memory, "").entities) == 5


class Synonyms:
    """Stands in for a sentence encoder: one axis a meaning."""

    embedder_id = "synonyms-1"

    def embed(self, texts: Sequence[str]) -> Vectors:
        axes = [{"cup", "mug", "blue", "red"}, {"book", "novel"}, {"table", "desk"}]
        rows = [[float(bool(axis & set(text.split()))) for axis in axes] for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), len(axes))


def test_meaning_finds_other_words_and_the_answer_says_so(memory: Memory) -> None:
    answer = ask(memory, "where is the novel?", meaning=SimilaritySearch(Synonyms()))
    assert [e.entity_id for e in answer.entities] == [104]
    assert (answer.matched_by, answer.text.splitlines()[-1]) == (
        "synonyms-1",
        "Matched by meaning (synonyms-1).",
    )
    assert ask(memory, "where is the novel?").matched_by == BY_WORDS
    assert ask(memory, "where is the novel?").entities == ()


def test_the_index_follows_edits(memory: Memory) -> None:
    assert ids(memory, "red") == [103]
    memory.edit([Operation(UPDATE, 103, description="mug", position_m=(1, 1, 0.8))], "test", 101.0)
    assert ids(memory, "red") == []
    assert ids(memory, "mug") == [103]
    memory.edit([Operation(REMOVE, 103)], "test", 102.0)
    assert ids(memory, "mug") == []


_edits = st.lists(
    st.tuples(
        st.integers(100, 130),
        st.sampled_from(["cup", "red cup", "book", ""]),
        st.sampled_from([None, "hall_0", "kitchen_0"]),
    ),
    max_size=60,
)


@given(_edits, st.booleans())
def test_an_index_that_followed_is_one_that_was_made(
    edits: list[tuple[int, str, str | None]], crowded: bool
) -> None:
    crowd = [_entity(number, "cup", None) for number in range(1000, 1100 if crowded else 1000)]
    followed = EntityIndex(crowd)
    kept = {entity.entity_id: entity for entity in crowd}
    for step, (pick, text, room) in enumerate(edits):
        # Empty stands for a removal; ids must grow.
        number = 2000 + step
        if text:
            kept[number] = _entity(number, text, room)
            followed.put(kept[number])
        elif kept:
            gone = sorted(kept)[pick % len(kept)]
            del kept[gone]
            followed.remove(gone)
    made = EntityIndex(kept[n] for n in sorted(kept))
    assert len(followed) == len(made) == len(kept)
    for words in (["red", "cup"], ["book"], ["oo"], []):
        for room in ("", "hall_0"):
            found = followed.find(words, room)
            assert found == made.find(words, room)
            assert sorted(found, key=lambda f: (-f[1], f[0].entity_id)) == found
            assert followed.find(words, room, limit=3) == found[:3]


def _entity(number: int, text: str, room: str | None) -> Entity:
    return Entity(number, f"thing_{number}", "thing", False, text, (0, 0, 0), room=room)


def test_removed_entities_leave_no_room_behind() -> None:
    index = EntityIndex()
    for number in range(100, 8100):
        index.put(_entity(number, "cup", None))
        index.remove(number - 10)
    assert len(index) == 10
    assert index.places <= 1025
