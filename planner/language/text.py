"""Reads a whole text, clause by clause, with the order and the conditions between them."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from planner.language.clauses import Clauses, forbidden
from planner.language.discourse import Discourse
from planner.language.drafts import Act, Do, Noun, Phrase, Way, Where
from planner.language.english import BEFORE_THAT, FILLERS, FIRST, MEANWHILE, THE, THEN
from planner.language.frames import Dos
from planner.language.lexicon import Part
from planner.language.ordering import Order
from planner.language.places import is_furniture, is_room
from planner.language.reading import Ask, AskReason, NoCommand, NoCommandReason, NotUnderstood, Reading
from planner.language.screening import function_words, known
from planner.language.sentence import Source
from planner.language.tokens import STOPS
from planner.language.verbs import Form, verbs_at
from planner.language.words import Actor, Occasion, Relation, Spot

_AFTER = ("after", "once", "as soon as", "when", "now that", "by the time", "only after", "only once", "only when", "right after",
          "immediately after", "as soon as ever", "the moment", "following")  # fmt: skip
_BEFORE = ("before", "prior to", "right before", "just before")
_WHILE = ("while", "whilst")
_IF = ("if", "in case", "provided that", "provided", "as long as", "should", "only if")
_REASONS = ("so that", "so", "because", "since", "as", "in order to", "where", "which", "who", "for", "before", "after", "in case",
            "otherwise", "or else", "that way", "until", "till", "given that")  # fmt: skip
_REASON_SUBJECTS = frozenset({
    "i", "we", "it", "he", "she", "they", "everybody", "everyone", "nobody", "somebody", "someone", "people", "that", "there", "this",
})  # fmt: skip
_SEE_IT = ("you come across", "you find", "you see", "you spot", "you happen to find", "you happen to see", "you run into",
           "you happen to come across", "you can find", "you notice", "you stumble upon", "you should find", "there is", "there are", "you discover")  # fmt: skip
_DONE = ("it is", "they are", "that is", "everything is", "all is", "they are all", "all of them are", "it is all", "this is", "all of that is")
_DONE_WORDS = frozenset({"in", "done", "there", "finished", "ready", "gone", "complete", "over", "inside", "through", "out", "away", "up"})
_QUESTIONS = frozenset({
    "where", "what", "who", "why", "how", "which", "is", "are", "was", "were", "do", "does", "did", "has", "have", "whose", "am",
    "when",
})  # fmt: skip
_ALSO = ("the same goes for", "same goes for", "the same for", "same for", "so does", "so do", "and so do", "and so does", "same thing for",
         "ditto for", "likewise", "likewise for", "the same thing for", "the same with", "same with", "the same applies to",
         "do the same with", "do the same for", "do the same to", "do likewise with", "and then also")  # fmt: skip
_TOO = ("too", "as well", "also", "likewise", "please")
_CHAT_STARTS = frozenset({
    "i", "it", "we", "he", "she", "they", "my", "tonight", "today", "there", "everyone", "everybody", "dinner", "breakfast", "lunch",
    "this", "that", "the", "our", "someone", "somebody", "guests", "you", "good", "hello", "how", "what", "nice", "time", "oh", "company",
    "some", "a", "people", "friends", "tomorrow", "what", "thanks", "first", "after", "as", "here",
})  # fmt: skip
_NO_REMARK = frozenset({"not", "never", "except", "only", "instead", "but", "unless", "rather", "no"})
_MENTAL = frozenset({"need", "is", "be", "do", "have", "make", "makes", "made", "will", "see", "run", "get", "gets", "been", "had", "let"})
_REPAIRS = ("no , i mean", "no , i meant", "i mean", "i meant", "no , wait ,", "no wait ,", "wait , no ,", "no , sorry ,", "sorry , i mean",
            "sorry , i meant", "or rather", "no , make that", "make that", "no ,", "wait ,", "sorry ,", "er ,", "actually no ,", "scratch that ,",
            "no , rather", "wait , i mean", "wait no ,", "correction ,", "rather")  # fmt: skip


class Text(Clauses):
    """Reads the sentences of a text into an order of requests."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.order = Order(source)
        self._discourse = Discourse(source)
        self._previous: list[Do] = []
        self._forms: frozenset[Form] = frozenset({Form.BASE})
        self._given: list[Phrase] = []
        self._conditions: list[tuple[str, list[Phrase]]] = []
        self._sentence: list[Do] = []
        self._pending: list[Do] = []
        self._then = False
        self._remarks = 0

    def repair(self) -> None:
        """Drops what the speaker takes back: "the paper, no, I mean the folder"."""
        source = self._source
        for at in range(1, source.size):
            end = source.starts(at, *_REPAIRS)
            if not end or source.word(at - 1) not in (",", "...", "…", "-", "--", ".", ";", "("):
                continue
            while source.word(end) == ",":
                end += 1
            correct = self.noun(end)
            stop = at
            while stop and not source.tokens[stop - 1].is_word:
                stop -= 1
            near = range(max(0, stop - 6), stop)
            start = next((k for k in near if (n := self.noun(k)) and n[1] == stop), None)
            if start is None or source.word(start) not in THE | {"a", "an"}:
                start = next((k for k in reversed(near) if source.word(k) in THE | {"a", "an"}), start)
            if correct is None or start is None:
                continue
            after = correct[1] + (source.word(correct[1]) == ",")
            kept = (*source.tokens[:start], *source.tokens[end : correct[1]], *source.tokens[after:])
            self._source = Source(source.text, kept, source.lexicon)
            self.__init__(self._source)  # type: ignore[misc]
            return

    def read(self) -> int | None:
        """Reads the text; the position of what no rule covers, or None."""
        i = 0
        source = self._source
        while i < source.size:
            if source.word(i) in STOPS:
                tidied = self._previous[-1] if self._previous and source.word(i) == ":" else None
                self._end_sentence()
                if tidied is not None and tidied.act is Act.PREPARE:
                    # "Clean up the office: the books go onto the shelf" says what that means.
                    self._within = tidied
                i += 1
                continue
            end = self._so(i) or self._mark(i) or self._topic(i) or self._subordinate(i) or self._main(i) or self._rest(i)
            if not end:
                return i
            i = end
        self._end_sentence()
        return None

    _within: Do | None = None

    def _so(self, at: int) -> int:
        """"So I can sit", a reason, and not "so please sit"."""
        if self._source.word(at) != "so" or self.clause(at + 1):
            return 0
        return self._reason(at)

    def _topic(self, at: int) -> int:
        """"Whichever mug you find first, bring it": the thing stands before the command."""
        source = self._source
        if self._sentence:
            return 0
        found = self.objects(at)
        if found is None or source.word(found[1]) != "," or not self._no_targets(found[0]):
            return 0
        after = self._next_clause(found[1] + 1)
        if after is None or not set(source.words[found[1] : after[1]]) & {"it", "them", "those", "these", "they", "both"}:
            return 0
        if not self.verb_phrase(self.skip(found[1] + 1), {Form.BASE}) and not self._polite(self.skip(found[1] + 1)):
            return 0
        things = self.attach(found[0])
        self._discourse.accept(Do(Act.MENTION, things, at, found[1]))
        return found[1]

    def _end_sentence(self) -> None:
        self._within, self._wishing = None, False
        for do in self._pending:
            self.order.add(do, then=bool(self._sentence))
        self._pending, self._sentence, self._conditions = [], [], []
        self._forms, self._given = frozenset({Form.BASE}), []

    def _mark(self, at: int) -> int:
        """Words between clauses: order words, "and", commas, politeness."""
        source = self._source
        word = source.word(at)
        if end := source.longest(at, THEN):
            going_on = any(Form.ING in found.forms for found in verbs_at(source.words, end))
            if not going_on and not (word == "next" and source.word(at + 1) == "to") and not self._reads_on(at, end):
                if self._sentence and (self._ends(end) and source.word(end) != ","):
                    self._move_to_end(self._sentence[-1])
                else:
                    self._then = True
                return end
        if (end := source.longest(at, FIRST)) and not self._reads_on(at, end):
            if self._sentence and ((self._ends(end) and source.word(end) != ",") or source.word(end) == "and"):
                self._come_first(self._sentence[-1])
            return end
        if end := source.longest(at, BEFORE_THAT):
            self._reverse = True
            return end
        if (end := source.longest(at, MEANWHILE)) and word not in ("while", "besides"):
            return end
        if word in (",", "and", "but", "plus", "or", "&"):
            if word == "or" or (word == "but" and source.word(at + 1) == "never" and False):
                return 0
            return at + 1
        if (end := source.longest(at, FILLERS)) and source.word(end) not in ("is", "was", "are"):
            if not self._reads_on(at, end):
                return end
        return 0

    _reverse = False

    def _reads_on(self, at: int, end: int) -> bool:
        """Whether words that could be skipped begin a clause that can be read."""
        found = self.clause(at) if self._source.word(at) not in ("please", "just", "now") else None
        return found is not None and found[1] > end and not self.clause(end)

    def _main(self, at: int) -> int:
        """A main clause, or what a clause before it completes."""
        found = self._next_clause(at)
        if found is None:
            return 0
        dos, end = found
        end = self._trailing_only(dos, end)
        self._accept(dos)
        return end

    def _next_clause(self, at: int) -> Dos | None:
        source = self._source
        candidates: list[Dos] = []
        if self._sentence and self._given and (found := self.verb_phrase(at, {Form.PAST}, list(self._given))):
            candidates.append(found)
        if self._wishing and (found := self.statement(at, wish=True)):
            return found
        if self._sentence and self._forms != {Form.BASE} and (found := self.verb_phrase(at, self._forms)):
            candidates.append(found)
        if found := self.clause(at):
            candidates.append(found)
        if found := self._gap(at):
            candidates.append(found)
        if not candidates:
            return None
        best = max(candidates, key=lambda found: found[1])
        self._wishing = self._wishes(at)
        forms = [f.forms for f in verbs_at(source.words, at)]
        if any(Form.ING in f for f in forms) and candidates and not self._sentence:
            self._forms = frozenset({Form.ING})
        return best

    _wishing = False

    def _trailing_only(self, dos: list[Do], end: int) -> int:
        """"..., the latter first" puts one of two moves before the other."""
        source = self._source
        i = end + (source.word(end) == ",")
        which = source.starts(i, "the latter first", "the former last", "the second one first")
        if which and len(dos) == 1 and dos[0].act is Act.MOVE and len(dos[0].things) == 2:
            first, second = dos[0].things
            dos[0].things = [second]
            later = copy.copy(dos[0])
            later.things, later.to = [first], list(dos[0].to)
            self._pending_then = later
            dos.append(later)
            self._force_then = later
            return which
        return end

    _force_then: Do | None = None

    def _accept(self, dos: Iterable[Do]) -> None:
        dos = list(dos)
        known = len(self._sentence)
        for do in dos:
            for word, phrases in self._conditions:
                getattr(do, word).extend(phrases)
            if self._within is not None and do.act in (Act.MOVE, Act.MAKE):
                self._place_within(self._within, do)
            self._discourse.accept(do)
            if self._reverse and self._previous:
                self.order.add_before(do, self.order.step_of(self._previous[-1]))
                self._reverse = False
            else:
                then = self._then or do is self._force_then
                self.order.add(do, then=then and do.act not in (Act.LEAVE, Act.NEVER, Act.MENTION))
            if do.act not in (Act.LEAVE, Act.NEVER, Act.MENTION):
                self._then = False
            self._sentence.append(do)
        if dos:
            self._previous = dos
        if len(self._sentence) > known and dos and dos[-1].things:
            self._given = list(dos[-1].things)

    def _place_within(self, tidy: Do, do: Do) -> None:
        """What is named after a colon is in the room, and is all that is to be tidied."""
        for step in self.order.steps:
            if tidy in step:
                step.remove(tidy)
        room = tidy.things[0] if tidy.things else None
        for thing in do.things:
            if isinstance(thing, Noun) and not thing.where and isinstance(room, Noun):
                thing.where.append(Where(Relation.IN, room, Way.STATIC, room.start, room.end))

    def _gap(self, at: int) -> Dos | None:
        """"And the plates in the sink", "the lemons as well", "the radio off", "not the ball"."""
        source = self._source
        i = self.skip(at) if source.word(at) in ("please", "also") else at
        last = next((do for do in reversed(self._previous)), None)
        if end := source.starts(i, *_ALSO):
            return self._again(end, last)
        negated = source.word(i) in ("not", "never")
        if negated and last is not None:
            return self._gap_not(i + 1, last)
        if last is not None and last.act is Act.MAKE and (of := self._off_gap(i, last)):
            return of
        if last is not None and self._sentence and last.act in (Act.MOVE, Act.MAKE) and (wheres := self.places(i))[0]:
            do = Do(Act.MOVE, list(last.things), i, wheres[1], wheres[0])
            return ([do], wheres[1]) if self._then else None
        if last is not None and last.act is Act.LEAVE and source.word(i) == "off":
            i += 1
        found = self.objects(i)
        if found is None:
            return None
        parts, end = found
        if last is not None and self._sentence and last.occasion is Occasion.TIDY and self._no_targets(parts):
            rooms = self.attach(parts)
            if not all(isinstance(room, Noun) and (is_room(room) or is_furniture(room)) for room in rooms):
                return None
            return [self._like(last, [room], i, end) for room in rooms], end
        things = [thing for part in parts for thing in part.things]
        fits_all = last is not None and last.act is Act.MAKE
        if (fits_all or self._sentence or last is None or True) and self._no_targets(parts) and not parts[-1].arrangement:
            if result := self.result(end, parts, i):
                return result
        people, after = self.people(end)
        if people and not any(part.wheres for part in parts):
            parts[-1].wheres, after = self.places(after)
            end = after
            for thing in things:
                if isinstance(thing, Noun) and thing.bare and thing.plural:
                    thing.count = people
        if any(part.wheres or part.arrangement for part in parts):
            too = source.starts(end, *_TOO)
            if last is not None and self._sentence and (fits_all or last.act is Act.LEAVE or (too and last.to)):
                return [self._like(last, self.attach(parts), i, end)], end
            placed = self.placed(parts, static=True)
            if all(p.to or p.arrangement for p in placed[:-1]) and not placed[-1].to and last is not None and last.to:
                placed[-1].to = last.to
            if all(p.to or p.arrangement for p in placed):
                return [self.move(p, i, end) for p in placed], end
            return None
        if last is None or last.act is Act.MENTION and not last.taken:
            return None
        too = source.starts(end, *_TOO) or (end + 1 if source.word(end) == "," and source.starts(end + 1, *_TOO) else 0)
        before = self._then or source.word(at - 1) in ("and", ",", "also") or source.word(at) == "also"
        if too or before:
            return [self._like(last, things, i, end)], end
        return None

    def _off_gap(self, at: int, last: Do) -> Dos | None:
        """"And the radio off" after "switch the laptop on"."""
        found = self.objects(at)
        if found is None:
            return None
        end = self._on_off(found[1])
        if not end or not any(state.startswith("powered") for state in last.states):
            return None
        state = "powered on" if self._source.word(end - 1) == "on" else "powered off"
        return self._make(self.attach(found[0]), [state], at, end)

    def _again(self, at: int, last: Do | None) -> Dos | None:
        if last is None:
            return None
        segments = self.objects(at)
        if segments is None:
            return None
        return [self._like(last, self.attach(segments[0]), at, segments[1])], segments[1]

    @staticmethod
    def _like(last: Do, things: list[Phrase], start: int, end: int) -> Do:
        """The last request, of other things."""
        do = copy.copy(last)
        do.things, do.start, do.end = things, start, end
        do.to, do.states = list(last.to), list(last.states)
        do.only_if = list(things) if last.only_if and last.only_if == last.things else list(last.only_if)
        do.unless = list(last.unless)
        return do

    def _gap_not(self, at: int, last: Do) -> Dos | None:
        """"But never the router", "not the ball"."""
        segments = self.objects(at)
        if segments is None or any(part.wheres for part in segments[0]):
            return None
        things = segments[0][0].things
        if self._source.word(at - 1) == "not" and last.act in (Act.MOVE, Act.MAKE):
            for thing in last.things:
                if isinstance(thing, Noun):
                    thing.but += things
            return [Do(Act.MENTION, list(things), at, segments[1])], segments[1]
        do = forbidden(self._like(last, list(things), at, segments[1]))
        return ([do], segments[1]) if do else None

    def _subordinate(self, at: int) -> int:
        """Clauses with "before", "after", "while" and "if"."""
        source = self._source
        if end := source.starts(at, *_BEFORE):
            return self._before(end)
        if end := source.starts(at, *sorted(_AFTER, key=len, reverse=True)):
            return self._later(end) or (self._condition(at, end, "only_if") if source.word(at) == "when" else 0)
        if end := source.starts(at, *_WHILE):
            dos = self._temporal(end)
            if dos:
                self._accept(dos[0])
                return dos[1]
        if end := source.starts(at, "unless", "except if"):
            return self._condition(at, end, "unless")
        if end := source.starts(at, *sorted(_IF, key=len, reverse=True)):
            return self._condition(at, end, "only_if")
        return 0

    def _temporal(self, at: int) -> Dos | None:
        """What is said of the time: "clearing the couch", "you have washed it", "it is clean"."""
        self._as_time = True
        try:
            found = self._own_work(at) or self.verb_phrase(at, {Form.ING}) or self._robot(at) or self._speaker(at) or self.statement(at, wish=True)
            if found is None and self._source.word(at) == "having":
                found = self.verb_phrase(at + 1, {Form.PAST})
        finally:
            self._as_time = False
        for do in found[0] if found else ():
            if do.taken and any(where.anchor is Spot.ME for where in do.to):
                raise self._source.ask(AskReason.WHERE, do.start, do.end)
        return found if found and all(do.act is not Act.MENTION or do.taken for do in found[0]) else None

    def _own_work(self, at: int) -> Dos | None:
        """"(While) I put the food away"."""
        if self._source.word(at) != "i":
            return None
        return self._by(Actor.SPEAKER, self.verb_phrase(at + 1, {Form.BASE, Form.PAST}))

    def _before(self, at: int) -> int:
        """"Before A, B" and "B before A"."""
        found = self._temporal(at)
        if found is None:
            return 0
        dos, end = found
        for do in dos:
            self._discourse.accept(do)
        dos = [do for do in dos if do.act is not Act.GO]
        if self._sentence:
            for do in dos:
                self.order.add(do, then=True)
        else:
            self._pending += dos
        return end

    def _later(self, at: int) -> int:
        """"After A, B" and "B after A"."""
        source = self._source
        for phrase in sorted(_DONE, key=len, reverse=True):
            i = source.starts(at, phrase)
            if i and source.word(i) in ("all", "both", "safely"):
                i += 1
            if i and source.word(i) in _DONE_WORDS and not self.item(i + 1):
                if self._sentence:
                    # "Start it when they are all in": it comes after what was said before.
                    last = self._sentence[-1]
                    self._move_to_end(last)
                else:
                    self._then = True
                return i + 1
        found = self._temporal(at)
        if found is None:
            return 0
        dos, end = found
        while (joined := self._joined(end)) and (more := self.verb_phrase(joined, {Form.PAST, Form.ING}) if dos[0].who or True else None):
            if self.verb_phrase(joined, {Form.BASE}):
                break
            dos, end = [*dos, *more[0]], more[1]
        step = self.order.step_of(self._sentence[-1]) if self._sentence and not self._then else None
        for do in dos:
            self._discourse.accept(do)
            if step is None:
                self.order.add(do, then=self._then)
                self._then = False
            else:
                self._before_last(do, self._sentence[-1])
        if step is None:
            self._then = True
            self._previous = dos
        return end

    def _before_last(self, do: Do, last: Do) -> None:
        """Puts a request into a step before the last one's."""
        steps = self.order.steps
        if do.act in (Act.LEAVE, Act.NEVER, Act.MENTION):
            return
        at = self.order.step_of(last)
        others = [other for other in steps[at] if other is not last]
        steps[at : at + 1] = [step for step in ([*others], [do], [last]) if step]

    def _move_to_end(self, last: Do) -> None:
        steps = self.order.steps
        at = self.order.step_of(last)
        if len(steps[at]) > 1:
            steps[at].remove(last)
            steps.insert(at + 1, [last])

    def _come_first(self, last: Do) -> None:
        """"Bring the cup, but wash it first": the last request before the others."""
        steps = self.order.steps
        at = self.order.step_of(last)
        others = [do for do in self._sentence if do is not last and any(do in step for step in steps)]
        if not others or last not in steps[at]:
            return
        steps[at].remove(last)
        self.order.steps = steps = [step for step in steps if step]
        steps.insert(min(self.order.step_of(do) for do in others), [last])

    def _condition(self, at: int, start: int, word: str) -> int:
        """"If the lamp is on", "if you find my keys"."""
        source = self._source
        robot = source.word(start) == "you" and self._robot(start)
        if seen := source.starts(start, *_SEE_IT):
            segments = self.objects(seen)
            if segments is None:
                return 0
            things = self.attach(segments[0])
            return self._conditional(Do(Act.MENTION, things, at, segments[1]), things, word, segments[1])
        if robot and self._sentence and word == "only_if":
            # "I can fill it if you bring it": what you do comes first.
            dos, end = robot
            for do in dos:
                self._discourse.accept(do)
                self._before_last(do, self._sentence[-1])
            return source.starts(end, "first") or end
        found = self.objects(start)
        if found is None or not self._no_targets(found[0]) or source.word(found[1]) not in ("is", "are", "'s"):
            return 0
        parts, i = found
        things = self.attach(parts)
        negated = source.word(i + 1) == "not"
        i += 1 + negated
        while source.word(i) in ("still", "already", "currently", "all", "both"):
            i += 1
        told = self._becomes(i, list(things), at)
        if told is None or len(told[0]) != 1:
            return 0
        do, end = told[0][0], told[1]
        mention = Do(Act.MENTION, things, at, end)
        self._discourse.accept(mention)
        conditions: list[Phrase] = []
        for thing in mention.things:
            if not isinstance(thing, Noun):
                return 0
            state = copy.copy(thing)
            state.states, state.where = [*thing.states, *do.states], [*thing.where, *do.to]
            conditions.append(state)
        kind = {"only_if": "unless", "unless": "only_if"}[word] if negated else word
        return self._conditional(None, conditions, kind, end)

    def _conditional(self, mention: Do | None, things: list[Phrase], word: str, end: int) -> int:
        if mention is not None:
            self._discourse.accept(mention)
            things = list(mention.things)
        if self._sentence:
            for do in self._sentence[-1:]:
                getattr(do, word).extend(things)
        else:
            self._conditions.append((word, things))
        return end

    def _rest(self, at: int) -> int:
        """Reasons and remarks, which ask for nothing."""
        return self._reason(at) or self._remark(at)

    def _reason(self, at: int) -> int:
        """"So I can sit", "before it goes bad", "where everybody can see it"."""
        source = self._source
        if not self._previous:
            return 0
        for word in _REASONS:
            i = source.starts(at, word)
            if i and word == "for" and source.word(i) in ("dinner", "breakfast", "lunch", "tomorrow", "later", "tonight", "now", "good", "supper"):
                return i + 1
            if i and (word in ("in order to", "because", "otherwise", "or else") or source.word(i) in _REASON_SUBJECTS):
                end = self._clause_end(i)
                if not any(word in _NO_REMARK - {"no", "not"} for word in source.words[i:end]):
                    return end
        return 0

    def _clause_end(self, at: int, also: frozenset[str] = frozenset()) -> int:
        i = at
        while i < self._source.size and self._source.word(i) not in STOPS | {","} | also:
            i += 1
        return i

    def _remark(self, at: int) -> int:
        """A statement that no request depends on: "I am hungry", "tonight is game night"."""
        source = self._source
        word = source.word(at)
        if word not in _CHAT_STARTS and not self._exclaimed(at):
            return 0
        end = self._clause_end(at, frozenset({"so"}))
        while source.word(end) == "," and not self._starts_clause(end + 1) and source.word(end + 1) != "so":
            end = self._clause_end(end + 1, frozenset({"so"}))
        inner = source.words[at:end]
        verbs = [f for k in range(at, end) for f in verbs_at(source.words, k) if Form.BASE in f.forms and k > at + 1]
        kinds = any(self._is_thing(k) for k in range(at, end))
        if self._previous and (
            word not in ("i", "it", "we", "that", "this", "there") or any(True for k in range(at + 1, end) for _ in verbs_at(source.words, k)
            if source.words[k] not in _MENTAL)
        ):
            return 0
        if self._previous and (kinds or any(w in _NO_REMARK for w in inner)):
            return 0
        if any(w in ("must", "should", "except", "never", "unless") for w in inner) and kinds:
            return 0
        if kinds and verbs and word not in ("i", "it", "tonight", "today", "we", "my"):
            return 0
        self._remarks += 1
        return end

    def _exclaimed(self, at: int) -> bool:
        end = self._clause_end(at)
        return self._source.word(end) == "!" and end - at <= 3 and not any(self._is_thing(k) for k in range(at, end))

    def _is_thing(self, at: int) -> bool:
        match = self._source.match(at)
        return bool(match and any(sense.part is Part.KIND for sense in match.senses)) and self._source.word(at) not in (
            "can", "thing", "light", "play", "room", "hungry", "eat", "sweet", "thirsty", "drink", "game", "games", "meal", "dessert",
            "work", "sleep", "sit", "read", "cook", "cooking", "waste",
        )  # fmt: skip

    def _starts_clause(self, at: int) -> bool:
        return self.clause(at) is not None or self._subordinate_ahead(at)

    def _subordinate_ahead(self, at: int) -> bool:
        return bool(self._source.starts(at, *_AFTER, *_BEFORE, "if", "please", "can you", "could you", "would you"))

    def is_question(self, failed: int) -> bool:
        """Whether the sentence in which reading failed asks for an answer."""
        source = self._source
        start = failed
        while start > 0 and source.word(start - 1) not in STOPS:
            start -= 1
        start = self.skip(start)
        if self.order.requests:
            return False
        ends = self._clause_end(start)
        if source.word(start) in ("where", "what", "who", "why", "how", "whose"):
            return True
        return source.word(start) in _QUESTIONS and source.word(ends) == "?"

    def culprit(self, failed: int) -> int:
        """The word that reading most likely failed at: one that no rule has a meaning for."""
        source = self._source
        end = self._clause_end(failed)
        if not any(True for _ in verbs_at(source.words, failed)) and not self.item(failed):
            if source.word(failed).isalpha() and source.word(failed) not in function_words():
                return failed
        covered = failed
        for k in range(failed, end):
            match = source.match(k)
            if match is not None:
                covered = max(covered, k + match.length)
            elif k >= covered and source.word(k) not in function_words() and not any(True for _ in verbs_at(source.words, k)):
                return k
        return failed

    def nothing(self) -> Reading:
        """The outcome of a text that was read and asks for nothing."""
        for mention in self.order.mentions:
            if mention.taken:
                return Ask(words=(self._source.quote(mention.start, mention.end),), reason=AskReason.WHERE)
        usual = next((k for k, word in enumerate(self._source.words) if word == "usual"), None)
        if usual is not None:
            return Ask(words=(self._source.quote(usual, usual + 1),), reason=AskReason.DONE)
        unknown = [t for t in self._source.tokens if t.is_word and not known(t.word)]
        if unknown and any(self._is_thing(k) for k in range(self._source.size)):
            return NotUnderstood(words=tuple(self._source.text[t.start : t.end] for t in unknown))
        if self._source.size <= 4 and any(self._is_thing(k) for k in range(self._source.size)):
            return Ask(words=(self._source.text.strip(),), reason=AskReason.DONE)
        if self._source.word(self._source.size - 1) == "?":
            return NoCommand(reason=NoCommandReason.QUESTION)
        return NoCommand(reason=NoCommandReason.CHAT)


