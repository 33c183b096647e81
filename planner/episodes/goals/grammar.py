"""The grammar of household instructions from which goals are derived.

It parses a text into statements and refuses text that it does not understand completely, naming
the words. Only the phrases in the tables below are skipped, so a derived goal never rests on half
an instruction.
"""

from __future__ import annotations

from planner.episodes.goals.statements import (
    Amount,
    Move,
    Occasion,
    Phrase,
    Place,
    Relation,
    RoomPhrase,
    Statement,
    Things,
)
from planner.episodes.wording import NUMBER_WORDS, Item, Noun, NounKind, Word

SENTENCE_ENDS = frozenset(".?!;")

# Introductory phrases without content.
POLITENESS = (
    ("please",), ("also",), ("can", "we"), ("can", "you"), ("could", "you"), ("let's",),
    ("let", "us"), ("help", "me"), ("oh",), ("i", "want", "you", "to"), ("go", "ahead", "and"),
)  # fmt: skip

# Words that start the next step of an ordered instruction.
NEXT_STEP = (
    ("and", "then"), ("then",), ("after", "that"), ("afterwards",), ("next",), ("finally",),
    ("lastly",),
)  # fmt: skip

MOVE_VERBS = frozenset({
    "move", "moving", "bring", "bringing", "place", "placing", "put", "putting", "take", "taking",
    "set", "setting", "return", "relocate", "arrange", "arranging", "transfer", "carry",
    "position", "positioning",
})  # fmt: skip
KEEP_VERBS = frozenset({"leave", "keep"})

# Sentences that announce an occasion; the actual requests follow in other sentences.
OCCASIONS = (
    ("set", "up"), ("create",), ("prepare",), ("tidy", "up"), ("clean", "up"), ("organize",),
    ("rearrange",), ("decorate",), ("make", "tea"), ("make", "coffee"),
    ("move", "things", "around"), ("move", "some", "objects", "around"),
    ("exchange", "these", "objects"), ("get", "the", "toys", "out", "to", "play", "with"),
)  # fmt: skip

TIDYING = frozenset({("tidy", "up"), ("clean", "up"), ("organize",), ("rearrange",)})
# A sentence with one of these says more than the occasion.
STATE_VERBS = frozenset({
    "clean", "cleaning", "fill", "filling", "pour", "turn", "turning", "switch", "wash", "washing",
    "wipe", "dust", "scrub", "rinse", "empty", "power",
})  # fmt: skip

VAGUE_NOUNS = frozenset({"objects", "object", "items", "item", "things"})
VAGUE_OPENINGS = frozenset({"these", "some", "the", "all"})
# "to the appropriate places": the following sentences name them.
NAMED_LATER = (
    ("to", "the", "appropriate", "places"), ("to", "the", "specified", "locations"),
    ("from", "their", "current", "locations"), ("from", "the", "current", "locations"),
)  # fmt: skip

PREPOSITIONS = (
    ("to", "be", "on", "top", "of"), ("on", "top", "of"), ("to", "inside"), ("inside", "of"),
    ("next", "to"), ("close", "to"), ("onto",), ("into",), ("inside",), ("beside",), ("on",),
    ("in",), ("to",),
)  # fmt: skip
EACH_OTHER = (
    ("next", "to", "each", "other"), ("close", "to", "each", "other"),
    ("close", "by", "each", "other"), (",", "close", "to", "each", "other"),
    (",", "next", "to", "each", "other"),
)  # fmt: skip

OTHER_WORDS = frozenset({"another", "other", "new", "different"})
ARTICLES = frozenset({"the", "a", "an", "my", "some", "their"})


class NotUnderstoodError(Exception):
    """The text has something that no rule covers; the message names the words."""


def parse(items: list[Item]) -> list[Statement]:
    """Parses a whole instruction.

    Raises:
        NotUnderstoodError: with the first words that no rule covers.
    """
    statements: list[Statement] = []
    step = 0
    for sentence in _sentences(items):
        reader = _Sentence(sentence, step)
        statements += reader.statements()
        step = reader.step
    return statements


def _sentences(items: list[Item]) -> list[list[Item]]:
    sentences: list[list[Item]] = [[]]
    for item in items:
        if isinstance(item, Word) and item.text in SENTENCE_ENDS:
            sentences.append([])
        else:
            sentences[-1].append(item)
    return [sentence for sentence in sentences if sentence]


