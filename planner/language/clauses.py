"""Clauses: commands however polite, wishes and prohibitions."""

from __future__ import annotations

from planner.language.drafts import Act, Do, Either, Noun, Phrase, Way, Where
from planner.language.english import (
    DOING,
    GUESSED,
    NOT,
    NOT_DOING,
    POINTING,
    ROBOT_DID,
    ROBOT_DOES,
    ROBOT_DOING,
    SHALL_BE,
    SPEAKER,
    SPEAKER_DID,
    SPEAKER_DOING,
    TO_DO,
    TO_ME,
    WEAK_WISHES,
    meanings,
)
from planner.language.lexicon import Actor, Relation, Spot
from planner.language.places import belongs
from planner.language.reading import AskReason
from planner.language.state_frames import Dos
from planner.language.statements import Statements, forbidden
from planner.language.verbs import Form, Frame, Verb, verbs_at

_WHO_DOES = {said: Actor(who) for said, who in meanings("who does").items()}
_WHO_WORDS = frozenset(_WHO_DOES)
_BASE = frozenset({Form.BASE})


class Clauses(Statements):
    """Reads one clause as requests."""

    def clause(self, at: int) -> Dos | None:
        """The requests of a clause that begins at a word."""
        i = self.skip(at)
        if i >= self._source.size:
            return None
        return (
            self._pointed_out(at) or self._negative(i) or self.hands_off(i) or self._polite(i)
            or self._who_does(i) or self._wish(i) or self.verb_phrase(i, _BASE)
            or self.shared_object(i) or self._speaker_did(i) or self._speaker(i)
            or self._robot(i) or self._use(i) or self._existing(i)
            or self.statement(i, wish=False) or self._inverted(i) or self._drinks(i)
        )  # fmt: skip

    def _pointed_out(self, at: int) -> Dos | None:
        """Reads "You know the shirts on the chair?" before what is to be done with them."""
        source = self._source
        if not source.longest(at, POINTING):
            return None
        if (found := self._existing(at)) is None or source.word(found[1]) != "?":
            return None
        return found if source.size > found[1] + 1 else None

    def _polite(self, at: int) -> Dos | None:
        """Reads "Could you ...", "would you mind ...ing"."""
        source = self._source
        if end := source.longest(at, TO_DO):
            i = self.skip(end)
            if (
                found := (self._negative(i) if source.word(end) == "not" else None)
                or self.verb_phrase(i, _BASE)
                or self._polite(i)
                or self._wish(i)
            ):
                return self._by(Actor.ROBOT, found) if "you" in source.words[at:end] else found
        if end := source.longest(at, DOING):
            i = self.skip(end)
            i += source.word(i) in ("your", "to")
            if found := self.verb_phrase(i, {Form.ING}):
                return found
            # "Start with the plates": no.
        return None

    def _who_does(self, at: int) -> Dos | None:
        """Reads "My part is slicing the bread"."""
        source = self._source
        if not (end := source.longest(at, _WHO_WORDS)):
            return None
        found = self.verb_phrase(end, {Form.BASE, Form.ING})
        return self._by(_WHO_DOES[source.words[at:end]], found)

    @staticmethod
    def _by(who: Actor, found: Dos | None) -> Dos | None:
        for do in found[0] if found else ():
            do.who = do.who or who
        return found

    def _speaker(self, at: int) -> Dos | None:
        """Reads "I will ..."; not "I have two cups"."""
        source = self._source
        for phrases_of, forms in (
            (SPEAKER, _BASE),
            (SPEAKER_DOING, frozenset({Form.ING})),
            (SPEAKER_DID, frozenset({Form.PAST})),
        ):
            if end := source.longest(at, phrases_of):
                i = self.skip(end)
                found = self.verb_phrase(i, forms)
                if found and any(_for_the_speaker(do) for do in found[0]):
                    # "I will get the kitchen one": what is done with it was said before.
                    continue
                if found and all(do.act in (Act.MOVE, Act.MAKE, Act.PREPARE) for do in found[0]):
                    return self._by(Actor.SPEAKER, found)
        return None

    def _speaker_did(self, at: int) -> Dos | None:
        """Reads "I have put the milk on the table": only says where it is."""
        if not self._source.longest(at, SPEAKER_DID) or not (found := self._speaker(at)):
            return None
        for do in found[0]:
            for thing in do.things if do.act is Act.MOVE else ():
                if isinstance(thing, Noun):
                    thing.where += do.to
            do.act, do.to, do.states, do.who = Act.MENTION, [], [], None
        return found

    def _use(self, at: int) -> Dos | None:
        """Reads "use the sponge to clean the table"."""
        tools, end = self.tools(at + 1) if self._source.word(at) == "use" else ([], 0)
        if not tools or self._source.word(end) != "to":
            return None
        found = self.verb_phrase(end + 1, _BASE)
        for do in found[0] if found else ():
            do.tools += tools
        return found

    def _robot(self, at: int) -> Dos | None:
        """Reads "You handle the toys", "you have washed the cup"."""
        source = self._source
        if source.word(at) != "you":
            return None
        i = self.skip(at + 1)
        for auxiliaries, forms in (
            (ROBOT_DID, frozenset({Form.PAST})),
            (ROBOT_DOING, frozenset({Form.ING})),
            (ROBOT_DOES, _BASE),
        ):
            end = source.longest(i, auxiliaries)
            if end and (found := self.verb_phrase(self.skip(end), forms)):
                return self._by(Actor.ROBOT, found)
        return self._by(Actor.ROBOT, self.verb_phrase(i, {Form.BASE, Form.PAST}))

    def _negative(self, at: int) -> Dos | None:
        """Prohibitions."""
        source = self._source
        if end := source.longest(at, NOT):
            if source.starts(at, "do not forget", "do not hesitate"):
                return None
            return self._forbidden(self.skip(end), _BASE)
        if end := source.longest(at, NOT_DOING):
            return self._forbidden(end, {Form.ING})
        return None

    def _forbidden(self, at: int, forms: frozenset[Form] | set[Form]) -> Dos | None:
        source = self._source
        best: Dos | None = None
        if end := source.starts(at, "worry about"):
            # "Do not worry about the pan, I will wash it" forbids nothing.
            if (spared := self.objects(end)) is None:
                return None
            return [Do(Act.MENTION, self.attach(spared[0]), at, spared[1])], spared[1]
        for found in verbs_at(source.words, at):
            if not found.forms & forms:
                continue
            rule = self.touch if found.verb.frame is Frame.TOUCH else None
            i = at + found.length
            read = rule(found.verb, at, i, None) if rule else self._frame(found.verb, at, i, None)
            if read and (best is None or read[1] > best[1]):
                best = read
        if best is None:
            return None
        if source.word(at) in ("leave", "leaving"):
            if all(do.act is Act.MAKE for do in best[0]):
                # "Do not leave the lights on".
                return self._kept_from(best)
            if source.word(best[1] - 1) not in ("alone", "untouched", "is", "are"):
                # "Do not leave the cups in the sink".
                raise source.ask(AskReason.WHERE, at, best[1])
        for do in best[0]:
            do.things = _each_of(do.things)
        kept = [other for do in best[0] if (other := forbidden(do)) is not None]
        return (kept, best[1]) if kept else None

    def _wish(self, at: int) -> Dos | None:
        """Reads "I want the toolbox in the garage", "make sure the microwave is off"."""
        source = self._source
        if not (end := source.longest(at, SHALL_BE)):
            return None
        words = source.words[at:end]
        i = self.skip(end)
        if words == ("see", "that") and source.words[-1] == "?":
            # "See that mug next to the pot?"
            return None
        if found := self._robot(i):
            for do in found[0]:
                do.who = None
            return found
        if found := self.statement(i, wish=True):
            return found
        if words in TO_ME and (drink := self.brew(Verb("make", Frame.BREW), at, i, None)):
            # "I would like coffee for two"; not "... a cup of coffee: fill one".
            return drink if source.word(drink[1]) != ":" else None
        guess = words in GUESSED
        if words in WEAK_WISHES:
            return None
        if (segments := self.objects(i)) is None:
            return None
        parts, end = segments
        ahead = source.words[end:]
        if words[-1] == "take" and ("you" in ahead or any(p.wheres for p in parts)):
            # "I will take the cup" wants it, "I will take it to the sink" says who does.
            return None
        if not any(p.wheres for p in parts[:-1]) and (result := self.result(end, parts, at)):
            return result
        if self._no_targets(parts) and any(
            Form.PAST in found.forms for found in verbs_at(source.words, end)
        ):
            # "I need the tray, the one on the stove, brought to the hall".
            done = self.verb_phrase(end, {Form.PAST}, self.attach(parts))
            if done and all(do.act is Act.MOVE and do.to for do in done[0]):
                return done
            if done and all(do.act is Act.MENTION and do.taken for do in done[0]):
                # "I would like the globe moved".
                raise source.ask(AskReason.WHERE, at, done[1])
        from_there = all(
            w.way is Way.FROM or (p.wheres[0].way is Way.FROM and belongs(p.wheres[0], w))
            for p in parts for w in p.wheres
        )  # fmt: skip
        if any(p.wheres or p.arrangement for p in parts) and not (
            from_there and words in TO_ME and not any(p.arrangement for p in parts)
        ):
            if all(w.way is Way.FROM for p in parts for w in p.wheres) and words not in TO_ME:
                return None
            placed = self.placed(parts, static=True)
            if all(p.to or p.arrangement for p in placed):
                moves = [self.move(p, at, end) for p in placed]
                for do in moves:
                    do.guess = guess
                return moves, end
            return None
        if words not in TO_ME:
            return None
        things = self.attach(parts)
        return [Do(Act.MOVE, things, at, end, [Where(Relation.AT, Spot.ME, Way.TO, at, end)])], end

    def _inverted(self, at: int) -> Dos | None:
        """Reads "Could the radio please live on the shelf?", "can the lamp be off?"."""
        source = self._source
        if source.word(at) not in ("can", "could", "should", "may", "might", "shall", "would"):
            return None
        segments = self.objects(at + 1, subject=True)
        if segments is None or not self._no_targets(segments[0]):
            return None
        things, i = self.attach(segments[0]), self.skip(segments[1])
        return self._goes(i, things, at) or (
            self._becomes(i + 1, things, at) if source.word(i) in ("be", "get") else None
        )

    def _wishes(self, at: int) -> bool:
        """Whether a clause begins with words such as "make sure that"."""
        start = self.skip(at)
        end = self._source.longest(start, SHALL_BE)
        return bool(end) and self._source.words[start:end] not in WEAK_WISHES


def _each_of(things: list[Phrase]) -> list[Phrase]:
    """What a prohibition names: "never bring scissors or knives" forbids both."""
    named: list[Phrase] = []
    for thing in things:
        named += thing.options if isinstance(thing, Either) else [thing]
    return named


def _for_the_speaker(do: Do) -> bool:
    """Whether something unnamed is only fetched, which speakers do not do for themselves."""
    unnamed = any(isinstance(thing, Noun) and not thing.kind for thing in do.things)
    return do.taken and unnamed and any(where.anchor is Spot.ME for where in do.to)
