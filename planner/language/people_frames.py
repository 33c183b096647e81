"""Verbs of what is done with people: meet, tell, follow, guide, find, give."""

from __future__ import annotations

from collections.abc import Callable

from planner.language.drafts import Act, Do, Noun, Phrase, Way, Where, fresh_noun
from planner.language.english import meanings, phrases, products, words
from planner.language.frames import Frames
from planner.language.lexicon import PERSON, Amount, Pick, Relation, Spot, Topic
from planner.language.places import grouped, is_furniture
from planner.language.reading import AskReason
from planner.language.state_frames import Dos
from planner.language.verbs import Frame, Verb

_THEM = words("them they him her")
_ONE_OF_US = phrases("me|us|to me|to us")
_TOPICS = {said: Topic(topic) for said, topic in meanings("topics").items()}
_TOPIC_WORDS = frozenset(_TOPICS)
_TRAITS = {"name": Topic.NAME, "pose": Topic.POSTURE, "posture": Topic.POSTURE,
           "gesture": Topic.GESTURE}  # fmt: skip
_LOOKS = {"color": Topic.COLOR, "colour": Topic.COLOR, "material": Topic.MATERIAL}
_WHAT_IS = products("what|which|which one", "is|are")
_HOW_MANY = products("how many|the number of|what number of|how much")
_ARE = products("there are|there is|are there|is there|are|is|that are|that is|do you see|you see",
                "all|currently|now|")  # fmt: skip
_QUESTION = products("the|a|their|his|her|any|all|one", "question|questions|quiz|quizzes|quizes")
_OF = phrases("of|from|by|asked by")
_TELLING_ONLY = words("tell show say check let report remember forget see mind be")