class _Sentence:
    """Parses one sentence from left to right."""

    def __init__(self, items: list[Item], step: int) -> None:
        self._items = items
        self._at = 0
        self.step = step

    # Lookahead and consuming.

    def _word(self, ahead: int = 0) -> str:
        """The word at a distance, "" for a noun or the end."""
        at = self._at + ahead
        item = self._items[at] if at < len(self._items) else None
        return item.text if isinstance(item, Word) else ""

    def _noun(self, kind: NounKind, ahead: int = 0) -> Noun | None:
        at = self._at + ahead
        item = self._items[at] if at < len(self._items) else None
        return item if isinstance(item, Noun) and item.kind is kind else None

    def _take(self, *words: str) -> bool:
        # By text, not by the lexicon's type: "can" is both an object and an auxiliary.
        ahead = self._items[self._at : self._at + len(words)]
        if [item.text for item in ahead] == list(words):
            self._at += len(words)
            return True
        return False

    def _take_any(self, phrases: tuple[tuple[str, ...], ...]) -> tuple[str, ...] | None:
        return next((phrase for phrase in phrases if self._take(*phrase)), None)

    def _ended(self) -> bool:
        return self._at >= len(self._items)

    def _stop(self) -> NotUnderstoodError:
        rest = " ".join(item.text for item in self._items[self._at : self._at + 6])
        return NotUnderstoodError(
            f'no rule for "{rest}"' if rest else "the sentence ends too early"
        )

    # Sentences.

    def statements(self) -> list[Statement]:
        self._opening()
        if self._ended():
            return []
        start = self._at
        if (opening := self._take_any(OCCASIONS)) is not None:
            return [self._occasion(start, here=opening in TIDYING)]
        moves: list[Move] = []
        while not self._ended():
            moves += self._clause()
            self._between_clauses()
        return list(moves)

    def _opening(self) -> None:
        while True:
            before = self._at
            self._take("first")
            if self._take_any(NEXT_STEP):
                self.step += 1
            self._take_any(POLITENESS)
            self._take(",")
            if self._at == before:
                return

    def _between_clauses(self) -> None:
        separated = self._take(",")
        if self._take("please"):
            return
        if self._take_any(NEXT_STEP):
            self.step += 1
            self._take(",")
            return
        separated = self._take("and") or separated
        if self._purpose() or self._ended():
            return
        gerund = self._word().endswith("ing") and self._word() in MOVE_VERBS
        if not separated and not gerund:
            raise self._stop()

    def _purpose(self) -> bool:
        # "so I can clean the floors" is a reason, not a request.
        if self._word() == "so" and self._word(1) in {"i", "we", "that"}:
            self._at = len(self._items)
            return True
        return False

    def _occasion(self, start: int, *, here: bool) -> Occasion:
        for item in self._items[self._at :]:
            if item.text in MOVE_VERBS | KEEP_VERBS | STATE_VERBS:
                raise NotUnderstoodError(f'"{item.text}" asks for more than the occasion')
        nouns = [item for item in self._items[start:] if isinstance(item, Noun)]
        self._at = len(self._items)
        rooms = tuple(RoomPhrase(noun) for noun in nouns if noun.kind is NounKind.ROOM)
        return Occasion(rooms, tuple(n for n in nouns if n.kind is NounKind.OBJECT), here)

    # Clauses.

    def _clause(self) -> list[Move]:
        verb = self._word()
        if verb in MOVE_VERBS or verb in KEEP_VERBS:
            self._at += 1
            return self._groups(keep=verb in KEEP_VERBS)
        things = self._things()
        if self._take("should", "be"):
            return self._passive(things)
        if self._take("can", "stay"):
            return [self._placed(things, keep=True)]
        raise self._stop()

    def _groups(self, *, keep: bool) -> list[Move]:
        """After a verb: things with their place, and further pairs that share the verb."""
        moves = [self._placed(self._things(), keep=keep)]
        while (next_group := self._another_group()) is not None:
            moves.append(self._placed(next_group, keep=keep))
        return moves

    def _passive(self, things: Things) -> list[Move]:
        """After "the cup should be": its place, and further things, with or without a verb."""
        moves = [self._placed(things, keep=False)]
        while (next_group := self._another_group()) is not None:
            self._take("should", "be")
            moves.append(self._placed(next_group, keep=False))
        return moves

    def _another_group(self) -> Things | None:
        before = self._at
        self._take(",")
        self._take("and")
        if self._starts_phrase():
            return self._things()
        self._at = before
        return None

    def _placed(self, things: Things, *, keep: bool) -> Move:
        """The places after things: origin, destination, neighbour; at most one of each."""
        origin: Place | None = None
        destination: Place | None = None
        relation = Relation.TO
        beside: Things | None = None
        together = False
        self._take("away")
        while not self._ended():
            if self._take_any(NAMED_LATER):
                continue
            if origin is None and self._take("from"):
                origin = self._place()
            elif self._take_any(EACH_OTHER):
                together = True
            elif (found := self._take_any(PREPOSITIONS)) is not None:
                if found[-1] in {"to", "beside"} and found != ("to",):
                    beside = self._things()
                elif destination is None:
                    relation = _relation(found)
                    destination = self._place()
                else:
                    raise self._stop()
            else:
                break
        return Move(self.step, things, origin, destination, relation, keep, together, beside)

    # Things.

    def _starts_phrase(self) -> bool:
        if [item.text for item in self._items[self._at : self._at + 2]] == ["can", "stay"]:
            return False
        ahead = 0
        while self._word(ahead) in ARTICLES | {"all", "both", "of"} or self._number(ahead):
            ahead += 1
        return self._noun(NounKind.OBJECT, ahead) is not None

    def _number(self, ahead: int = 0) -> int | None:
        word = self._word(ahead)
        if word in NUMBER_WORDS:
            return NUMBER_WORDS[word]
        return int(word) if word.isascii() and word.isdigit() and len(word) <= 2 else None

    def _things(self) -> Things:
        if self._take("them"):
            return Things(again=True)
        if self._take("it"):
            return Things(again=True, single=True)
        if (vague := self._vague()) is not None:
            return vague
        phrases = [self._phrase(Amount.BARE)]
        while self._continues():
            phrases.append(self._phrase(phrases[-1].amount))
        return Things(tuple(phrases))

    def _vague(self) -> Things | None:
        before = self._at
        while self._word() in VAGUE_OPENINGS:
            self._at += 1
        if self._at > before and self._word() in VAGUE_NOUNS:
            self._at += 1
            return Things(vague=True)
        self._at = before
        return None

    def _continues(self) -> bool:
        """Skips what joins two phrases; also accepts a missing comma."""
        before = self._at
        self._take(",")
        self._take("and")
        if self._starts_phrase():
            return True
        self._at = before
        return False

    def _phrase(self, inherited: Amount) -> Phrase:
        """One noun with its amount; "the" at the start of a list applies to following nouns."""
        amount: Amount | None = None
        number: int | None = None
        while True:
            if self._take("all"):
                amount = Amount.ALL
                self._take("of")
            elif self._take("both"):
                amount, number = Amount.ALL, 2
                self._take("of")
            elif self._word() in ARTICLES:
                word = self._word()
                self._at += 1
                amount = amount or _ARTICLE_AMOUNTS.get(word, Amount.THE)
            elif (found := self._number()) is not None:
                self._at += 1
                number = found
                amount = amount or Amount.ANY
            else:
                break
        noun = self._noun(NounKind.OBJECT)
        if noun is None:
            raise self._stop()
        self._at += 1
        if self._word() in {"items", "item"}:
            self._at += 1
        return Phrase(noun, amount or inherited, number)

    # Places.

    def _place(self) -> Place:
        definite = self._word() in {"the", "my", "their"}
        other, same = self._determiners()
        if self._take("floor"):
            return Place(floor=True, rooms=self._in_rooms())
        room = self._noun(NounKind.ROOM)
        furniture = self._noun(NounKind.FURNITURE, 0 if room is None else 1)
        if furniture is None:
            if room is None:
                raise self._stop()
            definite = definite and not other and not room.plural
            return Place(rooms=self._rooms(other), other=other, same=same, definite=definite)
        self._at += 1 if room is None else 2
        said = () if room is None else (RoomPhrase(room),)
        rooms = said or self._in_rooms()
        holder = self._holder()
        rooms = rooms or self._in_rooms()
        definite = definite and not other and not furniture.plural
        return Place(furniture, rooms, other, same, furniture.plural, definite, holder)

    def _determiners(self) -> tuple[bool, bool]:
        other = same = False
        while self._word() in ARTICLES | OTHER_WORDS | {"same"}:
            other = other or self._word() in OTHER_WORDS
            same = same or self._word() == "same"
            self._at += 1
        return other, same

    def _in_rooms(self) -> tuple[RoomPhrase, ...]:
        before = self._at
        if self._take("in") or self._take("of"):
            other, same = self._determiners()
            if not same and self._noun(NounKind.ROOM) is not None:
                return self._rooms(other)
        self._at = before
        return ()

    def _rooms(self, other: bool) -> tuple[RoomPhrase, ...]:
        found: list[RoomPhrase] = []
        while (room := self._noun(NounKind.ROOM)) is not None:
            self._at += 1
            found.append(RoomPhrase(room, other))
            if self._word() == "and" and self._noun(NounKind.ROOM, 1) is not None:
                self._at += 1
            else:
                break
        return tuple(found)

    def _holder(self) -> tuple[Phrase, ...]:
        before = self._at
        if self._take("that") or self._take("which"):
            if self._take("has") or self._take("have"):
                return self._things().phrases
        elif self._take("where"):
            things = self._things()
            if self._take("is") or self._take("are"):
                return things.phrases
        elif self._take("with"):
            return self._things().phrases
        self._at = before
        return ()


_ARTICLE_AMOUNTS = {"a": Amount.ANY, "an": Amount.ANY, "some": Amount.SOME}


def _relation(preposition: tuple[str, ...]) -> Relation:
    if preposition == ("to",):
        return Relation.TO
    inside = any(word in {"in", "into", "inside"} for word in preposition)
    return Relation.IN if inside else Relation.ON
