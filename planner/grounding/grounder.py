"""Turns a goal's requests into propositions over known things, more as more becomes known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from planner.grounding.binding import Binding, Bindings, Choice, Former, choice_json, choice_of
from planner.grounding.drafts import UNWEIGHED, Draft, Drafts, Hold, criteria_at_end, predicate_of
from planner.grounding.places import UNMEASURED, Places
from planner.grounding.records import Grounding, Question, Unbound, Why, request_words, words_of
from planner.grounding.scene import Scene, as_first_known, can_open, every_one, without_taken_back
from planner.grounding.spots import purposes, start_of
from planner.language.goal_form import (
    Description,
    Find,
    Follow,
    Go,
    Goal,
    Grasp,
    Guide,
    Leave,
    Make,
    Meet,
    Mention,
    Move,
    Never,
    NounPhrase,
    OneOf,
    Place,
    Prepare,
    Request,
    Tell,
    phrases_of,
    phrases_within,
)
from planner.language.lexicon import (
    JOINT_STATES,
    PERSON,
    Actor,
    Amount,
    Arrangement,
    Occasion,
    Relation,
    Spot,
    Topic,
    affordance_of,
)
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind

# What an occasion stands for, as requests of the same form.

_SETTING = ("plate", "cutlery")
_DRINKS = {Occasion.MAKE_COFFEE: "filled with coffee"}
_CUP = "served"


def requests_of(prepare: Prepare) -> tuple[Request, ...]:
    """What has to be done; nothing if no state of the catalogue says when it is done."""
    if prepare.occasion is Occasion.SET_TABLE:
        return (_set_table(prepare),)
    if prepare.occasion is Occasion.TIDY:
        return (_tidy(prepare),)
    state = _DRINKS.get(prepare.occasion)
    if state is None:
        return ()
    cup = Description(kind="cup", count=prepare.people or 1, label=_CUP)
    made = Make(things=(cup,), states=(state,))
    if prepare.at is None:
        return (made,)
    return made, Move(
        things=(Mention(label=_CUP),), to=(Place(relation=Relation.AT, anchor=prepare.at),)
    )


def _set_table(prepare: Prepare) -> Move:
    count = prepare.people or 1
    glass, cup = (Description(kind=kind, count=count) for kind in ("glass", "cup"))
    table = prepare.at or Description(kind="dining table", definite=True)
    return Move(
        things=(
            *(Description(kind=kind, count=count) for kind in _SETTING),
            OneOf(one_of=(glass, cup)),
        ),
        to=(Place(relation=Relation.ON_TOP, anchor=table),),
    )


def _tidy(prepare: Prepare) -> Move:
    where = () if prepare.at is None else (Place(relation=Relation.AT, anchor=prepare.at),)
    things = Description(kind="thing", count=Amount.ALL, where=where)
    return Move(things=(things,), to=(Place(relation=Relation.AT, anchor=Spot.USUAL),))


def _described(request: Request) -> Iterator[Description]:
    """All that a request describes: things, places and persons, and what describes these."""
    inner = (part for phrase in phrases_of(request) for part in phrases_within(phrase))
    return (part for part in inner if isinstance(part, Description))


class Grounder:
    """One pass over a goal; arguments as of `Bindings`."""

    def __init__(
        self,
        goal: Goal,
        scene: Scene,
        choices: Mapping[str, Choice],
        bound: Mapping[str, tuple[str, ...]],
        searched: frozenset[str],
        *,
        settle: bool,
        tied: bool = False,
        former: Former | None = None,
    ) -> None:
        self._goal, self._scene = goal, scene
        self._bindings = Bindings(
            scene,
            choices,
            bound,
            searched,
            settle=settle,
            tied=tied,
            purposes=purposes(goal, scene),
            former=former,
        )
        self._drafts = Drafts(scene)
        self._places = Places(scene, self._bindings, self._drafts)
        self._going: list[tuple[str, ...]] = []
        self._found: tuple[str, ...] = ()
        self._grasped: list[tuple[str, ...]] = []
        self._request_texts: list[str] = []

    def ground(self) -> Grounding:
        """The goal in known names, and what is open."""
        steps = [
            (k, request) for k, requests in enumerate(self._goal.steps) for request in requests
        ]
        every = [*steps, *((None, request) for request in self._goal.any_time)]
        for index, (step, request) in enumerate(every):
            self._request_texts.append(request_words(request))
            if self._applies(request, index):
                self._take(request, index, step, f"{index}")
        opened = self._bindings.open
        # Nothing else in the world shows that something was found.
        going = self._going or ([self._found] if self._found else [])
        unbound = (
            replace(u, words=u.words or self._request_texts[u.request]) for u in opened.unbound
        )
        return Grounding(
            evaluation=self._drafts.evaluation(),
            criteria=criteria_at_end(going, self._grasped),
            requests=tuple(draft.request for draft in self._drafts.all),
            request_words=tuple(self._request_texts),
            missing=tuple(opened.missing.values()),
            open_ended=tuple(opened.open_ended.values()),
            questions=tuple(opened.questions.values()),
            unbound=tuple(unbound),
            bound=self._bindings.bound,
            words=self._bindings.words,
        )

    def _applies(self, request: Request, index: int) -> bool:
        """Whether it is to be done now; who does it, and its conditions."""
        if request.who is Actor.SPEAKER:
            self._note(index, Why.SPEAKER, "You do that.")
            return False
        for k, phrase in enumerate(request.only_if):
            there = self._bindings.exists(phrase, f"{index}.only_if.{k}", index)
            if there is False:
                self._note(index, Why.CONDITION, f"There is no such thing: {words_of(phrase)}.")
            if not there:
                return False
        for k, phrase in enumerate(request.unless):
            there = self._bindings.exists(phrase, f"{index}.unless.{k}", index)
            if there:
                self._note(index, Why.CONDITION, f"There is {words_of(phrase)}.")
            if there is not False:
                return False
        return True

    def _note(self, index: int, why: Why, text: str, names: tuple[str, ...] = ()) -> None:
        unbound = Unbound(index, self._request_texts[index], why, text, names)
        self._bindings.open.unbound.append(unbound)

    def _take(self, request: Request, index: int, step: int | None, path: str) -> None:
        if isinstance(request, Meet | Follow | Guide) or any(
            part.kind == PERSON for part in _described(request)
        ):
            self._note(index, Why.UNSAYABLE, "Nothing measures what is done with people.")
        elif untold := next(filter(self._bindings.fitting.untold, _described(request)), None):
            which = words_of(every_one(untold)).removeprefix("all ")
            known = "" if untold.where else " that are known"
            text = f"The {which}{known} cannot be told apart by where they are."
            self._note(index, Why.UNSAYABLE, text)
        elif isinstance(request, Tell):
            self._tell(request, index, path)
        elif isinstance(request, Move):
            self._move(request, index, step, path)
        elif isinstance(request, Make):
            self._make(request, index, step, path)
        elif isinstance(request, Leave):
            self._leave(request, index, path)
        elif isinstance(request, Never):
            self._never(request, index, path)
        elif isinstance(request, Find):
            self._find(request, index, step, path)
        elif isinstance(request, Grasp):
            for _, binding in self._bound(request.things, index, path, self._fixed):
                self._grasped.append(binding.names)
        elif isinstance(request, Go):
            self._go(request, index, step, path)
        else:
            self._prepare(request, index, step, path)

    def _move(self, request: Move, index: int, step: int | None, path: str) -> None:
        if request.arrangement in (Arrangement.APART, Arrangement.STACKED):
            text = f"Nothing measures whether things are {request.arrangement}."
            self._note(index, Why.UNSAYABLE, text)
            return
        for place in request.to:
            if place.relation in UNMEASURED:
                where = f"{place.relation.replace('_', ' ')} {words_of(place.anchor)}"
                text = f"Nothing measures whether something is {where}."
                self._note(index, Why.UNSAYABLE, text)
        if request.to and all(place.relation in UNMEASURED for place in request.to):
            # Nothing is looked for, nor asked, that would not help.
            return
        things = list(self._bound(request.things, index, path, self._fixed))
        for k, place in enumerate(request.to):
            if place.relation in UNMEASURED:
                continue
            where = f"{path}.to.{k}"
            self._places.put(things, place, index, step, where, meant=request.things)
        if request.arrangement is Arrangement.TOGETHER:
            self._together([binding for _, binding in things], index, step)

    def _together(self, things: Sequence[Binding], index: int, step: int | None) -> None:
        """Each thing is next to another one: a list of choices for each that is meant."""
        lists = [
            ((name,) if not binding.is_choice else binding.names)
            for binding in things
            for name in binding.names[: binding.number]
        ]
        if len(lists) == 2:
            first, second = lists
            self._drafts.add(Draft(index, step, "is_next_to", (first, second)))
        elif len(lists) > 2:
            self._drafts.add(Draft(index, step, "is_clustered", tuple(lists)))

    def _make(self, request: Make, index: int, step: int | None, path: str) -> None:
        for state in request.states:
            predicate = predicate_of(state)
            shut = [words_of(phrase) for phrase in request.things if not can_open(phrase)]
            if state in JOINT_STATES and shut:
                self._note(index, Why.UNFIT, f"Nobody can make {' and '.join(shut)} {state}.")
                continue
            for _, binding in self._bound(request.things, index, path, self._unable(state)):
                if state == "sliced":
                    binding = self._sliced(binding)
                for names, number in binding.parts:
                    keys = (binding.tie, "")
                    self._drafts.add(Draft(index, step, predicate, (names,), number, keys))

    def _sliced(self, binding: Binding) -> Binding:
        """What things are when they are sliced: their slices, for what is divided so."""
        parts = {
            name: tuple(piece.name for piece in self._scene.slices if piece.whole == name)
            for name in binding.names
        }
        if not any(parts.values()):
            return binding
        names = tuple(part for name in binding.names for part in parts[name] or (name,))
        if not binding.is_choice:
            self._drafts.divide(parts)
            return replace(binding, names=names, number=len(names))
        return replace(binding, names=names, loose=True)

    def _leave(self, request: Leave, index: int, path: str) -> None:
        for _, binding in self._bound(request.things, index, path, {}, quiet=True):
            for name in binding.names:
                target = start_of(self._scene, self._scene.things[name])
                if self._scene.things[name].kind is EntityKind.OBJECT and target is not None:
                    predicate, second = target
                    lists = ((name,), second)
                    self._drafts.add(Draft(index, None, predicate, lists, hold=Hold.ALWAYS))
                for predicate in self._states_of(name):
                    self._drafts.add(Draft(index, None, predicate, ((name,),), hold=Hold.ALWAYS))

    def _states_of(self, name: str) -> Iterator[str]:
        """What stays as it is: what is known and usual things have, such as being off."""
        thing, table = self._scene.things[name], default_states()
        for state, value in sorted(thing.states.items()):
            able = table.affordance_of.get(state) in thing.affordances
            if able and state in table.defaults and table.word(state, value=value):
                yield table.predicate(state, value=value)

    def _never(self, request: Never, index: int, path: str) -> None:
        things = list(self._bound(request.things, index, path, {}, quiet=True))
        for k, place in enumerate(request.to):
            self._places.put(things, place, index, None, f"{path}.to.{k}", hold=Hold.NEVER)
        for state in request.states:
            unable, predicate = self._unable(state), predicate_of(state)
            for _, binding in things:
                for name in binding.names:
                    if name not in unable:
                        draft = Draft(index, None, predicate, ((name,),), hold=Hold.NEVER)
                        self._drafts.add(draft)

    def _find(self, request: Find, index: int, step: int | None, path: str) -> None:
        for phrase, binding in self._bound(request.things, index, path, {}):
            if self._is_last(step):
                self._found = binding.names
            text = f"{words_of(phrase)}: {', '.join(map(self._where, binding.names))}."
            self._note(index, Why.FIND, text[0].upper() + text[1:], binding.names)

    def _tell(self, request: Tell, index: int, path: str) -> None:
        """What things are there, or look like, for the speaker; it is looked where they must be."""
        phrase = next(iter(request.things), None)
        if request.to is not Spot.ME or not isinstance(phrase, Description):
            text = f"No planner tells this yet: {request.topic.replace('_', ' ')}."
            self._note(index, Why.UNSAYABLE, text)
        elif request.topic is Topic.WHICH and phrase.pick in UNWEIGHED:
            self._note(index, Why.UNSAYABLE, f"Nothing measures which one is the {phrase.pick}.")
        elif request.topic in (Topic.COUNT, Topic.WHICH):
            self._tell_of_all(request.topic, phrase, index, path)
        else:
            for _, binding in self._bound((phrase,), index, path, {}):
                looks = {self._look(request.topic, name) or "unknown" for name in binding.names}
                text = f"The {request.topic} of {words_of(phrase)}: {', '.join(sorted(looks))}."
                self._note(index, Why.FIND, text, binding.names)

    def _look(self, topic: Topic, name: str) -> str | None:
        thing = self._scene.things[name]
        return thing.color if topic is Topic.COLOR else thing.material

    def _tell_of_all(self, topic: Topic, phrase: Description, index: int, path: str) -> None:
        """How many things fit, or which of them is the biggest, once they are known."""
        places: set[str] = set()
        for k, place in enumerate(phrase.where):
            anchors = self._places.anchors(place, index, f"{path}.where.{k}")
            if not anchors:
                # It is asked which one, or said that there is none.
                return
            places.update(anchors)
        if topic is Topic.WHICH:
            # "The fruit" may be all of it elsewhere.
            phrase = phrase.model_copy(update={"count": 1, "definite": True})
        every = every_one(phrase)
        opened = self._bindings.open
        failures = len(opened.unbound)
        list(self._bound((every,), index, path, {}))
        # That there is none is an answer.
        del opened.unbound[failures:]
        fitting = self._bindings.fitting
        names = [
            name
            for name in fitting.names(phrase if topic is Topic.WHICH else every)
            if not places or not places.isdisjoint(self._around(name))
        ]
        said = ", ".join(f"{name} {self._where(name)}" for name in names)
        if topic is Topic.WHICH:
            text = f"{words_of(phrase)}: {said or 'there is none'}."
        else:
            listed = f" ({said})" if said else ""
            text = f"{words_of(every)}: {len(names)}{listed}."
        self._note(index, Why.FIND, text[0].upper() + text[1:], tuple(names))

    def _around(self, name: str) -> set[str]:
        """What a thing is on or in, and its room."""
        return {thing.name for thing in self._scene.holders(name)} | {
            self._scene.things[name].room or ""
        }

    def _where(self, name: str) -> str:
        thing = self._scene.things[name]
        parent = self._scene.things.get(thing.parent or "")
        if parent is None or parent.kind is EntityKind.ROOM:
            return f"in {thing.room or 'an unknown room'}"
        return f"at {parent.name}" + (f" in {thing.room}" if thing.room else "")

    def _go(self, request: Go, index: int, step: int | None, path: str) -> None:
        for k, place in enumerate(request.to):
            names = self._places.anchors(place, index, f"{path}.to.{k}")
            if names and self._is_last(step):
                self._going.append(names)
            elif names:
                self._note(index, Why.DONE, "Only where the robot is at the end is measured.")

    def _is_last(self, step: int | None) -> bool:
        return step is None or step == len(self._goal.steps) - 1

    def _prepare(self, request: Prepare, index: int, step: int | None, path: str) -> None:
        requests = requests_of(request)
        if not requests:
            text = f"Nothing measures whether somebody did this: {self._request_texts[index]}."
            self._note(index, Why.UNSAYABLE, text)
        for k, inner in enumerate(requests):
            self._take(inner, index, step, f"{path}.{k}")

    def _bound(
        self,
        phrases: Sequence[NounPhrase],
        index: int,
        path: str,
        unable: Mapping[str, str],
        *,
        quiet: bool = False,
    ) -> Iterator[tuple[NounPhrase, Binding]]:
        for k, phrase in enumerate(phrases):
            binding = self._bindings.bind(
                phrase, f"{path}.things.{k}", index, able=unable, quiet=quiet
            )
            if binding is not None:
                yield phrase, binding

    @property
    def _fixed(self) -> Mapping[str, str]:
        """What cannot be carried."""
        return {
            name: f"{name} cannot be carried."
            for name, thing in self._scene.things.items()
            if thing.kind is not EntityKind.OBJECT
        }

    def _unable(self, state: str) -> Mapping[str, str]:
        """What cannot have a state."""
        affordance = affordance_of(state)
        return {
            name: f"{name} cannot be {state}."
            for name, thing in self._scene.things.items()
            if affordance not in thing.affordances
        }


# Binds a goal's descriptions to known things, more of them as more becomes known.


class Binder:
    """A goal over descriptions, and the things that they mean so far.

    What a description once was bound to stays bound, even where later knowledge fits better; but
    what a memory takes back before anybody touched it is forgotten, as it may never have been there
    or is known by another name now.

    Args:
        goal: what the instruction means.
        choices: what was answered already, by the keys of descriptions.
        settle: never ask: where several fit, any of them will do.
        tied: but the same one wherever the goal says "the table".
        former: what a former goal has settled.
    """

    def __init__(
        self,
        goal: Goal,
        choices: Mapping[str, Choice] | None = None,
        *,
        settle: bool = False,
        tied: bool = False,
        former: Former | None = None,
    ) -> None:
        self.goal = goal
        self._former = former
        self._words: dict[str, str] = {}
        self._choices = dict(choices or {})
        self._settle, self._tied = settle, tied
        self._searched: set[str] = set()
        self._first: Scene | None = None
        self._bound: dict[str, tuple[str, ...]] = {}

    def update(self, scene: Scene) -> Grounding:
        """The goal in the names of what is known now."""
        if self._first is None:
            self._first = scene
        else:
            first = without_taken_back(self._first, scene)
            lost = self._first.things.keys() - first.things.keys()
            self._bound = {
                key: tuple(name for name in names if name not in lost)
                for key, names in self._bound.items()
            }
            self._first = as_first_known(first, scene)
        grounder = Grounder(
            self.goal,
            self._first.with_slices(),
            self._choices,
            self._bound,
            frozenset(self._searched),
            settle=self._settle,
            tied=self._tied,
            former=self._former,
        )
        found = grounder.ground()
        self._bound, self._words = dict(found.bound), dict(found.words)
        return found

    def continued(self, goal: Goal, other: str = "") -> Binder:
        """Another goal in the same task: what was settled stays, by descriptions in words.

        Args:
            goal: from now on.
            other: a description in words that means another thing than so far; "" = none.
        """
        before = self._former or Former()
        bound = {**before.bound, **{self._words[k]: names for k, names in self._bound.items()}}
        choices = {**before.choices, **{self._words.get(k, k): c for k, c in self._choices.items()}}
        gone = (*before.excluded.get(other, ()), *bound.pop(other, ()))
        choices.pop(other, None)
        excluded = {**before.excluded, **({other: gone} if other else {})}
        made = Binder(goal, settle=self._settle, former=Former(bound, choices, excluded))
        made._first, made._searched = self._first, set()
        return made

    def give_up(self, key: str) -> None:
        """Nothing more that fits a description can be found; `update` then counts without it."""
        self._searched.add(key)

    def answered(self, question: Question, text: str) -> bool:
        """Takes up an answer; False if it is not clear what it means."""
        if self._first is None:
            return False
        choice = choice_of(question, text, self._first)
        if choice is None:
            return False
        self._choices[question.key] = choice
        self._bound.pop(question.key, None)
        return True

    def whichever_is_meant(self, scene: Scene) -> Grounding:
        """The same goal where an open question does not matter, as the evaluator takes it."""
        first = scene if self._first is None else as_first_known(self._first, scene)
        return Binder(self.goal, self._choices, settle=True).update(first)

    @property
    def understood(self) -> dict[str, JsonValue]:
        """The goal as it is published for the evaluator, which binds it to the true world."""
        form = self.goal.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        former = self._former or Former()
        choices = {
            key: former.choices.get(words) or Choice(self._bound[key])
            for key, words in self._words.items()
            if words in former.choices or (words in former.excluded and self._bound.get(key))
        }
        settled = {**choices, **self._choices}
        answers: list[JsonValue] = [choice_json(k, choice) for k, choice in settled.items()]
        return {"understood": form, "answers": answers}
