"""The words that say where: spots, arrangements, "there", and what stands before prepositions."""

from __future__ import annotations

from planner.language.tokens import STOPS
from planner.language.words import Arrangement, Relation, Spot

BEFORE_PREPOSITION = frozenset({
    "back", "down", "up", "over", "out", "right", "directly", "straight", "all", "nicely", "either",
    "somewhere", "anywhere", "neatly", "just", "safely", "both", "carefully", "gently", "quickly",
    "slowly", "quietly",
})  # fmt: skip
SPOTS: dict[str, Spot] = {
    phrase: spot
    for spot, several in {
        Spot.ME: "to me|to us|over to me|back to me|me|to my hand|to my hands|to my side",
        Spot.HERE: "over here|right here|to here|here|to where i am|where i am|to this room"
        "|in here",
        Spot.BACK: "back where it was|back where they were|where it was|where they were"
        "|back where it came from"
        "|back where they came from|back to where it was|back to where they were|where you found it"
        "|where you found them|where it came from|where they came from|back where you found it"
        "|back where you found them|where it was before|where they were before"
        "|to its original place"
        "|to their original places|in its original place|to where it was|to where they were",
        Spot.USUAL: "back where it belongs|back where they belong|where it belongs"
        "|where they belong"
        "|to where it belongs|to where they belong|where it goes|where they go|to its place"
        "|to their places"
        "|in its place|in their places|in its usual place|in their usual place"
        "|in their usual places"
        "|to its usual place|to their usual place|to their usual places|in its proper place"
        "|to its proper place"
        "|in their proper places|to their proper places|back in its place|back in their places"
        "|back to its place|back to their places|in their place|to their place|away"
        "|back in its usual place|back in their usual places|to its rightful place"
        "|where they all belong",
        Spot.ELSEWHERE: "elsewhere|somewhere else|to another place|anywhere else|to somewhere else"
        "|someplace else|to a different place|somewhere different",
    }.items()
    for phrase in several.split("|")
}  # fmt: skip
SPOT_WORDS = {tuple(phrase.split()): spot for phrase, spot in SPOTS.items()}
ARRANGEMENTS = {
    tuple(phrase.split()): arrangement
    for arrangement, several in {
        Arrangement.TOGETHER: "together|side by side|next to each other|next to one another"
        "|one next to the other|one beside the other|one right next to the other"
        "|beside each other"
        "|beside one another|close together|close to each other|in a row"
        "|right next to each other|in one place"
        "|near each other|close by each other|close to one another|near one another|in a line"
        "|in a row next to each other"
        "|in a group|grouped together|in a grouped fashion"
        "|in a row next to one another|right next to one another",
        Arrangement.APART: "apart|away from each other|far apart|away from one another"
        "|apart from each other"
        "|separate|far from each other|separated|well apart|separately",
        Arrangement.STACKED: "on top of each other|on top of one another|in a stack|in a pile"
        "|in one pile"
        "|in one stack|one on top of the other|stacked|stacked up",
    }.items()
    for phrase in several.split("|")
}  # fmt: skip
THERE = {
    ("there",): Relation.AT, ("over", "there"): Relation.AT, ("in", "there"): Relation.IN,
    ("on", "there"): Relation.ON_TOP, ("inside",): Relation.IN, ("up", "there"): Relation.ON_TOP,
    ("under", "there"): Relation.UNDER, ("to", "there"): Relation.AT,
    ("from", "there"): Relation.AT,
    ("back", "there"): Relation.AT, ("into", "there"): Relation.IN, ("underneath",): Relation.UNDER,
    ("to", "the", "same", "place"): Relation.AT, ("in", "the", "same", "place"): Relation.AT,
    ("down", "there"): Relation.AT, ("in", "the", "middle"): Relation.ON_TOP,
    ("in", "the", "center"): Relation.ON_TOP,
    ("in", "the", "centre"): Relation.ON_TOP, ("in", "between"): Relation.NEXT_TO,
    ("on", "top"): Relation.ON_TOP, ("next", "to", "that"): Relation.NEXT_TO,
}  # fmt: skip
SPOT_PHRASES = frozenset(SPOT_WORDS)
ARRANGEMENT_WORDS = frozenset(ARRANGEMENTS)
THERE_WORDS = frozenset(THERE)
CLAUSE_ENDS = STOPS | {"", ",", "and", "then", "before"}
# They say nothing of where something is or goes.
ANYWHERE_AT_ALL = (
    "in the house", "around the house", "in the whole house", "in this house", "at home",
    "in our house", "throughout the house",
    "anywhere in the house", "in the apartment", "in the flat", "of the house",
    "all over the house", "in the entire house",
    "from where they are", "from where it is", "to the appropriate places",
    "to the specified locations", "to their specified locations",
)  # fmt: skip
FROM_HERE = (
    "from their current locations", "from the current locations", "from its current location",
)  # fmt: skip
ANOTHER_ONE = tuple(
    f", but {one} than where {they} {are}"
    for one in ("a different one", "another one")
    for they in ("they", "it")
    for are in ("started", "start", "are", "were", "is", "was")
)
TRASH = frozenset({"trash", "garbage", "rubbish", "waste"})
SIDES = (Relation.LEFT_OF, Relation.RIGHT_OF, Relation.BEHIND, Relation.IN_FRONT_OF)
BY_SIDE = (Relation.NEXT_TO, Relation.UNDER, Relation.BEHIND, Relation.IN_FRONT_OF,
            Relation.LEFT_OF, Relation.RIGHT_OF)  # fmt: skip
