"""Clauses: commands however polite, wishes, statements of what should be, and prohibitions."""

from __future__ import annotations

from planner.language.drafts import Act, Do, Noun, Phrase, Pronoun, Way, Where
from planner.language.english import EDGE_FILLERS, VAGUE_RESULTS
from planner.language.frames import Dos, Frames
from planner.language.modifiers import opposite
from planner.language.objects import Segment
from planner.language.places import grouped
from planner.language.reading import AskReason
from planner.language.verbs import Form, Frame, verbs_at
from planner.language.words import Actor, Relation, Spot

_TO_DO = (
    "could you", "can you", "would you", "will you", "could you possibly", "i would like you to", "i want you to",
    "i need you to", "i would love you to", "i would love for you to", "would you be so kind as to",
    "would you be kind enough to", "be so kind as to", "be a dear and", "be a darling and", "be an angel and",
    "be kind enough to", "do me a favour and", "do me a favor and", "would you do me a favour and",
    "could you do me a favor and", "do not forget to", "remember to", "do remember to", "make sure to", "be sure to",
    "make sure you", "make sure that you", "make certain to", "feel free to", "it is time to", "try to", "go ahead and",
    "let us", "why do not you", "you should", "you must", "you can", "you could", "you may", "you have to",
    "you need to", "you might want to", "you are to", "you had better", "help me to", "help me", "i ask you to",
    "may i ask you to", "i would ask you to", "i would appreciate it if you could", "i would be grateful if you could",
    "i would be happy if you could", "it would be great if you could", "it would be nice if you could",
    "it would be lovely if you could", "it would be good if you could", "i wonder if you could", "i was wondering if you could",
    "i was hoping you could", "i was wondering whether you could", "would it be possible to", "is it possible to",
    "would it be possible for you to", "could i ask you to", "can i ask you to", "please see that you",
    "do you think you could", "you will need to", "your job is to", "your task is to", "the task is to", "we need to",
    "we have to", "we should", "we must", "would you please", "would you kindly", "do", "i need to have you", "to",
    "might you", "if you could", "be sure that you", "you are going to", "i would be glad if you could",
    "it would be wonderful if you could", "it would help if you could", "would you be able to", "are you able to",
    "your turn to", "could i get you to", "can i get you to", "time to", "you would better", "be good and",
    "i expect you to", "see that you", "you ought to", "i would prefer you to", "be a good robot and", "be a love and",
)  # fmt: skip
_DOING = (
    "would you mind", "do you mind", "start by", "begin by", "begin with", "start with", "how about", "what about",
    "i would appreciate you", "would you object to", "i would not mind you", "start off by", "finish by",
    "finish off by", "end by", "continue by",
)  # fmt: skip
_SHALL_BE = (
    "make sure that", "make sure", "see to it that", "see that", "ensure that", "ensure", "make certain that", "check that",
    "be sure that", "i want", "i would like", "i would love", "i need", "i would prefer", "i would rather have",
    "it would be great if", "it would be nice if", "it would be lovely if", "it would be good if", "i would be happy if",
    "it would be wonderful if", "i would appreciate it if", "i would be grateful if", "i wish", "it is important that",
    "please have", "let", "i would like it if", "i want to have", "i would like to have", "we need", "we want", "i prefer",
    "i would love to have", "it would be nice to have", "it would be great to have", "it would be good to have",
    "i want to see", "i would like to see", "what i want is", "what i need is", "all i want is", "i am after",
    "could i have", "can i have", "may i have", "could i get", "can i get", "could we have", "can we have", "could",
    "can", "might i have", "i could use", "i could do with", "i fancy", "there should be", "there must be", "there needs to be",
    "there has to be", "i expect", "we would like", "there have to be", "i am going to need", "i will need", "i require",
    "it would please me if", "it would be helpful if", "it would be best if", "would it be possible to have",
    "there ought to be", "make it so that", "i will have", "i will take", "i would like to get", "there need to be",
)  # fmt: skip
_TO_ME = frozenset({
    "i want", "i would like", "i would love", "i need", "could i have", "can i have", "may i have", "could i get",
    "can i get", "i could use", "i could do with", "i fancy", "might i have", "i am after", "i would like to have",
    "i will need", "i will have", "i will take", "i want to have", "we need", "i would like to get",
    "i am going to need", "we would like", "could we have", "can we have", "what i need is", "i require",
})  # fmt: skip
_MODALS = (
    "should be", "must be", "shall be", "can be", "may be", "could be", "ought to be", "has to be", "have to be", "needs to be",
    "need to be", "is to be", "are to be", "wants to be", "want to be", "should all be", "must all be", "should both be",
    "should get", "to be", "should also be", "might be", "would be better", "would better be", "is supposed to be",
    "are supposed to be", "should always be", "needs", "need", "had better be", "be", "must always be", "were", "was",
    "should now be", "are", "is", "will be", "would be", "gets", "get", "has been", "have been", "should have been",
    "are all", "is all", "must both be", "should really be", "should be all", "can all be", "may all be", "would like to be",
    "would", "must get", "need to get", "needs to get",
)  # fmt: skip
_BINDING = frozenset(_MODALS) - {"were", "was", "are", "is", "will be", "would be", "has been", "have been", "are all",
                                 "is all", "be", "to be", "gets", "get", "would", "should have been"}  # fmt: skip
