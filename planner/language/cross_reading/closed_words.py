"""The closed word classes of English that the second reading goes by, written down on its own."""

from __future__ import annotations

from planner.language.words import Relation

Words = tuple[str, ...]


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[Words]:
    return frozenset(tuple(item.split()) for item in text.split("|"))


NUMBERS = {
    word: number
    for number, word in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ],
        start=1,
    )
} | {"dozen": 12, "single": 1}
DEFINITE = word_set("the this that these those")
POSSESSIVE = word_set("my your our his her their its")
INDEFINITE = word_set("a an another")
EVERY = word_set("all every each whatever whichever everything")
VAGUE = word_set("some several few any no either neither couple pair enough more")
DETERMINERS = DEFINITE | POSSESSIVE | INDEFINITE | EVERY | VAGUE | {"both"}
PRONOUNS = word_set(
    "it them they me you i we us him her he she this that these those there here one ones mine "
    "everything anything something nothing everybody somebody who which what whatever"
)
CONJUNCTIONS = word_set("and or but nor plus")

RELATIONS: dict[Words, frozenset[Relation]] = {
    tuple(words.split()): frozenset(relations)
    for words, relations in {
        "on": {Relation.ON_TOP, Relation.AT},
        "onto": {Relation.ON_TOP, Relation.AT},
        "on to": {Relation.ON_TOP, Relation.AT},
        "upon": {Relation.ON_TOP, Relation.AT},
        "on top of": {Relation.ON_TOP},
        "atop": {Relation.ON_TOP},
        "in": {Relation.IN, Relation.AT},
        "into": {Relation.IN, Relation.AT},
        "in to": {Relation.IN, Relation.AT},
        "inside": {Relation.IN, Relation.AT},
        "inside of": {Relation.IN, Relation.AT},
        "within": {Relation.IN, Relation.AT},
        "to": {Relation.IN, Relation.AT, Relation.ON_TOP},
        "at": {Relation.IN, Relation.AT, Relation.ON_TOP},
        "over to": {Relation.IN, Relation.AT, Relation.ON_TOP},
        "from": {Relation.IN, Relation.AT, Relation.ON_TOP},
        "off": {Relation.AT, Relation.ON_TOP},
        "off of": {Relation.AT, Relation.ON_TOP},
        "out of": {Relation.IN, Relation.AT},
        "from inside": {Relation.IN, Relation.AT},
        "under": {Relation.UNDER},
        "underneath": {Relation.UNDER},
        "beneath": {Relation.UNDER},
        "from under": {Relation.UNDER},
        "behind": {Relation.BEHIND},
        "from behind": {Relation.BEHIND},
        "next to": {Relation.NEXT_TO},
        "beside": {Relation.NEXT_TO},
        "by": {Relation.NEXT_TO},
        "near": {Relation.NEXT_TO},
        "close to": {Relation.NEXT_TO},
        "alongside": {Relation.NEXT_TO},
        "between": {Relation.NEXT_TO},
        "in front of": {Relation.IN_FRONT_OF},
        "left of": {Relation.LEFT_OF},
        "right of": {Relation.RIGHT_OF},
    }.items()
}
"""What a preposition can mean; AT stands for what the anchor allows."""
ORIGINS = _phrases("from|off|off of|out of|from inside|from under|from behind")
TARGETS = _phrases("into|onto|to|on to|in to|over to")
MAX_PREPOSITION = max(map(len, RELATIONS))
OTHER_PREPOSITIONS = word_set(
    "of for with without about around across along against above over except besides like "
    "through during until than as"
)
# Adverbs that may stand between a preposition and its noun, or between verb and preposition.
BETWEEN = word_set("right just straight directly all back over up down only also even")

NEGATIVE = word_set(
    "not never no without nothing none neither nor leave keep stay stays untouched "
    "avoid refrain except unless rather hands alone skip spare instead "
    "forbidden allowed stop ignore remain remains stays"
)
CORRECTIONS = _phrases(
    "no wait|no , wait|oh wait|wait ,|hang on ,|oh no|i mean|i meant|scratch that"
    "|correction|make that|or rather|wait no"
    "|wait , no|sorry|rather|actually|no ,|no no|on second thought|strike that|um|uh|er|instead"
)
CONDITIONS = word_set(
    "if unless when whenever once provided should whether case assuming otherwise else"
)

# Base forms of verbs that ask a robot to do something, as they begin a clause.
MOVING = word_set(
    "put place set lay move bring take carry get fetch grab pick drop return stick pop chuck throw "
    "toss store stow hang stack pile slide push pull relocate transfer shift deposit deliver hand "
    "pass give collect gather pack load unload leave keep drag haul run tuck stash insert swap "
    "position arrange lean stand send swing lift transport remove clear shove dump drape rest "
    "slip plonk plop bung ditch bin discard dispose lock file hide park sit"
)
CHANGING = word_set(
    "wash clean wipe rinse scrub dust polish fill refill empty pour water slice cut chop dice cook "
    "boil toast turn switch flip flick power start stop shut close open activate deactivate "
    "dim light kill unplug heat preheat bake brew make steam fry"
)
OTHER_VERBS = word_set(
    "find look check see go search locate help tidy prepare ready serve want need wait come "
    "ensure have let do be try use remember forget say tell finish begin start continue touch"
)
VERBS = MOVING | CHANGING | OTHER_VERBS
SUBJECTS = word_set("i we you he she they someone somebody anybody everyone")
SUBORDINATORS = word_set(
    "if unless when once while before after until till because since so as though although "
    "whenever where whereas that which who"
)
SEQUENCE = word_set(
    "then next afterwards afterward finally lastly later subsequently thereafter eventually"
)
ORDER_WORDS = SEQUENCE | word_set(
    "before after once when first firstly second secondly third last until till done finished "
    "start begin starting ending following soon earlier prior initially turn finish while wait "
    "already now back again"
)
STATE_WORDS: dict[str, frozenset[str]] = {
    "clean": word_set(
        "clean cleaned cleaning wash washed washing wipe wiped wiping rinse rinsed rinsing scrub "
        "scrubbed scrubbing polish polished spotless wash-up mop mopped scour sponge hoover "
        "spill spilled stain vacuum dirty laundry launder shine sparkling sparkle hose dishes "
        "dishwasher swab washing"
    ),
    "dirty": word_set("dirty dirtied soil mess unwashed filthy"),
    "filled": word_set("fill filled filling full refill refilled top topped replenish empty"),
    "empty": word_set(
        "empty emptied emptying drain drained pour tip unfilled dump full filled out"
    ),
    "powered on": word_set(
        "on start started starting run running power powered going go light lights lit activate "
        "preheat heat boot fire get alive up work working play off dark heating glowing"
    ),
    "powered off": word_set(
        "off stop stopped kill out down unplug deactivate shut on running neither cut douse dead "
        "none standby dark"
    ),
    "open": word_set("open opened opening ajar unlock closed shut"),
    "closed": word_set("close closed closing shut shutting open opened lock"),
    "sliced": word_set(
        "slice sliced slicing slices cut cutting chop chopped chopping dice diced carve "
        "pieces wedges halve quarters julienne bits rounds"
    ),
    "cooked": word_set(
        "cook cooked cooking bake baked fry fried roast roasted grill grilled heat "
        "raw uncooked steam steamed"
    ),
    "boiled": word_set("boil boiled boiling hard soft"),
    "toasted": word_set("toast toasted toasting"),
    "watered": word_set("water watered watering drink thirsty dry hydrate"),
    "dusted": word_set("dust dusted dusting dusty duster"),
}
"""Words of which one is in a text that asks for a state."""
