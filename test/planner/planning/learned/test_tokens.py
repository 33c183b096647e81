"""How the learned planner reads words: nouns by kind only, unknown ones by spelling."""

from __future__ import annotations

import pytest

from planner.planning.learned.network import Named, kinds_of, match
from planner.planning.learned.tokens import MAX_TOKENS, NOUN, UNKNOWN, InstructionError, read_tokens

WORDS = frozenset({"put", "the", "two", "in", "on", ".", "and"})


def test_nouns_have_no_identity_and_other_words_do() -> None:
    tokens = read_tokens("Put the two toy trucks on the coffee table in the lounge.")
    nouns = [token for token in tokens if token.is_noun]
    assert [token.word for token in tokens if not token.is_noun] == [
        *("put", "the", "two", "on", "the", "in", "the", ".")
    ]
    assert {token.word for token in nouns} == {NOUN}
    assert nouns[0].plural
    assert not nouns[1].plural
    assert nouns[1].means("table")
    assert nouns[2].means_room("living_room")
    assert not nouns[2].means("table")


def test_synonyms_read_alike() -> None:
    one, other = read_tokens("Bring the mug."), read_tokens("Bring the teacup.")
    assert [token.word for token in one] == [token.word for token in other]
    assert (kinds_of(one) == kinds_of(other)).all()


def test_a_word_that_no_list_knows_means_what_is_called_so() -> None:
    tokens = read_tokens("Put the two glimmer prisms on the table.", WORDS)
    (noun,) = [token for token in tokens if token.open]
    assert (noun.text, noun.word, noun.plural) == ("glimmer prisms", UNKNOWN, True)
    assert noun.means("prism")
    assert noun.means("glimmer_prism")
    assert not noun.means("table")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Put all three cups away.", 3),
        ("Put 4 cups away.", 4),
        ("Put three of the cups away.", 3),
        ("Put two of your cups away.", 2),
        ("Put the cups away.", 0),
        ("Put all of the cups away.", 0),
        ("Put one cup away.", 0),
    ],
)
def test_the_number_before_a_plural_is_kept(text: str, count: int) -> None:
    (noun,) = [token for token in read_tokens(text) if token.is_noun]
    assert noun.count == count


def test_matches_are_by_class_and_room() -> None:
    tokens = read_tokens("the cup on the table in the kitchen")
    nouns = [i for i, token in enumerate(tokens) if token.is_noun]
    found = match(tokens, [Named("table", "kitchen"), Named("bed", "bedroom")], [Named("cup")])
    assert found.furniture[:, nouns].tolist() == [[0, 1, 0], [0, 0, 0]]
    assert found.in_room[:, nouns].tolist() == [[0, 0, 1], [0, 0, 0]]
    assert found.things[:, nouns].tolist() == [[1, 0, 0]]
    assert found.supports.tolist() == [-1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no words"),
        ("!!", "no words"),
        ("Stelle die zwei Becher bitte ins Regal im Flur", "does not seem to be English"),
        ("put the cup on the table and " * MAX_TOKENS, f"reads up to {MAX_TOKENS}"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, reason: str) -> None:
    with pytest.raises(InstructionError, match=reason):
        read_tokens(text, WORDS)


def test_a_room_before_furniture_says_where_it_is() -> None:
    tokens = read_tokens("Put the kitchen towel on the kitchen table and store the fork in it.")
    nouns = [token for token in tokens if token.word == NOUN]
    assert [token.text for token in nouns] == ["kitchen towel", "kitchen", "table", "fork"]
    assert nouns[1].means_room("kitchen")
    # "store" is also furniture, but not in requests.
    assert "store" in {token.word for token in tokens}


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("You put the cup away and I will wash the fork.", "You put the cup away."),
        ("You put the cup away, and I'll wash it. Then wait.", "You put the cup away. Then wait."),
        ("I'll wash the fork. You put the cup away.", "You put the cup away."),
        ("I'll wash the fork and you put the cup away.", "you put the cup away."),
        ("You put the cup away while I wash the fork.", "You put the cup away."),
        ("While I wash the fork, you put the cup away.", "you put the cup away."),
        ("I will need the cup on the table.", "I will need the cup on the table."),
        ("Put the cup away while I am out.", "Put the cup away while I am out."),
    ],
)
def test_what_the_speaker_does_is_not_read(said: str, asked: str) -> None:
    assert read_tokens(said) == read_tokens(asked)
    assert all(token.text not in ("wash", "fork") for token in read_tokens(said))
