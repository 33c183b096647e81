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
    """`config/phrases.yaml`: words and phrases by name, verbs by frame, likenesses by kind."""

    tables: dict[str, str]
    verbs: dict[str, str]
    verbs_of_states: dict[str, str]
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


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_UP_TO_TWENTY = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
NUMBERS: Mapping[str, int] = {
    **{word: number for number, word in enumerate(_UP_TO_TWENTY.split(), 1)},
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "hundred": 100,
    "dozen": 12,
}
NO_AMOUNTS = frozenset({"minus", "negative", "zero", "million", "billion", "infinite", "half", "-"})

THE = words(table("the"))
POSSESSIVES = frozenset({"my", "our", "your", "his", "her", "their", "its"})
PICKS: Mapping[Words, Pick] = {
    tuple(word.split()): pick
    for pick, words in {
        Pick.NEAREST: "nearest|closest|nearer|closer",
        Pick.FARTHEST: "farthest|furthest|farther|further",
        Pick.BIGGEST: "biggest|largest|tallest|bigger|larger|taller",
        Pick.SMALLEST: "smallest|tiniest|littlest|smaller|tinier",
        Pick.HEAVIEST: "heaviest|heavier",
        Pick.LIGHTEST: "lightest",
        Pick.THINNEST: "thinnest|thinner",
        Pick.LEFTMOST: "left|leftmost|left hand",
        Pick.RIGHTMOST: "right|rightmost|right hand",
    }.items()
    for word in words.split("|")
}
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
ONE_THING = frozenset({
    "shelves", "keys", "gloves", "mittens", "glasses case", "blocks", "cards",
})  # fmt: skip
LIQUIDS = frozenset({"water", "coffee", "milk", "juice"})

_ON, _IN, _AT, _NEXT = Relation.ON_TOP, Relation.IN, Relation.AT, Relation.NEXT_TO
_STATIC, _TO, _FROM = Way.STATIC, Way.TO, Way.FROM
PREPOSITIONS: Mapping[Words, tuple[Relation, Way]] = {
    tuple(words.split()): meaning
    for meaning, several in {
        (
            _ON,
            _STATIC,
        ): "on|upon|over|on top of|atop|all over|on the top of|in the middle of|in the center of"
        "|in the centre of|at the center of|at the centre of|on the surface of"
        "|on the back of|on the edge of|on the end of|on the corner of",
        (_ON, _TO): "onto|on to|to the top of|to be on top of",
        (_IN, _STATIC): "in|inside|inside of|within|around|about|across|throughout|all around"
        "|all across|on the inside of|somewhere in",
        (_IN, _TO): "into|in to|to the inside of|to inside",
        (_AT, _STATIC): "at|over at|over by",
        (_AT, _TO): "to|over to|along to|up to|down to|back to|towards|toward|through to|off to"
        "|out to|across to",
        (
            _NEXT,
            _STATIC,
        ): "next to|beside|near|near to|by|close to|close by|alongside|adjacent to|right next to"
        "|right beside|against|by the side of|to the side of|in the vicinity of",
        (_NEXT, _TO): "closer to|nearer to|nearer|over next to",
        (Relation.UNDER, _STATIC): "under|underneath|below|beneath",
        (Relation.BEHIND, _STATIC): "behind|in back of|at the back of",
        (Relation.IN_FRONT_OF, _STATIC): "in front of",
        (Relation.LEFT_OF, _STATIC): "left of|to the left of|on the left of|on the left side of"
        "|on the left hand side of|to the left side of",
        (Relation.RIGHT_OF, _STATIC): "right of|to the right of|on the right of"
        "|on the right side of|on the right hand side of|to the right side of",
        (_AT, _FROM): "from|away from|over from",
        (_ON, _FROM): "off|off of|from the top of|from on top of|from off",
        (_IN, _FROM): "out of|from inside|from within|from out of|from in",
        (Relation.UNDER, _FROM): "from under|from underneath|from below|from beneath",
        (Relation.BEHIND, _FROM): "from behind",
        (_NEXT, _FROM): "from beside|from next to|from near",
        (Relation.IN_FRONT_OF, _FROM): "from in front of",
    }.items()
    for words in several.split("|")
}

PREPOSITION_WORDS = frozenset(PREPOSITIONS)
PICK_WORDS = frozenset(PICKS)

