"""Texts and clauses that ask for nothing: no English, no request, reasons and remarks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from functools import cache, lru_cache

from planner.language import (
    english,
    frames,
    modifiers,
    occasion_frames,
    people_frames,
    places,
    repairs,
)
from planner.language.drafts import Act, Do, Noun, Way, Where
from planner.language.english import (
    AFTER,
    BARE_REASONS,
    BEFORE,
    CHAT_STARTS,
    FOR_WHEN,
    IF,
    LIQUIDS,
    MENTAL,
    NO_REMARK,
    NO_THINGS,
    NUMBERS,
    PEOPLE,
    QUESTIONS,
    REASON_SUBJECTS,
    REASONS,
    THE,
    TO_DO,
    TO_ME,
    phrase_tables,
    phrases,
    table,
    words,
)
from planner.language.lexicon import Part, Relation, default_lexicon, plural_of
from planner.language.places import is_room
from planner.language.reading import (
    STOPS,
    Ask,
    AskReason,
    NoCommand,
    NoCommandReason,
    NotUnderstood,
    Reading,
    Token,
)
from planner.language.subordinates import Subordinates
from planner.language.verbs import Form, verb_words, verbs_at
from planner.world.catalogue import default_word_meanings

# Texts that are no instruction in English, and the spelling of those that are.

MAX_LETTERS = 4000
_RULES = (english, frames, occasion_frames, people_frames, modifiers, places, repairs)
_CODE = re.compile(
    r"[\[\]{}<>=\\|`$*^]|\w\(|\w_\w|;\s*$|#!|//"
    r"|\b(?:drop table|select \* from|rm -|sudo|import \w+$|def \w+|https?)",
    re.IGNORECASE,
)
_FOREIGN = english.words(table("foreign"))
_STOP = english.combined("stop")
_STOPPING = english.words("stop halt freeze abort cancel enough quit")
_BESIDE_STOP = english.words(table("beside stop"))
_ENGLISH = english.words(table("english"))
_OTHER_WORDS = english.words(table("other words"))


def no_command(text: str, tokens: tuple[Token, ...]) -> Reading | None:
    """The outcome for a text that is empty, code, another language or noise; None for others."""
    words = [token.word for token in tokens if token.is_word]
    if not words:
        return NoCommand(
            reason=NoCommandReason.EMPTY if not text.strip() else NoCommandReason.NOISE
        )
    if tuple(words) in _STOP or _only_stops(words):
        return NoCommand(reason=NoCommandReason.STOP)
    if _CODE.search(text):
        return NoCommand(reason=NoCommandReason.CODE)
    if len(text) > MAX_LETTERS:
        return NotUnderstood(words=(text.strip()[:60].strip(),))
    unknown = [word for word in words if not known(word)]
    foreign = sum(word in _FOREIGN and word not in _ENGLISH for word in words)
    accented = any(not letter.isascii() and letter.isalpha() for letter in text)
    english_words = sum(word in _ENGLISH for word in words)
    if (foreign >= 2 and foreign > english_words) or (
        accented and len(unknown) >= 2 and unknown and foreign
    ):
        return NoCommand(reason=NoCommandReason.LANGUAGE)
    if accented and len(unknown) * 2 >= len(words):
        return NoCommand(reason=NoCommandReason.LANGUAGE)
    if len(unknown) == len(words) < 3 and all(map(_pronounceable, unknown)):
        return None
    if len(unknown) == len(words) or (len(unknown) * 3 > len(words) * 2 and len(words) > 3):
        return NoCommand(reason=NoCommandReason.NOISE)
    return None


def _only_stops(words: list[str]) -> bool:
    """Whether a text is made of nothing but words that end things: "whoa, stop, that's enough!"."""
    return bool(_STOPPING & set(words)) and set(words) <= _STOPPING | _BESIDE_STOP


def _pronounceable(word: str) -> bool:
    """Whether letters could be a word: with vowels and consonants, no letter three times."""
    vowels = sum(letter in "aeiouy" for letter in word)
    return 0 < vowels < len(word) and not re.search(r"(.)\1\1", word)


@lru_cache(maxsize=1)
def vocabulary() -> frozenset[str]:
    """Every word that some rule knows."""
    found = set(function_words() | verb_words())
    for phrase in default_word_meanings().phrases:
        found |= set(phrase.split()) | set(plural_of(phrase).split())
    return frozenset(found)


@lru_cache(maxsize=1)
def function_words() -> frozenset[str]:
    """The words of the tables of the rules, without the catalogue's."""
    found = set(_OTHER_WORDS)
    # Modules share tables, and a million phrases of theirs have a few thousand words.
    tables = {id(value): value for rules in _RULES for value in vars(rules).values()}
    items: Iterable[object] = tables.values()
    while items:
        found.update(w for x in items if isinstance(x, str) and x.islower() for w in x.split())
        items = set(
            itertools.chain.from_iterable(
                x for x in items if isinstance(x, tuple | frozenset | dict)
            )
        )
    return frozenset(found)


