"""Reads a whole text, clause by clause, with the order and the conditions between them."""

from __future__ import annotations

import copy

from planner.language.drafts import Act, Do, Noun, Pronoun, several
from planner.language.english import (
    ALSO,
    AUXILIARIES,
    BEFORE_THAT,
    FILLERS,
    FIRST,
    MEANWHILE,
    STARTING,
    THEN,
    TO_DO,
    TOO,
    TURNS,
    phrases,
    table,
)
from planner.language.follow_ups import Shares
from planner.language.lexicon import Actor, Occasion, Relation, includes
from planner.language.lists import PREDICATES
from planner.language.reading import STOPS, AskReason, Source
from planner.language.remarks import known
from planner.language.state_frames import Dos
from planner.language.verbs import Form, Frame, verbs_at

_CLEANERS = {" ".join(said) for said in phrases(table("cleaners"))}
_ORDER_SAID = {"before": frozenset({"after", "once"}), "after": frozenset({"before"})}


class Text(Shares):
    """Reads the sentences of a text into an order of requests."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._turns: list[tuple[int, int]] = []

    def read(self) -> int | None:
        """Reads the text; the position of what no rule covers, or None."""
        i = 0
        source = self._source
        while i < source.size:
            if source.word(i) in STOPS:
                opened = self._sentence and source.word(i) == ":"
                tidied = self._previous[-1] if self._previous and opened else None
                self._end_sentence()
                if tidied is not None and (
                    tidied.occasion is Occasion.SET_TABLE
                    or (tidied.act is Act.MOVE and i + 1 < source.size)
                ):
                    # "Unload the dishwasher: plates in the cabinet, cups on the shelf".
                    raise source.unknown(tidied.start, i)
                if tidied is not None and tidied.occasion is Occasion.TIDY:
                    # "Clean up the office: the books go onto the shelf" says what that means.
                    self._within = tidied
                i += 1
                continue
            end = self._part(i)
            if end <= i:
                return i
            i = end
        self._end_sentence()
        if self._turns and not any(do.act is Act.GO or do.to for do in self.order.requests):
            # A robot that turns left has not come anywhere.
            raise source.unknown(*self._turns[0])
        return None

    def _part(self, at: int) -> int:
        """A word between clauses, or a clause; no clause follows another without such a word."""
        if end := self._passing(at, self._turning(at)):
            self._complete = False
            return end
        if end := self._passing(at, self._people_said(at)):
            self._complete = True
            return end
        if end := self._passing(at, self._so(at) or self._announcement(at)):
            self._complete = False
            return end
        if end := self._passing(at, self._is_so(at) or self._wants_to(at)):
            self._complete = True
            return end
        if end := (
            self._question(at) or self._no_no(at) or self._mark(at) or self._not_there(at)
            or self._topic(at) or self._subordinate(at)
        ):  # fmt: skip
            self._complete = False
            return end
        excepts = self._complete or bool(
            self._source.starts(at, "apart from", "except", "excluding")
        )
        if excepts and self._previous and self._sentence:
            end = self._exceptions(at, self._previous[-1].things)
            if end > at and self._ends(end):
                return end
        source = self._source
        goes_on = self._source.word(at) in ("without", "not") or self._placing(at)
        asks_you = "you" in source.words[at : source.longest(at, TO_DO)]
        if self._complete and asks_you and self.clause(at):
            # "The toaster is still on can you turn it off".
            goes_on = True
        if self._complete and not goes_on:
            return self._passing(at, self._reason(at))
        end = self._main(at)
        self._complete = end > 0
        return end if end > 0 else self._passing(at, self._rest(at))

    def _passing(self, at: int, end: int) -> int:
        """Notes that the words up to a position ask for nothing."""
        self._ignored.update(range(at, end))
        return end

    @property
    def passed(self) -> frozenset[int]:
        """The positions of words that ask for nothing, or only say what is spoken of."""
        spans = [range(do.start, do.end) for do in (*self.order.mentions, *self.order.reasons)]
        # Slicing takes a knife anyway, and cleaning what cleans.
        spans += [range(t.start, t.end) for do in self.order.requests for t in do.tools
                  if isinstance(t, Noun) and not t.described
                  and (self._source.word(t.end) == "to" or not self.place(t.end))
                  and (("sliced" in do.states and includes("knife", t.kind))
                       or ({*do.states} <= {"clean", "dusted"} and t.kind in _CLEANERS))
                  ]  # fmt: skip
        for do in self.order.requests:
            for thing in do.things:
                for out in thing.instead_of if isinstance(thing, Noun) else ():
                    wheres = out.where if isinstance(out, Noun) else []
                    spans.append(range(out.start, max((out.end, *(w.end for w in wheres)))))
        return frozenset(self._ignored.union(*spans))

    @property
    def remarks(self) -> frozenset[int]:
        """The positions of words that were passed over."""
        return frozenset(self._ignored)

    def outside(self) -> tuple[str, ...]:
        """The runs of words that belong to no request, as they were written."""
        order, source = self.order, self._source
        about = (*order.requests, *order.throughout)
        inside = {at for do in about for at in range(do.start, do.end)}
        out = [at for at in range(source.size) if at not in inside and source.tokens[at].is_word]
        runs = [at for at in out if at - 1 not in out]
        ends = [at + 1 for at in out if at + 1 not in out]
        return tuple(source.quote(*run) for run in zip(runs, ends, strict=True))

    @property
    def source(self) -> Source:
        """The words that were read, without what was taken back."""
        return self._source

    def _turning(self, at: int) -> int:
        """Reads "turn left" and "take a step forward" on the way to a place that is named later."""
        source = self._source
        if not (end := source.longest(at, TURNS)):
            return 0
        if source.word(end) in ("at", "near", "by") and (corner := self.place(end)):
            # "Turn right at the fridge".
            end = corner[1]
        i = end + (source.word(end) == "to" and any(verbs_at(source.words, end + 1)))
        if i == end and source.word(end) not in (",", "and", "then", *STOPS, ""):
            return 0
        self._turns.append((at, end))
        return i

    def _so(self, at: int) -> int:
        """Reads "So I can sit", a reason, and not "so please sit"."""
        if self._source.word(at) != "so" or self.clause(at + 1):
            return 0
        return self._reason(at)

    def _no_no(self, at: int) -> int:
        """Reads "No, no" before anything else."""
        end = at
        while end < 6 and self._source.word(end) in ("no", "nope", "nah", ",", "!", "."):
            end += 1
        said = at == 0 and end > 1 and self._source.word(0) in ("no", "nope", "nah")
        return self._passing(at, end) if said else 0

    def _not_there(self, at: int) -> int:
        """Reads "No, not on the bed! Put the shoes on the rack": where they are or nearly were."""
        source = self._source
        if self._sentence or source.word(at) != "not" or not (place := self.places(at + 1))[0]:
            return 0
        ends = source.word(place[1]) in STOPS and place[1] + 1 < source.size
        return self._passing(at, place[1]) if ends else 0

    def _topic(self, at: int) -> int:
        """Reads "Whichever mug you find first, bring it": the thing stands before the command."""
        source = self._source
        if self._sentence:
            return 0
        found = self.objects(at)
        if found is None or source.word(found[1]) != "," or not self._no_targets(found[0]):
            return 0
        after = self._next_clause(found[1] + 1)
        if after is None or not set(source.words[found[1] : after[1]]) & {
            "it",
            "them",
            "those",
            "these",
            "they",
            "both",
            "that",
            "this",
        }:
            return 0
        if not self.verb_phrase(self.skip(found[1] + 1), {Form.BASE}) and not self._polite(
            self.skip(found[1] + 1)
        ):
            return 0
        things = self.attach(found[0])
        self._discourse.accept(Do(Act.MENTION, things, at, found[1]))
        return found[1]

    def _end_sentence(self) -> None:
        if self._open_condition is not None:
            raise self._source.unknown(*self._open_condition)
        self._within, self._wishing, self._complete = None, False, False
        for do in self._pending:
            self.order.add(do, then=bool(self._sentence))
        self._pending, self._sentence, self._conditions = [], [], []
        self._before_do = None
        self._forms, self._given = frozenset({Form.BASE}), []

    def _mark(self, at: int) -> int:
        """Words between clauses: order words, "and", commas, politeness."""
        source = self._source
        word = source.word(at)
        if source.longest(at, ALSO) or (self._complete and word in ("up", "down", "around")):
            # "Bring the suitcases up": to another floor.
            return 0
        if word == "only" and not self._sentence and self.verb_phrase(at + 1, {Form.BASE}):
            # "Only bring the red plates".
            return at + 1
        if end := self._numbered(at) or self._not_otherwise(at):
            return end
        if end := source.starts(at, "yourself", "by yourself"):
            for do in self._previous:
                do.who = Actor.ROBOT
            return end
        if end := source.longest(at, THEN):
            going_on = any(Form.ING in found.forms for found in verbs_at(source.words, end))
            if (
                not going_on
                and not (word == "next" and source.word(at + 1) == "to")
                and not self._reads_on(at, end)
            ):
                trails = self._ends(end) and (
                    source.word(end) != "," or source.starts(end, ", please")
                    or (self._complete and word == "afterwards")
                )  # fmt: skip
                if self._sentence and trails:
                    self._move_to_end(self._sentence[-1])
                else:
                    self._then = True
                return end
        if (end := source.longest(at, FIRST)) and not self._reads_on(at, end):
            if self._sentence and (
                (self._ends(end) and source.word(end) != ",") or source.word(end) == "and"
            ):
                self._come_first(self._sentence[-1])
            elif (
                not self._sentence
                and self.order.requests
                and source.word(at) != "start"
                and self._vague_before([]) is None
            ):
                # "Close the fridge last. First bring me the yogurt."
                raise source.unknown(at, end)
            if at == 0 and source.starts(end, ", help me", "help me"):
                # "First, help me set the table. Put the forks on it": orders nothing.
                self._passing(at, end)
            return end
        if end := source.longest(at, BEFORE_THAT):
            self._reverse, self._then = True, False
            return end
        if (end := source.longest(at, MEANWHILE)) and word not in ("while", "besides"):
            return end
        if word == "with" and self._arranging(at + 1):
            return at + 1
        if word == "to" and source.word(at + 1) in ("put", "place") and self._sentence:
            # "Wash a fork to put on the desk"; not "bring a fork to put on it".
            done = self._sentence[-1]
            return at + 1 if done.act is Act.MAKE or done.tempers else 0
        if word in (",", "and", "but", "plus", "or", "&"):
            return 0 if word == "or" else at + 1
        end = source.longest(at, FILLERS)
        if end and source.longest(at, TO_DO) >= end and self._polite(at):
            # "Would you" asks before a clause and is only polite after one.
            return 0
        is_subject = source.word(end) in ("is", "was", "are")
        return end if end and not is_subject and not self._reads_on(at, end) else 0

    def _arranging(self, at: int) -> bool:
        """Reads "place them on the table, with the fork next to the plate"."""
        if not self._sentence or self._source.word(at - 2) != ",":
            return False
        gap = self._gap(at)
        return gap is not None and all(
            do.act is Act.MOVE and any(w.relation is Relation.NEXT_TO for w in do.to)
            for do in gap[0]
        )

    def _not_otherwise(self, at: int) -> int:
        """Reads ", not before" at the end of "A after B": the same order once more."""
        source = self._source
        said = _ORDER_SAID.get(source.word(at + 1)) if source.word(at) == "not" else None
        if not said or said.isdisjoint(source.words[:at]) or not self._ends(at + 2):
            return 0
        self._ignored.update((at, at + 1))
        return at + 2

    def _numbered(self, at: int) -> int:
        """Reads "1)", "2." in front of a step."""
        number, mark = self._source.word(at), self._source.word(at + 1)
        if not number.isdecimal() or mark not in (")", ".", ":"):
            return 0
        if int(number[:3]) != self._numbers + 1:
            return 0
        self._numbers += 1
        self._end_sentence()
        self._then = number != "1"
        return at + 2

    def _reads_on(self, at: int, end: int) -> bool:
        """Whether words that could be skipped begin a clause that can be read."""
        found = self.clause(at) if self._source.word(at) not in ("please", "just", "now") else None
        after = end + (self._source.word(end) == ",")
        return found is not None and found[1] > end and not self.clause(after)

    def _main(self, at: int) -> int:
        """A main clause, or what a clause before it completes."""
        if (found := self._next_clause(at)) is None:
            return 0
        dos, end = found
        end = self._trailing_only(dos, end)
        if self._source.longest(self.skip(at), STARTING) and self.order.requests:
            for do in dos:
                self._discourse.accept(do)
                self.order.add_before(do, 0)
            return end
        for do in dos:
            self._share_place(do)
            self._take_from_there(do)
            if do.spells_out is not None:
                self._spell_out(do, do.spells_out)
        too = self._source.longest(end, TOO)
        if any((too and self._nowhere_said(do)) or self._is_share(do) for do in dos):
            raise self._source.ask(AskReason.WHERE, at, end)
        self._accept(dos)
        return end

    def _next_clause(self, at: int) -> Dos | None:
        source = self._source
        if found := (
            self._see_to_it(at) or self._fronted(at) or self._fronted_exception(at)
            or self._my_part(at)
        ):  # fmt: skip
            return found
        last = self._previous[-1] if self._previous else None
        if last is not None and last.occasion is Occasion.TIDY and (
            source.word(at) == "do" and source.word(at + 1) != "not"
        ):  # fmt: skip
            # "Tidy up the bedroom. Next, do the bathroom".
            return self._gap(at)
        if self._wishing and (found := self.statement(at, wish=True)):
            return found
        if self._wishing and source.word(at) == "that":
            # "Make sure that the cup is clean and that the plate is on the table".
            return self.statement(at + 1, wish=True) or self.clause(at)
        given = list(self._given) if self._sentence else []
        if (
            source.word(at - 1) in ("and", "to")
            and given
            and not (self.item(at + 1) or source.starts(at + 1, "the door"))
        ):
            found = self.verb_phrase(at, {Form.PAST}, given)
            if found and all(do.to or do.states for do in found[0]):
                # "I want the plates washed and put in the cabinet".
                return found
        candidates: list[Dos] = []
        if self._forms != {Form.BASE} and (found := self.verb_phrase(at, self._forms)):
            candidates.append(found)
        if self._sentence and (found := self._placing(at)):
            candidates.append(found)
        gap = self._gap(at)
        if gap and not self._complete_at(gap[1]):
            # "The milk in the fridge has gone off".
            gap = None
        if gap and self._continues(at, gap):
            return gap
        candidates += [found for found in (self.clause(at), gap, self._my_share(at)) if found]
        if given and (found := self.verb_phrase(at, {Form.PAST}, given)):
            candidates.append(found)
        if at == 0 and source.words[-1] != "?" and (found := self.verb_phrase(0, {Form.ING})):
            # "Putting a plate in the sink", as a heading.
            candidates.append(found)
        if not candidates:
            return None
        best = max(candidates, key=lambda found: found[1])
        self._wishing = self._wishes(at)
        forms = [f.forms for f in verbs_at(source.words, at)]
        if any(Form.ING in f for f in forms) and candidates and not self._sentence:
            self._forms = frozenset({Form.ING})
        return best

    def _my_share(self, at: int) -> Dos | None:
        """Reads "You fill the bucket, then I clean the bathtub"."""
        if not any(do.who is Actor.ROBOT for do in self._previous):
            return None
        found = self._own_work(at)
        return found if found and all(do.act in (Act.MOVE, Act.MAKE) for do in found[0]) else None

    def _complete_at(self, end: int) -> bool:
        """Whether a clause without a verb may end here: not before a verb."""
        verb = self._source.word(end)
        inflected = verb.endswith(("s", "ed")) and not known(verb) and verb.isalpha()
        return verb not in PREDICATES | AUXILIARIES and not inflected

    def _continues(self, at: int, gap: Dos) -> bool:
        """Whether things and places go on a list: "the red one on the shelf, the blue one ..."."""
        last = self._previous[-1] if self._sentence and self._previous else None
        return (
            last is not None and last.act is Act.MOVE and bool(last.to)
            and all(do.act is Act.MOVE and do.to for do in gap[0])
            and self._source.word(gap[1]) in (",", "and")
            and not any(verbs_at(self._source.words, at))
        )  # fmt: skip

    def _left_out(self, at: int) -> Pronoun | None:
        """Reads "Heat the pie and place on the table": "it" is left out, and a place follows."""
        last = self._previous[-1] if self._previous and self._sentence else None
        if last is None or not last.things or last.act not in (Act.MOVE, Act.MAKE, Act.MENTION):
            return None
        for found in verbs_at(self._source.words, at):
            end = at + found.length
            tempers = found.verb.frame in (Frame.HEAT, Frame.COOL)
            moves = tempers or found.verb.frame in (Frame.PUT, Frame.CARRY, Frame.AWAY)
            changes = tempers or found.verb.frame is Frame.MAKE
            joined = self._source.word(end) in (",", "and", "then")
            if (moves and self.place(end)) or (changes and joined):
                plural = any(isinstance(thing, Noun) and several(thing) for thing in last.things)
                number = 2 if len(last.things) > 1 or plural else 1
                return Pronoun("them" if number == 2 else "it", number, end, end)
        return None

    def _placing(self, at: int) -> Dos | None:
        """Reads "..., placing them next to each other"."""
        last = self._previous[-1] if self._previous else None
        if last is None or last.act is not Act.MOVE:
            return None
        found = self.verb_phrase(at, {Form.ING})
        moves = found is not None and all(do.act is Act.MOVE for do in found[0])
        about = found[0][0].things[:1] if found else []
        return found if moves and about and isinstance(about[0], Pronoun) else None

    def _trailing_only(self, dos: list[Do], end: int) -> int:
        """Reads "..., the latter first" puts one of two moves before the other."""
        source = self._source
        i = end + (source.word(end) == ",")
        which = source.starts(i, "the latter first", "the former last", "the second one first")
        if which and len(dos) == 1 and dos[0].act is Act.MOVE and len(dos[0].things) == 2:
            first, second = dos[0].things
            dos[0].things = [second]
            later = copy.copy(dos[0])
            later.things, later.to = [first], list(dos[0].to)
            dos.append(later)
            self._force_then = later
            return which
        return end
