"""The verbs of instructions, their inflection, and what each asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from planner.language.english import Words, words


class Frame(StrEnum):
    """What follows a verb and what it asks for.

    PUT needs a place, also one without motion; CARRY a place of arrival; FETCH comes to the speaker
    if no place is named; PICK only takes something, for what is said next. VAGUE has no measure of
    success.
    """

    PUT = "put"
    CARRY = "carry"
    FETCH = "fetch"
    PICK = "pick"
    GIVE = "give"
    TRASH = "trash"
    BIN = "bin"
    AWAY = "away"
    CLEAR = "clear"
    UNLOAD = "unload"
    LOAD = "load"
    MAKE = "make"
    FILL = "fill"
    EMPTY = "empty"
    POUR = "pour"
    SWITCH = "switch"
    CAUSE = "cause"
    KEEP = "keep"
    FIND = "find"
    GO = "go"
    LEAVE = "leave"
    TOUCH = "touch"
    SET_TABLE = "set table"
    TIDY = "tidy"
    BREW = "brew"
    STACK = "stack"
    SWAP = "swap"
    HANDLE = "handle"
    VAGUE = "vague"
    CHECK = "check"
    HEAT = "heat"
    COOL = "cool"


class Form(StrEnum):
    """Inflections."""

    BASE = "base"
    THIRD = "third"
    ING = "ing"
    PAST = "past"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb in a frame; `state` is the word of the form for what MAKE reaches.

    `particles` may stand behind the verb or behind the object without changing it.
    """

    base: str
    frame: Frame
    state: str = ""
    particles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Found:
    """A verb in a text: which, in which inflections, and how many words of it."""

    verb: Verb
    forms: frozenset[Form]
    length: int


# Base forms by frame; a particle that belongs to the verb follows it.
_FRAMES: Mapping[Frame, str] = {
    Frame.PUT: "spread|drape|fling|sling|prop up|mount|reposition|lodge|put|place|set|"
    "lay|stick|pop|drop|deposit|store|stow|stash|hide|position|stand|rest|"
    "hang|arrange|shove|slide|tuck|chuck|tip|throw|toss|pack|dump|park|insert|"
    "drop off|slip|plop|plonk|lean|put down|set down|lay down|put in|line up|"
    "set out|lay out|organize|organise|group|squeeze|balance|prop|sit|display|file|shelve|"
    "install|serve|add",
    Frame.CARRY: "move|ferry|pull|bring back|take over|take back|bring up|bring down|"
    "carry|transfer|relocate|shift|transport|deliver|haul|lug|drag|push|"
    "take|return|send|march|run",
    Frame.FETCH: "bring over|bring|fetch|get|go get|go and get|go fetch|retrieve|go grab|"
    "go and fetch|go and grab",
    Frame.PICK: "pick up|get out|pull out|fish out|dig out|fetch out|grab|collect|gather|"
    "gather up|lift|pick|fish|dig|round up|scoop up|take out|collect up|get hold of|"
    "gather together|grasp|take hold of|seize",
    Frame.GIVE: "give|hand|pass|hand over",
    Frame.TRASH: "throw away|throw out|get rid of|dispose of|toss out|discard|trash|"
    "chuck out|chuck away|toss away|dump out|ditch",
    Frame.BIN: "bin",
    Frame.AWAY: "put away|tidy away|clear away|put back|pack away|store away|stow away",
    Frame.CLEAR: "clear|clear off|clear out|remove",
    Frame.UNLOAD: "unload|unpack",
    Frame.LOAD: "load",
    Frame.FILL: "fill|fill up|refill|top up",
    Frame.EMPTY: "empty|empty out|drain",
    Frame.POUR: "pour|add|pour out",
    Frame.SWITCH: "turn|switch|power|flip|flick",
    Frame.CAUSE: "make|have|render",
    Frame.KEEP: "keep",
    Frame.FIND: "find|look for|search for|locate|track down|hunt for|go find|go and find|"
    "find out|show|see|tell|look around for|have a look for|have a look around for|go looking for|"
    "go look for|go and look for|keep an eye out for|hunt down|go search for|check|figure out|"
    "work out|let me know|dig up",
    Frame.GO: "go|come|drive|walk|head|roll|return|stop|navigate|proceed|step|travel|enter|"
    "approach|visit|move|go back|walk back|make your way|hurry",
    Frame.LEAVE: "leave",
    Frame.TOUCH: "touch|disturb|bother|mess with|move|handle|go near|take|alter|use",
    Frame.TIDY: "tidy|tidy up|clean up|straighten up|straighten|declutter|neaten|"
    "neaten up|straighten out|tidy out",
    Frame.BREW: "brew|make|prepare|fix|put on",
    Frame.STACK: "stack|pile|stack up|pile up|heap",
    Frame.SWAP: "swap|exchange|switch",
    Frame.HANDLE: "handle|deal with|take care of|see to|do|look after|be in charge of|"
    "worry about",
    Frame.VAGUE: "sort|sort out|decorate|improve|rearrange|reorganize|reorganise|fix|fix up|"
    "freshen up|beautify|upgrade|repair",
    Frame.HEAT: "heat|heat up|warm|warm up|reheat",
    Frame.COOL: "cool|cool down|chill|refrigerate",
    Frame.CHECK: "let|tell|inform|report|say|check|forget|remember|mind|be",
}  # fmt: skip
_STATES: Mapping[str, str] = {
    "clean": "clean|wash|rinse|wipe|scrub|wash up|wipe down|wipe off|rinse off|"
    "wash off|rinse out|scrub down|clean off|wash down|sponge|sponge down|do|"
    "wipe clean|clean out|wash out|cleanse|give a wash",
    "dusted": "dust|dust off|dust down",
    "powered on": "start|activate|start up|boot|boot up|turn on|switch on|power on|"
    "power up|run|fire up|preheat",
    "powered off": "deactivate|shut down|power down|turn off|switch off|power off|shut off|"
    "kill|stop|turn out",
    "open": "open|open up",
    "closed": "close|shut|close up",
    "watered": "water",
    "sliced": "slice|cut|cut up|slice up|chop|chop up|dice",
    "toasted": "toast",
    "boiled": "boil",
    "cooked": "cook|fry|bake|roast|grill",
}  # fmt: skip
_PARTICLES = frozenset({"up", "down", "over", "out", "back", "off", "away", "around", "on", "in"})
_IRREGULAR: Mapping[str, tuple[str, ...]] = {
    entry.partition(":")[0]: tuple(entry.partition(":")[2].split("/"))
    for entry in words(
        ": put:put set:set lay:laid stick:stuck hide:hidden/hid stand:stood hang:hung slide:slid "
        "throw:thrown/threw send:sent take:taken/took bring:brought get:got/gotten give:given/gave "
        "make:made have:had keep:kept find:found go:gone/went come:come/came leave:left shut:shut "
        "cut:cut do:done/did see:seen/saw tell:told let:let say:said drive:driven/drove "
        "forget:forgotten/forgot be:been/was run:run/ran sit:sat show:shown/showed open:opened "
        "lean:leaned/leant"
    )
}
_VOWELS = frozenset("aeiou")
# Longer verbs are only words of the vocabulary.
_MAX_WORDS = 3