@cache
def _lexical(word: str) -> bool:
    return default_lexicon().at((word,), 0) is not None


def _names_kind(tokens: tuple[Token, ...]) -> bool:
    match = default_lexicon().at(tuple(token.word for token in tokens), 0)
    return match is not None and any(sense.part is Part.KIND for sense in match.senses)


def known(word: str) -> bool:
    """Whether some rule knows a word."""
    return word in vocabulary() or word[0].isdigit() or word == "'s" or _lexical(word)


@lru_cache(maxsize=4096)
def respelled(word: str) -> str:
    """The known word that a misspelled one must be: two letters swapped, or one too many or few.

    The word itself if it is known, short or nothing else is near, or several words are.
    """
    if known(word) or len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    swapped = {word[:k] + word[k + 1] + word[k] + word[k + 2 :] for k in range(len(word) - 1)}
    found = {other for other in swapped if other in vocabulary() or _lexical(other)}
    if not found and len(word) >= 6:
        # The first letter is hardly ever wrong: "asleep" is not "sleep".
        shorter = {word[:k] + word[k + 1 :] for k in range(1, len(word))}
        longer = {
            word[:k] + c + word[k:]
            for k in range(1, len(word) + 1)
            for c in "abcdefghijklmnopqrstuvwxyz"
        }
        found = {other for other in shorter | longer if other in vocabulary()}
    return found.pop() if len(found) == 1 else word


@cache
def _rewordings() -> dict[tuple[str, ...], tuple[str, ...]]:
    listed = phrase_tables().rewordings.items()
    return {said: tuple(meant.split()) for meant, several in listed for said in phrases(several)}


@cache
def _firsts() -> frozenset[str]:
    return frozenset(said[0] for said in _rewordings())