_STATING = frozenset({"are", "is", "was", "were", "are all", "is all", "has been", "have been"})
_GOES = frozenset({
    "go", "goes", "belong", "belongs", "come", "comes", "lie", "stand", "stay", "sit", "hang", "remain", "live",
    "lives", "end up", "move", "return", "get", "rest",
})  # fmt: skip
_MAY_GO = (
    "should all", "should both", "should also", "should", "must", "has to", "have to", "needs to", "need to", "wants to",
    "want to", "can", "may", "could", "ought to", "shall", "are to", "is to", "might", "would like to", "are supposed to",
    "is supposed to", "can all", "will", "are going to", "had better", "is meant to", "are meant to",
)  # fmt: skip
_SPEAKER = (
    "i am going to", "i will", "i can", "i shall", "i have to", "i will just", "i am about to", "i could", "i want to",
    "i would like to", "i plan to", "let me", "i will be", "i am", "i have", "i had", "i must", "i should",
)  # fmt: skip
_WHO_DOES = {
    "my part is to": Actor.SPEAKER, "my part is": Actor.SPEAKER, "my job is to": Actor.SPEAKER, "mine is to": Actor.SPEAKER,
    "my job is": Actor.SPEAKER, "my task is to": Actor.SPEAKER, "mine is": Actor.SPEAKER, "my task is": Actor.SPEAKER,
    "yours is to": Actor.ROBOT, "yours is": Actor.ROBOT, "your part is to": Actor.ROBOT, "your part is": Actor.ROBOT,
    "your job is to": Actor.ROBOT, "your job is": Actor.ROBOT, "your task is to": Actor.ROBOT, "your task is": Actor.ROBOT,
    "leave it to me to": Actor.SPEAKER,
}  # fmt: skip
_NOT = (
    "please do not", "do not you dare", "do not ever", "do not", "never ever", "never", "you must not", "you should not",
    "you may not", "must not", "you are not allowed to", "you are not to", "you cannot", "make sure not to",
    "be careful not to", "make sure you do not", "make sure that you do not", "try not to", "you better not",
    "i do not want you to", "be sure not to", "take care not to", "on no account", "under no circumstances", "not to",
    "i would rather you did not", "you should never", "you must never", "you can not", "just do not", "whatever you do do not",
    "you do not need to", "you do not have to", "no need to",
)  # fmt: skip
_NOT_DOING = ("without", "avoid", "refrain from", "stop short of", "instead of")
_ALL_FORMS = frozenset(Form)
_BASE = frozenset({Form.BASE})