class PeopleFrames(Frames):
    """Reads verbs with people as requests; other objects leave them to the other rules."""

    def _frame(self, verb: Verb, start: int, i: int, given: list[Phrase] | None) -> Dos | None:
        rule = _RULES.get(verb.frame) if given is None else None
        found = rule(self, verb, start, i) if rule else None
        return found or super()._frame(verb, start, i, given)

    def person_before(self) -> Noun | None:
        """The person that "them" means; what knows that overrides this."""
        return None

    def _people(self, at: int) -> tuple[list[Phrase], int] | None:
        """One person, several, or those of whom was spoken before."""
        if self._source.word(at) in _THEM:
            before = self.person_before()
            return ([before], at + 1) if before is not None else None
        if (found := self.person(at)) is None:
            return None
        people: list[Phrase] = [found[0]]
        end = found[1]
        while self._source.word(end) in ("and", ",") and (more := self.person(end + 1)):
            people.append(more[0])
            end = more[1]
        return people, end

    def _listener(self, at: int) -> tuple[Where, int] | None:
        """Whom something is told: the speaker or a person."""
        if end := self._source.longest(at, _ONE_OF_US):
            return Where(Relation.AT, Spot.ME, Way.TO, at, end), end
        i = at + (self._source.word(at) == "to")
        if (found := self._people(i)) is None or len(found[0]) > 1:
            return None
        return Where(Relation.AT, found[0][0], Way.TO, at, found[1]), found[1]

    def meet(self, _verb: Verb, start: int, i: int) -> Dos | None:
        """MEET: people are greeted."""
        found = self._people(i)
        return found and ([Do(Act.MEET, found[0], start, found[1])], found[1])

    def _company(self, at: int) -> tuple[list[Phrase], int] | None:
        """Who is followed or led: people, or the speaker."""
        if self._source.word(at) not in ("me", "us"):
            return self._people(at)
        here = Where(Relation.AT, Spot.ME, Way.STATIC, at, at + 1)
        return [Noun(PERSON, at, at + 1, definite=True, where=[here])], at + 1

    def follow(self, _verb: Verb, start: int, i: int) -> Dos | None:
        """FOLLOW: until the person stops it, or to a place."""
        if (found := self._company(i)) is None:
            return None
        wheres, end = self._destination(found[1])
        return [Do(Act.FOLLOW, found[0], start, end, wheres)], end

    def guide(self, _verb: Verb, start: int, i: int) -> Dos | None:
        """GUIDE: to a place, which must be said."""
        if (found := self._company(i)) is None:
            return None
        wheres, end = self._destination(found[1])
        if not wheres:
            raise self._source.ask(AskReason.WHERE, start, end)
        return [Do(Act.GUIDE, found[0], start, end, wheres)], end

    def _destination(self, at: int) -> tuple[list[Where], int]:
        wheres, end = self.places(at)
        if not wheres or any(where.way is not Way.TO for where in wheres):
            return [], at
        for where in wheres:
            anchor = where.anchor
            if where.relation is Relation.IN and isinstance(anchor, Noun) and is_furniture(anchor):
                # Nobody is led into the dishwasher.
                where.relation = Relation.AT
        return grouped(wheres, unsure=True), end

    def bring(self, verb: Verb, start: int, i: int) -> Dos | None:
        """CARRY, FETCH, GIVE: a person comes along; or a person is given something."""
        source = self._source
        spoken = source.word(i) not in ("them", "they") or self._spoke_of_people()
        if (whom := self._company(i) if spoken else None) is None:
            return None
        wheres, _ = self._destination(whom[1])
        if wheres and verb.frame is not Frame.GIVE:
            return self.guide(verb, start, i)
        if source.word(i) in ("me", "us"):
            return None
        things = self.objects(whom[1])
        if verb.base not in ("give", "bring", "hand", "pass", "fetch", "get") or things is None:
            return None
        if len(whom[0]) > 1 or not self._no_targets(things[0]):
            return None
        to = Where(Relation.AT, whom[0][0], Way.TO, i, whom[1])
        return [Do(Act.MOVE, self.attach(things[0]), start, things[1], [to])], things[1]

    def _spoke_of_people(self) -> bool:
        """Whether "them" are rather people than things; what knows that overrides this."""
        return False

    def find_person(self, verb: Verb, start: int, i: int) -> Dos | None:
        """FIND: a person; "meet Jane in the hall, then find her in the office"."""
        if (found := self._people(i) if verb.base not in _TELLING_ONLY else None) is None:
            return None
        people, end = found
        wheres, after = self.located(end)
        if wheres and self._source.word(i) in _THEM and isinstance(before := people[0], Noun):
            again = fresh_noun(before)
            again.start, again.end, again.definite = i, after, True
            again.where = grouped(wheres, unsure=True)
            people, end = [again], after
        return [Do(Act.FIND, people, start, end, taken=True)], end

    def answer(self, _verb: Verb, start: int, i: int) -> Dos | None:
        """ANSWER: what a person asks."""
        source = self._source
        if not (end := source.longest(i, _QUESTION)):
            return None
        of = source.longest(end, _OF)
        to = self._listener(of) if of else None
        if of and to is None:
            return None
        return self._told(Topic.ANSWER, [], start, to[1] if to else end, to and to[0])

    def tell(self, _verb: Verb, start: int, i: int) -> Dos | None:
        """TELL: the speaker, or a person, of something that the robot knows or finds out."""
        to = self._listener(i)
        if (found := self._subject_told(to[1] if to else i)) is None:
            return None
        topic, things, end = found
        if to is None and self._source.word(end) == "to" and (to := self._listener(end)):
            end = to[1]
        return self._told(topic, things, start, end, to and to[0])

    def _told(
        self, topic: Topic, things: list[Phrase], start: int, end: int, to: Where | None
    ) -> Dos:
        """The request; whoever was last spoken of listens if nobody else is named."""
        before = self.person_before() if to is None else None
        if to is None and before is not None:
            to = Where(Relation.AT, before, Way.TO, start, end)
        if to is None and topic is Topic.ANSWER:
            to = Where(Relation.AT, Spot.ME, Way.TO, start, end)
        return [Do(Act.TELL, things, start, end, [to] if to else [], topic=topic)], end

    def _subject_told(self, at: int) -> tuple[Topic, list[Phrase], int] | None:
        """What is told, and of what."""
        source = self._source
        if end := source.longest(at, _TOPIC_WORDS):
            return _TOPICS[source.words[at:end]], [], end
        return self._trait_of(at) or self._number_of(at) or self._look_of(at) or self._which(at)

    def _trait_of(self, at: int) -> tuple[Topic, list[Phrase], int] | None:
        """Reads "the name of the person at the sink"."""
        source = self._source
        i = source.longest(at, _WHAT_IS) or at
        i += source.word(i) == "the"
        topic = _TRAITS.get(source.word(i))
        found = self._people(i + 2) if topic and source.word(i + 1) == "of" else None
        return None if found is None or topic is None else (topic, found[0], found[1])

    def _number_of(self, at: int) -> tuple[Topic, list[Phrase], int] | None:
        """Reads "how many people in the hall are wearing red coats", "how many cups there are"."""
        source = self._source
        i = source.longest(at, _HOW_MANY)
        found = (self.person(i) or self.described(i)) if i else None
        noun, end = found or (None, i)
        if not isinstance(noun, Noun):
            return None
        if not noun.plural and not noun.bare:
            return None
        # "How many fruits": the word has no singular.
        noun.count, noun.plural, noun.definite = Amount.ALL, True, False
        if noun.kind == PERSON:
            while after := (
                self._trait(end, noun) or self._somewhere(end, noun)
                or source.longest(end, _ARE)
            ):  # fmt: skip
                end = after
            return Topic.COUNT, [noun], end
        return self._located_thing(Topic.COUNT, noun, source.longest(end, _ARE) or end)

    def _look_of(self, at: int) -> tuple[Topic, list[Phrase], int] | None:
        """Reads "(what is) the color of the cup", "what color the cup is"."""
        source = self._source
        i = source.longest(at, _WHAT_IS) or at
        i += source.word(i) in ("the", "what", "which")
        topic = _LOOKS.get(source.word(i))
        if topic is None:
            return None
        i += 1 + (source.word(i + 1) in ("of", "is", "are"))
        if (found := self.described(i)) is None or not isinstance(found[0], Noun):
            return None
        told = self._located_thing(topic, found[0], found[1])
        return (*told[:2], told[2] + (source.word(told[2]) in ("is", "are")))

    def _which(self, at: int) -> tuple[Topic, list[Phrase], int] | None:
        """Reads "what is the biggest cup on the table", "which cup is the biggest"."""
        source = self._source
        i = source.longest(at, _WHAT_IS) or at + (source.word(at) in ("what", "which"))
        found = self.described(i) if i > at else None
        if found is None or not isinstance(found[0], Noun) or not isinstance(found[0].pick, Pick):
            return None
        return self._located_thing(Topic.WHICH, found[0], found[1])

    def _located_thing(self, topic: Topic, noun: Noun, at: int) -> tuple[Topic, list[Phrase], int]:
        wheres, end = self.located(at)
        noun.where += grouped(wheres, unsure=True)
        return topic, [noun], end


_Rule = Callable[[PeopleFrames, Verb, int, int], "Dos | None"]
_RULES: dict[Frame, _Rule] = {
    Frame.MEET: PeopleFrames.meet,
    Frame.FOLLOW: PeopleFrames.follow,
    Frame.GUIDE: PeopleFrames.guide,
    Frame.ANSWER: PeopleFrames.answer,
    Frame.TELL: PeopleFrames.tell,
    Frame.FIND: PeopleFrames.find_person,
    Frame.CARRY: PeopleFrames.bring,
    Frame.FETCH: PeopleFrames.bring,
    Frame.GIVE: PeopleFrames.bring,
}