def _doubles(word: str) -> bool:
    """Whether an ending doubles the last letter: "putting", "popped"."""
    last = word[-3:]
    return (
        word == "transfer" or word == "bin"
        or (len(word) <= 4 and len(last) == 3 and last[1] in _VOWELS and last[0] not in _VOWELS
            and last[2] not in _VOWELS | frozenset("wxy"))
    )  # fmt: skip


def inflected(word: str) -> Iterator[tuple[str, Form]]:
    """A verb of one word in all of its forms."""
    yield word, Form.BASE
    yield word + ("es" if word.endswith(("s", "sh", "ch", "x", "o", "z")) else "s"), Form.THIRD
    stem = word + word[-1] if _doubles(word) else word
    if word.endswith("e") and word not in ("be", "see"):
        yield word[:-1] + "ing", Form.ING
    else:
        yield stem + "ing", Form.ING
    if word in _IRREGULAR:
        for past in _IRREGULAR[word]:
            yield past, Form.PAST
    elif word.endswith("e"):
        yield word + "d", Form.PAST
    elif word.endswith("y") and word[-2] not in _VOWELS:
        yield word[:-1] + "ied", Form.PAST
    else:
        yield stem + "ed", Form.PAST
    if word.endswith("y") and word[-2] not in _VOWELS:
        yield word[:-1] + "ies", Form.THIRD


@lru_cache(maxsize=1)
def _table() -> dict[Words, list[tuple[Verb, Form]]]:
    verbs = [Verb(base, frame) for frame, bases in _FRAMES.items() for base in bases.split("|")]
    verbs += [
        Verb(base, Frame.MAKE, state)
        for state, bases in _STATES.items()
        for base in bases.split("|")
    ]
    found: dict[Words, list[tuple[Verb, Form]]] = {}
    for verb in verbs:
        words = verb.base.split()
        # "Go and get" bends its last verb, "pick up" its first word.
        head = (
            len(words) - 1
            if words[0] == "go" and words[-1] in ("get", "fetch", "grab", "find")
            else 0
        )
        for bent, form in inflected(words[head]):
            key = (*words[:head], bent, *words[head + 1 :])
            found.setdefault(key, []).append((verb, form))
    return found


def state_of_split(base: str, particle: str) -> str:
    """What a verb reaches whose particle stands behind the object: "shut it down"; or empty."""
    for verb, _ in _table().get((base, particle), ()):
        if verb.frame is Frame.MAKE:
            return verb.state
    return ""


@lru_cache(maxsize=1)
def verb_words() -> frozenset[str]:
    """Every word of every form of every verb."""
    return frozenset(word for phrase in _table() for word in phrase)


@lru_cache(maxsize=1)
def _found() -> tuple[dict[Words, tuple[Found, ...]], dict[str, tuple[int, ...]]]:
    """The verbs of each phrase, and how long phrases are by first word, the longest first."""
    found: dict[Words, tuple[Found, ...]] = {}
    lengths: dict[str, set[int]] = {}
    for phrase, bent in _table().items():
        if len(phrase) > _MAX_WORDS:
            continue
        several: dict[Verb, set[Form]] = {}
        for verb, form in bent:
            several.setdefault(verb, set()).add(form)
        found[phrase] = tuple(
            Found(verb, frozenset(forms), len(phrase)) for verb, forms in several.items()
        )
        lengths.setdefault(phrase[0], set()).add(len(phrase))
    return found, {word: tuple(sorted(some, reverse=True)) for word, some in lengths.items()}


def verbs_at(words: Words, start: int) -> Iterator[Found]:
    """The verbs that begin at a word, the longest first."""
    found, lengths = _found()
    if 0 <= start < len(words):
        for length in lengths.get(words[start], ()):
            yield from found.get(words[start : start + length], ())