class Clauses(Frames):
    """Reads one clause as requests. `last` keeps what a later part of the sentence leaves out."""

    def clause(self, at: int) -> Dos | None:
        """The requests of a clause that begins at a word."""
        i = self.skip(at)
        if i >= self._source.size:
            return None
        return (
            self._negative(i) or self._polite(i) or self._who_does(i) or self._wish(i)
            or self.verb_phrase(i, _BASE) or self._speaker(i) or self._robot(i) or self._existing(i) or self._statement(i)
        )  # fmt: skip

    def skip(self, at: int) -> int:
        """The position after words that change nothing."""
        i = at
        while (end := self._source.longest(i, EDGE_FILLERS)) or (i > at and self._source.word(i) == ","):
            if end and (self._source.longest(i, _POLITE_WORDS) > end or self._source.longest(i, _WISH_WORDS) > end
                        or self._source.longest(i, _DOING_WORDS) > end):
                break
            i = end or i + 1
        return i

    def _polite(self, at: int) -> Dos | None:
        """"Could you ...", "would you mind ...ing"."""
        source = self._source
        end = source.longest(at, _POLITE_WORDS)
        if end:
            i = self.skip(end)
            if found := (self._negative(i) if source.word(end) == "not" else None) or self.verb_phrase(i, _BASE) or self._polite(i):
                return found
        if end := source.longest(at, _DOING_WORDS):
            i = self.skip(end)
            i += source.word(i) in ("your", "to")
            if found := self.verb_phrase(i, {Form.ING}):
                return found
            # "Start with the plates": no.
        return None

    def _who_does(self, at: int) -> Dos | None:
        """"My part is slicing the bread"."""
        source = self._source
        end = source.longest(at, _WHO_WORDS)
        if not end:
            return None
        found = self.verb_phrase(end, {Form.BASE, Form.ING})
        return self._by(_WHO_DOES[" ".join(source.words[at:end])], found)

    @staticmethod
    def _by(who: Actor, found: Dos | None) -> Dos | None:
        for do in found[0] if found else ():
            do.who = do.who or who
        return found

    def _speaker(self, at: int) -> Dos | None:
        """"I will ..."; not "I have two cups"."""
        source = self._source
        for phrase in _SPEAKER:
            if end := source.starts(at, phrase):
                i = self.skip(end)
                forms = {Form.ING} if phrase in ("i am", "i will be") else {Form.PAST} if phrase in ("i have", "i had") else _BASE
                found = self.verb_phrase(i, forms)
                if found and all(do.act in (Act.MOVE, Act.MAKE, Act.PREPARE) for do in found[0]):
                    return self._by(Actor.SPEAKER, found)
        return None

    def _robot(self, at: int) -> Dos | None:
        """"You handle the toys", "you have washed the cup"."""
        source = self._source
        if source.word(at) != "you":
            return None
        i = self.skip(at + 1)
        for auxiliary, forms in (
            ("have", {Form.PAST}), ("are done", {Form.ING}), ("have finished", {Form.ING}), ("are finished", {Form.ING}),
            ("finish", {Form.ING}), ("are", {Form.ING}), ("will", _BASE), ("had", {Form.PAST}), ("would", _BASE),
            ("finished", {Form.ING}), ("are finished with", {Form.ING}), ("are done with", {Form.ING}),
        ):  # fmt: skip
            if end := source.starts(i, auxiliary):
                if found := self.verb_phrase(self.skip(end), forms):
                    return self._by(Actor.ROBOT, found)
        return self._by(Actor.ROBOT, self.verb_phrase(i, {Form.BASE, Form.PAST}))

    def _negative(self, at: int) -> Dos | None:
        """Prohibitions."""
        source = self._source
        if end := source.longest(at, _NOT_WORDS):
            if source.starts(at, "do not forget", "do not hesitate"):
                return None
            return self._forbidden(self.skip(end), _BASE)
        if end := source.starts(at, *_NOT_DOING):
            return self._forbidden(end, {Form.ING})
        return None

    def _forbidden(self, at: int, forms: frozenset[Form] | set[Form]) -> Dos | None:
        source = self._source
        best: Dos | None = None
        for found in verbs_at(source.words, at):
            if not found.forms & forms:
                continue
            rule = self.touch if found.verb.frame is Frame.TOUCH else None
            i = at + found.length
            read = rule(found.verb, at, i, None) if rule else self._frame(found.verb, at, i, None)
            if read and (best is None or read[1] > best[1]):
                best = read
        if best is None and source.word(at) == "let":
            return None
        if best is None:
            return None
        return [do for each in best[0] for do in [forbidden(each)] if do] or None, best[1]  # type: ignore[return-value]

    def _wish(self, at: int) -> Dos | None:
        """"I want the toolbox in the garage", "make sure the microwave is off"."""
        source = self._source
        end = source.longest(at, _WISH_WORDS)
        if not end:
            return None
        words = " ".join(source.words[at:end])
        i = self.skip(end)
        if found := self._robot(i):
            for do in found[0]:
                do.who = None
            return found
        if found := self.statement(i, wish=True):
            return found
        if words in ("can", "could", "let"):
            return None
        segments = self.objects(i)
        if segments is None:
            return None
        parts, end = segments
        if self._no_targets(parts) and not any(p.wheres for p in parts[:-1]):
            if result := self.result(end, parts, at):
                return result
        if any(p.wheres or p.arrangement for p in parts):
            if all(w.way is Way.FROM for p in parts for w in p.wheres) and words not in _TO_ME:
                return None
            placed = self.placed(parts, static=True)
            if all(p.to or p.arrangement for p in placed):
                return [self.move(p, at, end) for p in placed], end
            return None
        if words not in _TO_ME:
            return None
        things = self.attach(parts)
        return [Do(Act.MOVE, things, at, end, [Where(Relation.AT, Spot.ME, Way.TO, at, end)])], end

    def _wishes(self, at: int) -> bool:
        """Whether a clause begins with words such as "make sure that"."""
        return self._source.longest(self.skip(at), _WISH_WORDS) > at + 1

    def _existing(self, at: int) -> Dos | None:
        """"There is a pan on the stove", "see the umbrella next to the bench?"."""
        source = self._source
        i = source.starts(
            at, "there is", "there are", "there is still", "there are still", "you see", "do you see", "you know",
            "there are some", "there might be", "there may be", "i can see", "i see", "i believe there is", "i have",
            "i think there is", "i think there are", "i believe there are", "there seems to be", "we have", "i noticed",
            "i have noticed", "you will find", "there seem to be", "i have found", "there was", "there were",
            "do you remember", "you remember", "remember", "see", "where is", "where are",
        )  # fmt: skip
        if not i:
            return None
        i += source.word(i) == "still"
        segments = self.objects(i)
        if segments is None or not self._no_targets(segments[0]):
            return None
        things = self.attach(segments[0])
        for thing in things[:-1]:
            if isinstance(thing, Noun) and isinstance(last := things[-1], Noun) and not thing.where:
                thing.where = list(last.where)
        for thing in things:
            if isinstance(thing, Noun) and not thing.plural and thing.count == 1:
                thing.definite = True
            elif isinstance(thing, Noun) and isinstance(thing.count, int):
                thing.definite = True
        if source.word(segments[1]) in ("that", "which") and source.starts(segments[1] + 1, "need", "needs", "should", "must", "has to", "have to"):
            done = self._predicate_of(segments[1] + 1, things, at, wish=False)
            if done:
                return done
        return [Do(Act.MENTION, things, at, segments[1])], segments[1]

    def _statement(self, at: int) -> Dos | None:
        return self.statement(at, wish=False)

    def statement(self, at: int, *, wish: bool) -> Dos | None:
        """"The plates should be on the table", "the doll goes into the basket"."""
        source = self._source
        if found := self._left_somewhere(at):
            return found
        neither = source.word(at) == "neither"
        segments = self.objects(at + (neither or source.word(at) == "both" and source.word(at + 1) == "the"), subject=True)
        if segments is None or neither:
            return None
        parts, end = segments
        if any(isinstance(thing, Pronoun) and part.wheres for part in parts for thing in part.things):
            return None
        if not self._no_targets(parts) or source.word(end) == "not":
            return None
        things = self.attach(parts)
        i = end
        while source.word(i) in ("all", "both", "just", "really", "also", "still", "too", "now") and source.word(i + 1) in (
            "should", "must", "need", "needs", "go", "goes", "belong", "belongs", "are", "is", "have", "has"
        ):
            i += 1
        return self._predicate_of(i, things, at, wish=wish)

    def _predicate_of(self, i: int, things: list[Phrase], at: int, *, wish: bool) -> Dos | None:
        """What a clause says of its subject."""
        source = self._source
        if source.word(i) in ("should", "must", "may", "shall") and source.starts(i + 1, "not be", "never be"):
            found = self._becomes(i + 3, things, at)
            return self._kept_from(found) if found else None
        for phrase in _MAY_GO_SORTED:
            if (end := source.starts(i, phrase)) and (found := self._goes(self.skip(end), things, at)):
                return found
        if found := self._goes(i, things, at):
            return found
        end = source.longest(i, _MODAL_WORDS)
        if looks := source.starts(i, "would look", "would be", "looks", "look", "would feel"):
            if source.word(looks) in VAGUE_RESULTS | {"lovely"} and (wheres := self.places(looks + 1))[0]:
                to = grouped(wheres[0], unsure=True)
                return [Do(Act.MENTION, list(things), at, wheres[1], to)], wheres[1]
        if not end:
            return None
        modal = " ".join(source.words[i:end])
        i = end
        if modal in ("need", "needs"):
            return self._needs(i, things, at)
        negated = source.word(i) in ("not", "never")
        i += negated
        i = self.skip(i) if source.word(i) != "up" else i
        while source.word(i) in ("all", "both", "also", "always", "currently", "still", "really", "either"):
            i += 1
        binding = wish or modal in _BINDING
        if (found := self._becomes(i, things, at)) is None:
            return None
        if not binding:
            if negated:
                return None
            return self._told(found, things, modal)
        if negated:
            return self._kept_from(found)
        return found

    @staticmethod
    def _kept_from(found: Dos) -> Dos | None:
        """"Should not be on" is off; what has no opposite is forbidden."""
        kept: list[Do] = []
        for do in found[0]:
            if do.act is Act.MAKE and all(map(opposite, do.states)):
                do.states = [opposite(state) for state in do.states]
                kept.append(do)
            elif other := forbidden(do):
                kept.append(other)
        return (kept, found[1]) if kept else None

    def _told(self, found: Dos, things: list[Phrase], modal: str) -> Dos | None:
        """What is stated as a fact describes the things."""
        if modal not in _STATING:
            return None
        dos, end = found
        for do in dos:
            described = [t for t in do.things if isinstance(t, Noun)]
            for thing in described:
                thing.states += do.states
                thing.where += do.to
                if modal in ("has been", "have been") and do.act is Act.MOVE:
                    return None
        return [Do(Act.MENTION, list(things), dos[0].start, end, taken=False)], end

    def _becomes(self, i: int, things: list[Phrase], at: int) -> Dos | None:
        """A state, participle or place behind a form of "be"."""
        source = self._source
        candidates = [self.verb_phrase(i, {Form.PAST}, list(things)), self.result(i, [Segment(list(things))], at)]
        reading = max((c for c in candidates if c), key=lambda c: c[1], default=None)
        if reading is not None:
            for do in reading[0]:
                do.start = at
            return reading
        arrangement = self.arrangement(i)
        spread, j = arrangement if arrangement else (None, i)
        wheres, end = self.places(j)
        if spread is None and (late := self.arrangement(end + (source.word(end) == ","))):
            spread, end = late
        if not wheres and spread is None:
            return None
        if any(where.way is Way.FROM for where in wheres):
            if len(wheres) != 1 or spread is not None:
                return None
            for thing in things:
                if isinstance(thing, Noun):
                    thing.where.append(wheres[0])
            wheres = [Where(Relation.AT, Spot.ELSEWHERE, Way.TO, i, end)]
        return [Do(Act.MOVE, list(things), at, end, grouped(wheres, unsure=True), arrangement=spread)], end

    def _goes(self, i: int, things: list[Phrase], at: int) -> Dos | None:
        source = self._source
        end = source.starts(i, *sorted(_GOES, key=len, reverse=True))
        if not end:
            return None
        spread = self.arrangement(end)
        wheres, after = self.places(spread[1] if spread else end)
        if spread is None and (late := self.arrangement(after + (source.word(after) == ","))):
            spread, after = late
        if not wheres and spread is None or any(w.way is Way.FROM for w in wheres):
            return None
        kind = spread[0] if spread else None
        return [Do(Act.MOVE, list(things), at, after, grouped(wheres, unsure=True), arrangement=kind)], after

    def _needs(self, i: int, things: list[Phrase], at: int) -> Dos | None:
        """"The dishes need washing", "the plants need some water"."""
        source = self._source
        if found := self.verb_phrase(i, {Form.ING}, list(things)):
            if all(do.act in (Act.MAKE, Act.PREPARE, Act.MOVE) for do in found[0]):
                return found
        j = source.starts(i, "a quick", "a good", "a", "some", "a little", "a thorough", "a proper") or i
        state = {"wash": "clean", "clean": "clean", "rinse": "clean", "wipe": "clean", "water": "watered", "dusting": "dusted",
                 "scrub": "clean", "cleaning": "clean", "watering": "watered", "washing": "clean", "dust": "dusted"}.get(source.word(j))  # fmt: skip
        if state:
            return self._make(list(things), [state], at, j + 1)
        if source.word(i) in ("moving", "sorting"):
            raise source.ask(AskReason.WHERE, at, i - 1)
        return None

    def _left_somewhere(self, at: int) -> Dos | None:
        """"I left the phone in the kitchen": says where things are."""
        source = self._source
        subject = source.starts(at, "i", "we", "everyone", "everybody", "someone", "somebody", "the kids", "the children", "you", "he", "she",
                                "they", "my kids", "people", "my wife", "my husband", "our guests", "the guests")  # fmt: skip
        if not subject:
            return None
        i = source.starts(subject, "keeps", "keep", "always", "have just", "has just", "have", "has", "just", "must have", "might have",
                          "think i", "think we", "had", "accidentally", "may have") or subject  # fmt: skip
        if source.word(i) not in ("left", "leaving", "put", "forgot", "dropped", "leaves", "putting", "forgotten", "placed", "saw", "seen"):
            return None
        segments = self.objects(i + 1)
        if segments is None or not self._no_targets(segments[0]) or not any(p.wheres for p in segments[0]):
            return None
        things = self.attach(segments[0])
        for thing in things:
            if isinstance(thing, Noun) and isinstance(thing.count, int):
                thing.definite = True
        return [Do(Act.MENTION, things, at, segments[1])], segments[1]


def forbidden(do: Do) -> Do | None:
    """A request turned into a prohibition."""
    match do.act:
        case Act.LEAVE:
            return do
        case Act.MOVE if do.taken:
            do.act, do.to = Act.LEAVE, []
        case Act.MOVE | Act.MAKE:
            do.act = Act.NEVER
        case Act.MENTION:
            do.act = Act.LEAVE
        case _:
            return None
    return do


def _split(several: tuple[str, ...] | frozenset[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in several)


_POLITE_WORDS, _DOING_WORDS, _WISH_WORDS = _split(_TO_DO), _split(_DOING), _split(_SHALL_BE)
_NOT_WORDS, _MODAL_WORDS = _split(_NOT), _split(_MODALS)
_WHO_WORDS = _split(tuple(_WHO_DOES))
_MAY_GO_SORTED = sorted(_MAY_GO, key=len, reverse=True)
__all__ = ["Clauses", "Pronoun", "forbidden"]