PEOPLE = words(table("people"))
FOR_SOMEBODY = products("for", "my|our|the|her|his|your|", "|".join(PEOPLE))
FILLERS = FOR_SOMEBODY | phrases(table("fillers"))
"""Phrases between clauses that change nothing."""
CHOICE = (
    products(
        "i|we|it|",
        "really|honestly|",
        "do not|does not|would not|am not|are not",
        "really|",
        "mind|care|matter|fussed|bothered|fussy|picky|fuss",
        "about|",
        "which|what|which one|which ones|what kind|what color|what colour|either way"
        "|how|what sort|what brand|at all|",
    )
    | products(
        "any|any one|either|either one|whichever|whatever|anyone|any of them|both",
        "will do|would do|is fine|is ok|works|will work|are fine|is good|would be fine"
        "|will be fine|is all right",
    )
    | products(
        "whichever|whatever|wherever",
        "one|",
        "you|i",
        "",
        "like|want|prefer|fancy|choose|wish|please",
    )
    | phrases(table("choice"))
)
"""That any of several will do says no more than "a" does."""
LENGTHS = products(
    "all|all of|the whole|the entire", "day|week|month|morning|night|afternoon|evening|weekend"
) | products(
    "for|in",
    "days|weeks|ages|hours|a week|a while|a long time|months|forever|so long"
    "|a few days|the whole day|quite some time|some time",
)
_TIMES = products(
    "before|by|in time for|ahead of",
    "the|our|my|",
    "bedtime|bed|dinner|dinnertime|lunch|lunchtime|breakfast|supper|tea time|teatime|noon|midday"
    "|midnight|nightfall|sunset|sunrise|dark|party|meeting|movie|film|match|game|show|weekend"
    "|work|school|class|visit|holidays|holiday|concert|exam|the end of the day|morning|evening"
    "|afternoon|night",
)
"""When, as far as nobody can measure it."""
INTERJECTIONS = phrases(table("interjections"))
INTERJECTIONS |= products(
    "when|whenever|if",
    "you",
    "get|have|find|have got",
    "a|the|a free|a spare|",
    "moment|minute|second|sec|chance|time",
)
INTERJECTIONS |= products(
    "as far as|if|unless|",
    "i am not mistaken|i am mistaken|i am not wrong|i recall|i recall correctly|i remember"
    "|i remember correctly|i know|i remember right",
) - phrases("i know|i recall|i remember|i am mistaken")
INTERJECTIONS |= products(
    "unbelievable|incredible|typical|ridiculous|annoying|annoyingly|strangely|oddly|weird|odd|silly"
    "|gross|yuck|hurray|hooray|great|perfect|awesome|amazing|brilliant|wonderful"
)
INTERJECTIONS |= products(
    "for",
    "the|my|our|a|tonight s|tomorrow s|",
    "breakfast|lunch|dinner|supper|brunch|picnic|party|meeting|movie|film|movie night|game night"
    "|visit|guests|craft afternoon|birthday|birthday party|trip|journey|holiday|school|work",
)
INTERJECTIONS |= products(
    "do me|do us", "a|one|this", "favour|favor|small favour|small favor|quick favour|quick favor"
) | products("your|the|next|new|a|", "job|task|chore|mission", ":|for you :|for now :|is this :")
INTERJECTIONS |= products("sorry to", "bug|pester|nag|interrupt", "you|you again")
INTERJECTIONS |= phrases("go go|go go go|quick march|schnell|let us go|off you go")
_ANYWHERE = phrases(table("anywhere"))
FILLERS |= CHOICE | LENGTHS | _TIMES | INTERJECTIONS
EDGE_FILLERS = FILLERS - _ANYWHERE | {("so",)}

THEN = phrases(table("then"))
FIRST = phrases(table("first"))
BEFORE_THAT = phrases(table("before that"))
THEN |= products(
    "and|",
    "when|once|after|as soon as|only when|only once",
    "both|all|everything|that|this|it"
    "|they"
    "|all that|all this|it all|all of that|all of this|both of those|all of it|that all|the rest"
    "|those|these|those two|that bit|that part",
    "is|are|has been|have been",
    "all|both|",
    "done|finished|complete|completed|ready|over|sorted|taken care of|sorted out|out of the way",
)
TURNS = products(
    "turn|veer|hang|bear|rotate|go|move|walk|step|head", "|all the way|back|slightly",
    "left|right|around|round|about|back around|forward|forwards|straight|ahead|straight ahead"
    "|to the left|to the right|to your left|to your right|a left|a right",
    "|again|slightly|twice|a little|a bit",
) | products(
    "take|make", "a|one|two|a few|a couple of", "step|steps|left|right|left turn|right turn",
    "|forward|forwards|back|left|right|to the left|to the right|to your left|to your right",
)  # fmt: skip
SIDEWAYS = phrases(
    "left|right|around|straight|to the left|to the right|to your left|to your right"
    "|across the room|across the kitchen"
)
"""How to turn and step, which a robot that finds its way does by itself."""
MEANWHILE = phrases(table("meanwhile"))


# The words of clauses that only say what is going on.

OPENERS = phrases(table("openers"))
PRONOUNS = words(table("pronouns"))
ARTICLES = words("the my our his her their a an your one another some all both every no")
AUXILIARIES = words(table("auxiliaries"))
PAST = words(table("past"))
# They ask, choose or limit, so that a clause with them is not a mere circumstance.
BINDING = words(table("binding more"))
WANTING = phrases(table("wanting"))
AIM = words("hear watch sleep sit relax cook eat read work see study play rest nap leave bake")
HARMLESS_KINDS = words(table("harmless kinds"))
