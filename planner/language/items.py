"""One thing of a list, what joins it to the next, and what is left out."""

from __future__ import annotations

from planner.language.drafts import Either, Noun, Phrase, Pronoun, Way
from planner.language.english import CHOICE, FILLERS, NUMBERS, PREPOSITION_WORDS, THE
from planner.language.fitness import includes
from planner.language.modifiers import EXCEPT, Modified
from planner.language.places import grouped
from planner.language.reading import AskReason
from planner.language.verbs import Form, verbs_at
from planner.language.words import Amount, Spot

_AND = (
    "including",
    "and also",
    "and then also",
    "and",
    "as well as",
    "along with",
    "together with",
    "plus",
)
# After these a noun phrase was the subject of a clause of its own.
PREDICATES = frozenset({
    "stay", "remain", "remains",
    "should", "must", "shall", "can", "may", "could", "might", "ought", "has", "have", "needs",
    "need",
    "is", "are", "wants", "want", "would", "will", "goes", "go", "belongs", "belong", "comes",
    "come",
    "deserves", "deserve", "gets", "was", "were", "looks", "look", "requires", "require", "stays",
})  # fmt: skip
_PLURAL_PREDICATES = frozenset({"go", "belong", "are", "have", "need", "come", "want", "stay"})


class Items(Modified):
    """Reads the parts of lists."""

    def item(self, at: int) -> tuple[Phrase, int] | None:
        """A noun phrase that cannot be the beginning of a clause."""
        source = self._source
        if source.word(at) == "can" and source.word(at + 1) in ("you", "i", "we"):
            return None
        either = source.word(at) == "either"
        found = self.described(at + either)
        if found is None:
            return None
        if isinstance(found[0], Noun) and source.word(found[1]) == "or":
            other = self.described(found[1] + 1)
            if other is None or not isinstance(other[0], Noun):
                return None
            return Either([found[0], other[0]], at, other[1]), other[1]
        if either:
            return None
        if isinstance(found[0], Noun) and found[0].bare and not found[0].plural:
            placed = source.longest(found[1], PREPOSITION_WORDS) > 0
            verbal = any(
                Form.BASE in v.forms and at + v.length >= found[1] + placed
                for v in verbs_at(source.words, at)
            )
            if verbal or source.word(found[1]) in THE | {"a", "an", "it", "them", "all"}:
                return None
        return found

    def _joined(self, at: int) -> int:
        """The position after "and" or a comma in a list; 0 if the list ends."""
        source = self._source
        i = at + (source.word(at) == ",")
        if source.longest(i, CHOICE):
            return 0
        for word in (" too", " as well", " also"):
            if end := source.starts(i, word.strip()):
                i = end + (source.word(end) == ",")
                break
        end = source.starts(i, *_AND)
        if not end:
            return i if i > at and source.word(i - 1) == "," else 0
        for filler in ("also", "both", "maybe", "finally", "even"):
            if source.word(end) == filler and filler != "both":
                end += 1
        return end

    def _exceptions(self, at: int, things: list[Phrase]) -> int:
        """Reads "Except the red one", added to what it is an exception from."""
        source = self._source
        i = at + (source.word(at) == ",")
        if also := source.starts(i, "not just", "not only", "and not just", "and not only"):
            # "All of the books, not just the new ones".
            more = self.item(also)
            every = all(isinstance(t, Noun) and t.count is Amount.ALL for t in things)
            return more[1] + (source.word(more[1]) == ",") if more and things and every else at
        free = self._freely(i, things)
        i += free
        end = source.starts(i, *EXCEPT, "all but", "all except")
        if end and (left := NUMBERS.get(source.word(end))) and not self.item(end):
            # "The books, all but two".
            for thing in things:
                if isinstance(thing, Noun) and thing.count is Amount.ALL:
                    thing.but.append(Noun(thing.kind, end, end + 1, left > 1, left))
            return end + 1
        if (
            not end
            and source.starts(i, "but")
            and not source.longest(i + 1, FILLERS)
            and (free or any(isinstance(t, Noun) and t.count is Amount.ALL for t in things))
        ):
            end = i + 1 if self.item(i + 1) else 0
        instead = 0 if end else source.starts(i, "not", "and not", "rather than", "instead of")
        end = end or (instead if i > at or source.word(i) != "not" else 0)
        if not end:
            return at
        found = self.item(end)
        if found is None or (source.word(found[1]) in PREDICATES and source.word(i) == "but"):
            return at
        _, placed = self.places(found[1])
        if source.word(i) == "but" and placed > found[1] and source.word(placed) in PREDICATES:
            one = isinstance(found[0], Noun) and found[0].count == 1
            if not one or source.word(placed) not in _PLURAL_PREDICATES:
                # "All lamps off, but the one on the desk should be on."
                return at
        contrasted = source.word(end - 1) != "from" and "not" in source.words[i:end]
        contrasted = contrasted or (end == instead and bool(instead))
        out, i = [found[0]], found[1]
        if isinstance(out[0], Pronoun) and out[0].word in ("those", "these", "ones"):
            out[0] = Noun("", end, i, plural=True, count=Amount.ALL)
        if wheres := self.places(i)[0]:
            anchored = [w for w in wheres if w.way is Way.STATIC]
            if (
                len(anchored) == len(wheres)
                and isinstance(out[0], Noun)
                and not any(w.anchor is None or isinstance(w.anchor, Spot) for w in wheres)
                and (
                    source.word(self.places(i)[1]) not in PREDICATES
                    or source.word(i - 1) in ("one", "ones", "those", "these")
                )
                and things
                and (self._placed_before(things) or not out[0].kind)
            ):
                out[0].where += grouped(wheres, unsure=True)
                i = out[0].end = self.places(i)[1]
        while joined := self._joined(i):
            found = self.item(joined)
            if found is None or (source.word(found[1]) in PREDICATES and source.word(i) != "and"):
                break
            out.append(found[0])
            i = found[1]
        wholes = [t for t in things if isinstance(t, Noun) and t.count is Amount.ALL and t.kind]
        for noun in out if wholes and not contrasted else ():
            if isinstance(noun, Noun) and noun.kind and not any(
                includes(t.kind, noun.kind) or includes(noun.kind, t.kind) for t in wholes
            ):  # fmt: skip
                # "All the cups but only one plate" leaves nothing out.
                raise source.unknown(end - 1, noun.end)
        if source.word(i) == "," and (self.place(i + 1) or source.word(i + 1) in PREDICATES):
            i += 1
        chosen = [thing for thing in things if isinstance(thing, Noun) and _is_open(thing)]
        if len(chosen) > 1 and any(not noun.kind for phrase in out for noun in _options(phrase)):
            # "A cup and a plate, just not the red one".
            raise source.ask(AskReason.WHICH, end, i)
        for thing in things:
            if isinstance(thing, Noun) and _is_open(thing) and _kinds_within(thing, out):
                # "A fruit, anything but a banana", "a cup, just not the red one".
                thing.but += _every(out, thing.kind)
            elif isinstance(thing, Noun) and thing.count is not Amount.ALL:
                # Nothing is left out of "the green cushion, not the red one", but may be of what
                # is on "the shelf except the vase".
                (thing.instead_of if contrasted else thing.but).extend(out)
            elif isinstance(thing, Noun):
                for noun in out:
                    if isinstance(noun, Noun) and not noun.kind:
                        noun.kind = thing.kind
                thing.but += [
                    n
                    for n in out
                    if not contrasted
                    or not isinstance(n, Noun)
                    or not n.kind
                    or includes(thing.kind, n.kind)
                ]
        return i

    def _freely(self, at: int, things: list[Phrase]) -> bool:
        """Whether "anything" or "any" before an exception only says that the choice is free."""
        source = self._source
        if source.word(at - 1) != "," or source.word(at) not in ("anything", "any"):
            return False
        chosen = any(isinstance(thing, Noun) and _is_open(thing) for thing in things)
        return chosen and bool(source.starts(at + 1, *EXCEPT, "but"))

    @staticmethod
    def _placed_before(things: list[Phrase]) -> bool:
        return all(isinstance(thing, Noun) and thing.where for thing in things)


def _is_open(thing: Noun) -> bool:
    """Whether any of several will do: "a cup", "some fruit"."""
    return thing.count is not Amount.ALL and not thing.definite and bool(thing.kind)


def _kinds_within(thing: Noun, out: list[Phrase]) -> bool:
    """Whether all exceptions are of the kind of a thing, and so can be exceptions from it."""
    kinds = [noun.kind for phrase in out for noun in _options(phrase)]
    return bool(kinds) and all(not kind or includes(thing.kind, kind) for kind in kinds)


def _options(phrase: Phrase) -> list[Noun]:
    if isinstance(phrase, Either):
        return phrase.options
    return [phrase] if isinstance(phrase, Noun) else []


def _every(out: list[Phrase], kind: str) -> list[Phrase]:
    """Exceptions from a free choice: "but a banana" leaves out every one."""
    found: list[Phrase] = []
    for noun in (noun for phrase in out for noun in _options(phrase)):
        noun.kind = noun.kind or kind
        if not noun.definite and noun.count == 1:
            noun.count, noun.bare = Amount.ALL, False
        found.append(noun)
    return found