def reworded(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The words with "walk to face" as "go to", and the like."""
    found: list[Token] = []
    at, rewordings, firsts = 0, _rewordings(), _firsts()
    while at < len(tokens):
        ahead = 8 if tokens[at].word in firsts else 1
        said = tuple(token.word for token in tokens[at : at + ahead])
        length = next((n for n in range(len(said), 1, -1) if said[:n] in rewordings), 0)
        if "microwave" in said[:length] and _HEATING.isdisjoint(token.word for token in found):
            # "The counter with the microwave".
            length = 0
        first, last = tokens[at], tokens[at + max(length, 1) - 1]
        meant = rewordings.get(said[:length], said[:1])
        found += [Token(word, first.start, last.end) for word in meant]
        counted = at > 0 and (tokens[at - 1].word.isdecimal() or tokens[at - 1].word in NUMBERS)
        if counted and meant in (("slice",), ("slices",)) and _names_kind(tokens[at + 1 : at + 2]):
            # "Two slices tomato".
            found.append(Token("of", first.start, first.end))
        at += max(length, 1)
    return tuple(found)


def rejoined(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The words with an unknown one joined to the next or cut in two, if a noun results.

    "Lap top" is "laptop", and "lightswitch" is "light switch".
    """
    if all(known(token.word) or not token.is_word for token in tokens):
        return tokens
    found: list[Token] = []
    for token in tokens:
        last = found[-1] if found else None
        whole = f"{last.word}{token.word}" if last and last.is_word and token.is_word else ""
        if last and whole and not (known(last.word) and known(token.word)) and _lexical(whole):
            found[-1] = Token(whole, last.start, token.end)
            continue
        cut = 0
        if token.is_word and token.word.isalpha() and not known(token.word):
            parts = ((token.word[:k], token.word[k:]) for k in range(3, len(token.word) - 2))
            cut = next((len(p[0]) for p in parts if default_lexicon().covers(p)), 0)
        middle = token.start + cut
        found += [Token(token.word[:cut], token.start, middle)] if cut else []
        found.append(Token(token.word[cut:], middle, token.end))
    return tuple(found)


_SUBORDINATES = AFTER | BEFORE | IF | TO_DO | phrases("please")
_SPEAKERS = words("i it we that this there nobody everybody everyone they he she my our")
_WISHED = words("have get see be find know put take bring move go")
_AIMS = words("to in at under behind next beside near by where here there be")
_HEATING = words("cook heat warm reheat fry bake cooking heating warming boil toast melt")
_DOERS = words("i we you they he she")
_AUXILIARIES = words("am are was were had has will would can cannot could do did shall may might")


class Remarks(Subordinates):
    """Reads what asks for nothing."""

    def _rest(self, at: int) -> int:
        """Reasons and remarks, which ask for nothing."""
        return self._reason(at) or self._remark(at)

    def _reason(self, at: int) -> int:
        """Reads "So I can sit", "before it goes bad", "where everybody can see it"."""
        source = self._source
        if not self._previous:
            return 0
        if end := source.longest(at, FOR_WHEN):
            return end
        if not (i := source.longest(at, REASONS)):
            return 0
        if source.word(at) == "for" and (end := self._purpose(i)):
            return end
        named = {"it", "them"} & set(source.words[i : self._clause_end(i)])
        if source.starts(at, "in order to") and named:
            # "Slice a pear in order to throw it away".
            return 0
        waits = self._previous[-1].act in (Act.NEVER, Act.LEAVE) or source.word(at - 1) == "wait"
        if source.words[at:i] == ("until",) and (waits or source.word(i) not in ("it", "they")):
            # "Leave the lamp on until I come back" does not say how it is at the end.
            return 0
        subject = i + (source.word(i) in ("my", "our", "the"))
        if source.words[at:i] in (("otherwise",), ("or", "else")) and self.place(i):
            # "If it is dirty, put it in the sink, otherwise in the cabinet".
            return 0
        if source.words[at:i] not in BARE_REASONS and not (
            source.word(i) in REASON_SUBJECTS or source.word(subject) in PEOPLE
        ):
            return 0
        end = self._clause_end(i)
        spoiled = any(word in NO_REMARK - {"no", "not"} for word in source.words[i:end])
        return 0 if spoiled else end

    def _purpose(self, at: int) -> int:
        """Reads "(slice a cucumber for) the salad": what is made there is nobody's task here."""
        if self._previous[-1].act is not Act.MAKE:
            return 0
        end = self._clause_end(at)
        named = self._source.words[at:end]
        plain = 2 <= len(named) <= 3 and (named[0] in THE or named[0] in ("a", "an"))
        plain = plain and named[-1] not in function_words()
        return end if plain and not any(self._is_thing(k) for k in range(at, end)) else 0

    def _is_so(self, at: int) -> int:
        """Reads "it is dirty" after a request about it: why, and not which one."""
        source = self._source
        does = source.starts(
            at, "it is", "they are", "it has", "they have", "it looks", "they look"
        )
        does = does or self._somebody_is(at)
        if not does or not self._previous or self._wishing:
            return 0
        end = self._clause_end(does)
        said = source.words[does:end]
        spoiled = any(self._is_thing(k) for k in range(does, end)) or (
            NO_REMARK | _AIMS | {"it", "them"}
        ) & set(said)
        if said[:1] == ("too",) and said[2:3] == ("to",) and len(said) <= 7:
            # "I am too lazy to stand up".
            things = any(self._is_thing(k) for k in range(does + 4, end))
            return 0 if things or {"it", "them", "not"} & set(said) else end
        joined = "and" in said or "so" in said or self.place(end - 1)
        return 0 if spoiled or joined or not said or len(said) > 4 else end

    def _somebody_is(self, at: int) -> int:
        """Reads "the kids are (starving)", "I am (cold)"."""
        source = self._source
        i = at + (source.word(at) in THE)
        person = source.word(i) in PEOPLE if i > at else source.word(i) in ("i", "we", "he", "she")
        return i + 2 if person and source.word(i + 1) in ("is", "are", "am", "'s") else 0

    def _wants_to(self, at: int) -> int:
        """Reads "I want to hear the news" after a request: what for."""
        source = self._source
        end = source.starts(
            at, "i want to", "we want to", "i would like to", "we would like to", "i need to"
        )
        trails = self._sentence and source.word(at - 1) == ","
        if not end or not trails or source.word(end) in _WISHED:
            return 0
        stop = self._clause_end(end)
        return 0 if NO_REMARK & set(source.words[end:stop]) else stop

    def _clause_end(self, at: int, also: frozenset[str] = frozenset()) -> int:
        i = at
        while i < self._source.size and self._source.word(i) not in STOPS | {","} | also:
            i += 1
        return i

    def _remark(self, at: int) -> int:
        """A statement that no request depends on: "I am hungry", "tonight is game night"."""
        source = self._source
        word = source.word(at)
        if word not in CHAT_STARTS and not self._exclaimed(at):
            return 0
        if (wish := source.longest(at, TO_ME)) and source.word(wish) != "to":
            # "I would like coffee": asked for, and not understood.
            return 0
        end = self._clause_end(at, frozenset({"so"}))
        while (
            source.word(end) == ","
            and not self._starts_clause(end + 1)
            and source.word(end + 1) != "so"
        ):
            end = self._clause_end(end + 1, frozenset({"so"}))
        inner = source.words[at:end]
        behind = at > 0 and source.tokens[at - 1].is_word
        if behind and word in THE and end - at <= 2 and not self._is_thing(at + 1):
            # "Cool the beer": no remark, but what is done to it.
            return 0
        if word in ("tomorrow", "later") and not {"is", "are", "will", "have", "has"} & set(inner):
            # When something is to be done is not in the form.
            return 0
        verbs = [
            f
            for k in range(at, end)
            for f in verbs_at(source.words, k)
            if Form.BASE in f.forms and k > at + 1
        ]
        kinds = any(self._is_thing(k) for k in range(at, end))
        does = [f for f in verbs_at(source.words, at + 1) if Form.BASE in f.forms]
        if word == "we" and does and kinds and source.word(at + 1) not in MENTAL | _AUXILIARIES:
            # "We walk to the kitchen and wash the cups".
            return 0
        unable = source.words[at + 1 : at + 3] in (("can", "not"), ("could", "not"))
        if self._previous and (
            word not in _SPEAKERS
            or any(
                True
                for k in range(at + 1, end)
                for _ in verbs_at(source.words, k)
                # "I cannot leave without it": what cannot be done is not asked for.
                if source.words[k] not in MENTAL and not (unable and word in _DOERS)
            )
        ):
            return 0
        if self._previous and not self._only_remarks(at, end):
            return 0
        if self._previous and (kinds or any(w in NO_REMARK for w in inner[3 * unable :])):
            return 0
        if any(w in ("must", "should", "except", "never", "unless") for w in inner) and kinds:
            return 0
        if kinds and word == "as":
            # "As well as the cups".
            return 0
        if kinds and verbs and word not in ("i", "it", "tonight", "today", "we", "my"):
            return 0
        self._mention(at, end)
        for k in range(at, end):
            number = NUMBERS.get(source.word(k))
            if number and (source.word(k) != "one" or source.starts(k + 1, "of us")):
                people = source.word(k - 1) in ("for", "are", "be") or source.starts(k + 1, "of us")
                self._said_number = (number if people else None, k, k + 1)
                last = self._previous[-1] if self._previous else None
                if people and last is not None and last.act is Act.PREPARE and not last.people:
                    # "Would you brew coffee? There are five of us".
                    last.people, self._said_number = number, None
        return end

    def _only_remarks(self, at: int, end: int) -> bool:
        """Whether what somebody does is nothing to be done: "I am cold", not "I dry them"."""
        source = self._source
        if source.word(at) not in _DOERS:
            return True
        does = source.word(at + 1) not in MENTAL | _AUXILIARIES
        able = source.word(at + 2) != "not"
        working = source.word(at + 1) in ("will", "can", "shall") and able
        about = {"it", "them", "these", "those", "this"} & set(source.words[at + 2 : end])
        return not does and not (working and about)

    def _unknown_thing(self, at: int, end: int) -> bool:
        """Whether a thing is named that nobody knows: "my wazzle is on the bed"."""
        words = self._source.words[at:end]
        return any(
            one in THE and other.isalpha() and not known(other)
            for one, other in itertools.pairwise(words)
        )

    def _mention(self, at: int, end: int) -> None:
        """What a remark is about, if that is one thing: "my shirt has a stain, wash it"."""
        source = self._source
        pointing = any(
            source.word(k + 1) in ("here", "there") for k in range(at, end) if self._is_thing(k)
        )
        vague = {"anything", "nothing", "everything", "something"} & set(source.words[at:end])
        if vague or pointing or self._unknown_thing(at, end):
            # "The lamp here flickers".
            return
        nouns: list[Noun] = []
        k = at
        while k < end:
            found = self.item(k)
            known = (
                found is not None and isinstance(found[0], Noun)
                and any(self._is_thing(p) for p in range(k, found[1]))
            )  # fmt: skip
            if found and known and isinstance(found[0], Noun):
                nouns.append(found[0])
            k = found[1] if found and known else k + 1
        if len(nouns) > 1:
            nouns = [noun for noun in nouns if noun.kind not in LIQUIDS]
        rooms = [noun for noun in nouns if is_room(noun)]
        things = [noun for noun in nouns if noun not in rooms] or rooms[:1]
        if len(things) != 1:
            return
        things[0].definite = isinstance(things[0].count, int)
        to = [
            Where(Relation.IN, room, Way.STATIC, at, end)
            for room in rooms[:1]
            if room not in things
        ]
        if not {"need", "needs", "want", "wants"} & set(self._source.words[at:end]):
            # "The cat knocked over the plant in the hall".
            things[0].where, to = [*things[0].where, *to], []
        self._discourse.accept(Do(Act.MENTION, list(things), at, end, to))

    def _exclaimed(self, at: int) -> bool:
        end = self._clause_end(at)
        return (
            self._source.word(end) == "!"
            and end - at <= 3
            and not any(self._is_thing(k) for k in range(at, end))
        )

    def _is_thing(self, at: int) -> bool:
        return self._source.word(at) not in NO_THINGS and self._source.names_kind(at)

    def _starts_clause(self, at: int) -> bool:
        return self.clause(at) is not None or self._subordinate_ahead(at)

    def _subordinate_ahead(self, at: int) -> bool:
        return bool(self._source.longest(at, _SUBORDINATES))

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
        return source.word(start) in QUESTIONS and source.word(ends) == "?"

    def culprit(self, failed: int) -> int:
        """The word that reading most likely failed at: one that no rule has a meaning for."""
        source = self._source
        end = self._clause_end(failed)
        word = source.word(failed)
        verbal = any(True for _ in verbs_at(source.words, failed))
        if word.isalpha() and not verbal and word not in function_words() and not self.item(failed):
            return failed
        covered = failed
        for k in range(failed, end):
            if (match := source.match(k)) is not None:
                covered = max(covered, k + match.length)
            elif (
                k >= covered
                and source.word(k) not in function_words()
                and not any(True for _ in verbs_at(source.words, k))
            ):
                return k
        return failed

    def nothing(self) -> Reading:
        """The outcome of a text that was read and asks for nothing."""
        for mention in self.order.mentions:
            if mention.taken:
                return Ask(
                    words=(self._source.quote(mention.start, mention.end),), reason=AskReason.WHERE
                )
        usual = next((k for k, word in enumerate(self._source.words) if word == "usual"), None)
        if usual is not None:
            return Ask(words=(self._source.quote(usual, usual + 1),), reason=AskReason.DONE)
        unknown = [t for t in self._source.tokens if t.is_word and not known(t.word)]
        if unknown and any(self._is_thing(k) for k in range(self._source.size)):
            return NotUnderstood(words=tuple(self._source.text[t.start : t.end] for t in unknown))
        said = sum(token.is_word for token in self._source.tokens)
        asks = self._source.word(self._source.size - 1) == "?"
        if said <= 4 and not asks and any(self._is_thing(k) for k in range(self._source.size)):
            return Ask(words=(self._source.text.strip(),), reason=AskReason.DONE)
        if self._source.word(self._source.size - 1) == "?":
            return NoCommand(reason=NoCommandReason.QUESTION)
        return NoCommand(reason=NoCommandReason.CHAT)
