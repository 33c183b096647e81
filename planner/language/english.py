"""The closed classes of English words that instructions need."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache

from planner.language.drafts import Way
from planner.language.lexicon import Pick, Relation
from planner.world.files import FileModel, read_model
from planner.world.share import config_dir

Words = tuple[str, ...]


class PhraseTables(FileModel):
    """`config/phrases.yaml`: words and phrases by name, verbs by frame, others by what is meant."""

    tables: dict[str, str]
    combinations: dict[str, tuple[str, ...]]
    verbs: dict[str, str]
    verbs_of_states: dict[str, str]
    prepositions: dict[str, str]
    there: dict[str, str]
    picks: dict[str, str]
    sides: dict[str, str]
    meanings: dict[str, dict[str, tuple[str, ...]]]
    spots: dict[str, str]
    arrangements: dict[str, str]
    rewordings: dict[str, str]
    likenesses: dict[str, str]


@cache
def phrase_tables() -> PhraseTables:
    """The file, read once."""
    return read_model(config_dir() / "phrases.yaml", PhraseTables)


def table(name: str) -> str:
    """The words or phrases of a name in `config/phrases.yaml`."""
    return phrase_tables().tables[name]


def phrases(text: str) -> frozenset[Words]:
    """Phrases that are separated by bars."""
    return frozenset(tuple(phrase.split()) for phrase in text.split("|"))


def products(*parts: str) -> frozenset[Words]:
    """Every phrase with one alternative of each part; alternatives are separated by bars."""
    choices = itertools.product(*(part.split("|") for part in parts))
    return frozenset(tuple(" ".join(choice).split()) for choice in choices)


def combined(name: str) -> frozenset[Words]:
    """The phrases of a name that the file spells by their parts."""
    lines = phrase_tables().combinations[name]
    return frozenset().union(*(products(*line.split(" + ")) for line in lines))


def meant(several: Mapping[str, str]) -> dict[Words, str]:
    """What each phrase means, of phrases by what is meant."""
    return {phrase: meaning for meaning, said in several.items() for phrase in phrases(said)}


def meanings(name: str) -> dict[Words, str]:
    """What each phrase of a name means, which the file spells by their parts."""
    return {
        phrase: meaning
        for meaning, lines in phrase_tables().meanings[name].items()
        for line in lines
        for phrase in products(*line.split(" + "))
    }


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


NUMBERS: Mapping[str, int] = {
    **{word: number for number, word in enumerate(table("up to twenty").split(), 1)},
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "hundred": 100,
    "dozen": 12,
}
NO_AMOUNTS = frozenset({"minus", "negative", "zero", "million", "billion", "infinite", "half", "-"})

THE = words(table("the"))
POSSESSIVES = frozenset({"my", "our", "your", "his", "her", "their", "its"})
PICKS = {said: Pick(pick) for said, pick in meant(phrase_tables().picks).items()}
RANKS = {word: number for number, word in enumerate(table("ranks").split(), 1)}
# They praise, blame or stress, and distinguish nothing.
EMPTY_ADJECTIVES = words(table("empty adjectives"))
HEATED, COOLED = words("heated warmed microwaved reheated"), words("chilled cooled refrigerated")
# Which thing they mean, only the person knows.
PRIVATE_ADJECTIVES = words(table("private adjectives"))
# Results without a measure of success.
VAGUE_RESULTS = words(table("vague results"))
GENERIC = frozenset({"stuff", "items", "objects", "belongings", "clutter", "thingies"})
GENERIC_ONE = frozenset({"item", "object", "thingy", "thingamajig"})
MASS = words(table("mass"))
# Plurals of one thing, beside those that the catalogue has as a name.
ONE_THING = words("shelves keys gloves mittens blocks cards") | {"glasses case"}
LIQUIDS = frozenset({"water", "coffee", "milk", "juice"})

PREPOSITIONS = {
    said: (Relation(meaning.split()[0]), Way(meaning.split()[1]))
    for said, meaning in meant(phrase_tables().prepositions).items()
}
PREPOSITION_WORDS = frozenset(PREPOSITIONS)
PICK_WORDS = frozenset(PICKS)

PEOPLE = words(table("people"))
FOR_SOMEBODY = products("for", "my|our|the|her|his|your|", "|".join(PEOPLE))
FILLERS = FOR_SOMEBODY | phrases(table("fillers"))
"""Phrases between clauses that change nothing."""
CHOICE = combined("choice") | phrases(table("choice"))
"""That any of several will do says no more than "a" does."""
LENGTHS = combined("lengths")
_TIMES = combined("times")
"""When, as far as nobody can measure it."""
INTERJECTIONS = phrases(table("interjections"))
INTERJECTIONS |= combined("interjections")
INTERJECTIONS -= phrases("i know|i recall|i remember|i am mistaken")
_ANYWHERE = phrases(table("anywhere"))
FILLERS |= CHOICE | LENGTHS | _TIMES | INTERJECTIONS
EDGE_FILLERS = FILLERS - _ANYWHERE | {("so",)}

THEN = phrases(table("then"))
FIRST = phrases(table("first"))
BEFORE_THAT = phrases(table("before that"))
THEN |= combined("then")
TURNS = combined("turns")
SIDEWAYS = phrases(table("sideways"))
"""How to turn and step, which a robot that finds its way does by itself."""
MEANWHILE = phrases(table("meanwhile"))


# The words of clauses that only say what is going on.

OPENERS = phrases(table("openers"))
PRONOUNS = words(table("pronouns"))
ARTICLES = words("the my our his her their a an your one another some all both every no")
AUXILIARIES = words(table("auxiliaries"))
PAST = words(table("past"))
# They ask, choose or limit, so that a clause with them is not a mere circumstance.
BINDING_MORE = words(table("binding more"))
WANTING = phrases(table("wanting"))
AIM = words("hear watch sleep sit relax cook eat read work see study play rest nap leave bake")
HARMLESS_KINDS = words(table("harmless kinds"))


# The fixed phrases within clauses and between them.

TO_DO = combined("to do") | phrases(table("to do"))
DOING = phrases(table("doing"))
SHALL_BE = combined("shall be") | phrases(table("shall be"))
TO_ME = combined("to me") | phrases(table("to me"))
MODALS = phrases(table("modals"))
STATING = phrases("are|is|was|were|are all|is all|has been|have been")
GOES = phrases(table("goes"))
MAY_GO = phrases(table("may go"))
MISPLACED = phrases(table("misplaced"))
SPEAKER = phrases(table("speaker"))
SPEAKER_DOING = phrases("i am | i will be")
SPEAKER_DID = phrases("i have | i had")
NOT = phrases(table("not"))
NOT_DOING = phrases("without|avoid|refrain from|stop short of|instead of")
NEEDS = phrases("need | needs | could do with | can do with | could use | can use")
NONE = phrases("none of | neither of | neither | no | not one of | not a single one of")
MAY_BE = products("may|should|must|can|shall|ought to|are to|is to", "be|stay|remain|be left")
HAS_BEEN = phrases("has been | have been")
GUESSED = phrases("there should be | there must be | there ought to be")
"""A wish, or where something is that is spoken of next."""
PRESUMED = phrases("should be|must be|ought to be|should all be|should still be")
"""They wish for a state of things, or suppose it."""
WEAK_WISHES = phrases("can | could | let")
MODALS |= phrases("can all be|can now be|can also be|may now be|is meant to be|are meant to be")
BINDING = MODALS - phrases(table("binding"))
"""Those that say how something should be, not how it is."""
ROBOT_DID = phrases("have | had")
ROBOT_DOING = phrases(table("robot doing"))
ROBOT_DOES = phrases("will | would")
EXISTING = phrases(table("existing"))
POINTING = phrases(table("pointing"))
"""They begin a question that only names what is spoken of."""
OWNERS = phrases(table("owners"))
OWNERS |= combined("owners")
HAVE = phrases(table("have"))
GUESSING = phrases("must be | should be | may be | might be")
STAYS = phrases(table("stays"))
GONE = combined("gone") | phrases(table("gone"))
"""After "where" and a thing."""
LEFT = combined("left")
WHERE_IT_IS = phrases(table("where it is"))


# The words between clauses, and of remarks that ask for nothing.
AFTER = phrases(table("after"))
BEFORE = phrases("before|prior to|right before|just before")
WHILE = phrases("while|whilst")
IF = phrases("if|in case|provided that|provided|as long as|should|only if")
REASONS = phrases(table("reasons"))
REASON_SUBJECTS = words(table("reason subjects"))
SEE_IT = phrases(table("see it"))
DONE = phrases(table("done"))
DONE_WORDS = words("in done there finished ready gone complete over inside through out away up")
QUESTIONS = words("where what who why how which is are was were do does did has have whose am when")
ALSO = phrases(table("also"))
TOO = phrases("too|as well|also|likewise|please")
CHAT_STARTS = words(table("chat starts"))
NO_REMARK = words("not never except only instead but unless rather no")
MENTAL = words(table("mental"))
STARTING = products("start|begin|start off", "by")
FOR_WHEN = phrases(table("for when"))
BARE_REASONS = phrases("in order to | because | otherwise | or else")
"""Reasons that need no subject of their own."""
NO_THINGS = words(table("no things"))
"""Words that name things elsewhere, but hardly in remarks."""
OCCASIONS = phrases(table("occasions"))
"""What is announced: the requests that follow say how it is done."""
JOINT_OCCASIONS = phrases("clean|clean up|tidy|tidy up|organize|organise|make|play|eat")
"""These announce after "let us" or "help me"; otherwise they are requests."""
JOINTLY = phrases(table("jointly"))
VAGUE_MOVES = phrases("move | bring | relocate | take | put | exchange")
VAGUE_THINGS = phrases(table("vague things"))
NAMED_LATER = words("locations places spots positions around")
