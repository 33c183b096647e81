"""The closed classes of English words that instructions need."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from planner.language.drafts import Way
from planner.language.lexicon import Pick, Relation

Words = tuple[str, ...]


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

THE = frozenset({
    "the", "my", "our", "your", "his", "her", "their", "its", "this", "that", "these", "those",
})  # fmt: skip
POSSESSIVES = frozenset({"my", "our", "your", "his", "her", "their", "its"})
PICKS: Mapping[Words, Pick] = {
    tuple(word.split()): pick
    for pick, words in {
        Pick.NEAREST: "nearest|closest|nearer|closer",
        Pick.FARTHEST: "farthest|furthest|farther|further",
        Pick.BIGGEST: "biggest|largest|tallest|bigger|larger|taller",
        Pick.SMALLEST: "smallest|tiniest|littlest|smaller|tinier",
        Pick.LEFTMOST: "left|leftmost|left hand",
        Pick.RIGHTMOST: "right|rightmost|right hand",
    }.items()
    for word in words.split("|")
}
# They praise, blame or stress, and distinguish nothing.
EMPTY_ADJECTIVES = frozenset({
    "really", "totally", "completely", "rather", "quite",
    "old", "new", "nice", "lovely", "beautiful", "pretty", "poor", "same", "whole",
    "entire",
    "remaining", "silly", "stupid", "damn", "darn", "dear", "very", "own", "lone", "trusty",
    "comfy",
    "fresh", "leftover", "single", "different", "separate", "various", "existing", "current",
    "precious",
})  # fmt: skip
HEATED, COOLED = words("heated warmed microwaved reheated"), words("chilled cooled refrigerated")
# Which thing they mean, only the person knows.
PRIVATE_ADJECTIVES = frozenset({
    "favourite", "favorite", "best", "good", "usual", "correct", "proper", "appropriate", "special",
    "better",
    "nicest", "prettiest", "suitable", "preferred", "regular",
})  # fmt: skip
# Results without a measure of success.
VAGUE_RESULTS = frozenset({
    "nice", "nicer", "better", "cozy", "cosy", "pretty", "prettier", "comfortable", "presentable",
    "perfect", "beautiful", "good", "great", "fine", "cosier", "cozier", "homely", "festive",
    "inviting", "ready", "special", "fun", "different", "romantic", "warmer", "nicely", "properly",
})  # fmt: skip
GENERIC = frozenset({"stuff", "items", "objects", "belongings", "clutter", "thingies"})
GENERIC_ONE = frozenset({"item", "object", "thingy", "thingamajig"})
MASS = frozenset({
    "cutlery", "silverware", "flatware", "crockery", "tableware", "dishware", "kitchenware",
    "drinkware", "cookware", "clothing", "apparel", "laundry", "bedding", "luggage", "footwear",
    "fruit", "food", "mail", "stationery", "furniture", "decor", "lighting",
})  # fmt: skip
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
        "|in the centre of|at the center of|at the centre of|on the surface of",
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

PEOPLE = words(
    "mother father mom mum dad parents guests guest kids children child kid wife husband "
    "neighbour neighbours neighbor neighbors visitor visitors friend friends boss family son "
    "daughter brother sister grandma grandpa grandmother grandfather baby dog cat aunt uncle "
    "cousin cousins colleague colleagues company roommate roommates flatmate partner "
    "girlfriend boyfriend grandparents grandchildren nephew niece"
)
FOR_SOMEBODY = products("for", "my|our|the|her|his|your|", "|".join(PEOPLE))
FILLERS = FOR_SOMEBODY | phrases(
    "please|hurry|hurry up|be quick"
    "|kindly|just|now|right now|right away|straight away|immediately|quickly|quick"
    "|for me|for us"
    "|ok|hey|hi|hello|hey robot|robot|hi robot|ok robot|dear robot|thanks|thank you"
    "|thank you very much"
    "|thank you so much|thanks a lot|many thanks|cheers|well|oh|um|uh|so|actually|also|too|as well"
    "|again|already|maybe|perhaps|if you can|if you could|if possible|if you do not mind"
    "|if you like"
    "|if you would|if you please|if it is not too much trouble|if you have time|if you get a chance"
    "|if you have a minute|if you have a moment|if you would be so kind|would you|will you"
    "|can you|could you"
    "|when you have a minute|when you have a moment|when you have time|when you get a chance"
    "|in a minute|if it is no bother|if it is no trouble|if that is ok|if it is ok|if you are free"
    "|if you are not busy|when you are free|when you are ready|if it is all right"
    "|if you would not mind|would you mind ?|in any order|earlier|by tonight"
    "|would you be so kind|when you have got a minute|when you have got time"
    "|when you get a minute|as soon as possible|asap|carefully|gently|neatly|all right"
    "|alternatively"
    "|today|tonight|this morning|this evening|this afternoon|from now on|at once"
    "|in the meantime|though"
    "|instead|right|always|simply|really|love|mate|buddy|dear|darling|my friend"
    "|properly|nicely|safely"
    "|be careful|there you go|good morning|good evening|good afternoon|excuse me|sorry"
    "|while you are at it"
    "|while you are there|on your way|for the time being|for now|once more|one more time"
    "|at last|somehow"
    "|by the way|listen|yes|yeah|whatever you do|after all|of course|better|still|slowly"
    "|to be honest|honestly|i think|i guess|i believe|i suppose|kind of|sort of|will not you"
    "|in the end"
    "|for a second|for a moment|a bit|a little|a moment|sometime|soon|at some point"
    "|later today|go ahead"
    "|for easy access"
    "|in a row|up|down|over|around|there|let me know|report back"
    "|let me know when you are done|tell me when you are done|let me know where it is"
    "|tell me where it is|let me know where they are|tell me where they are|in total"
    "|altogether|at the moment|currently|at your earliest convenience|at your convenience"
    "|at your leisure|lol|haha|wow|hmm|yay|oops|ugh|cool|phew|ah"
    "|basically|change of plan|change of plans|pretty please|young man|honey|sweetie"
    "|sweetheart|my dear|a sec|for a sec|one sec|a second|like i said|when we go to bed"
    "|when i go to bed|when i get home|when we get home|when i come home|when i am back"
    "|before i get home|by the time i get home|myself|by myself|hang on|wait|nothing else"
    "|simultaneously|at the latest"
)
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
    | phrases(
        "your choice|up to you|it is up to you|you choose|you decide|you pick|no preference"
        "|dealer s choice|take your pick|i have no preference|whichever ,|makes no difference"
        "|it makes no difference|does not matter|no matter which|no matter which one"
        "|either way|doesnt matter|dont care|i trust you|as you like|as you wish"
    )
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
INTERJECTIONS = phrases(
    "thanks ever so much|in that order|in this order|in that order please|everything else can wait"
    "|the rest can wait|all else can wait|if it is all the same to you|if it is all the same"
    "|let us split the work|let us share the work"
    "|let us divide the work|here is the plan|here is what we do|here is what i need"
    "|here is what i want you to do|here is what you do|this is what i need|the plan is|two things"
    "|three things|a few things|a couple of things|here is the list|here is your list|to do list"
    "|like ,|shall we|do not ask me why|do not ask why|do not ask|for some reason|god knows why"
    "|who knows why|believe it or not|bloody|damn it|dammit|for goodness sake|for heaven s sake"
    "|for god s sake|for crying out loud"
    "|for pity s sake|goodness|gosh|oh dear|oh my|oh my god|my goodness|good grief|jeez|yikes"
    "|whoops"
    "|whoa|woah|listen up|attention|attention please|here we go|right then|okay then|ok then"
    "|now then|all right then|so yeah|yeah so|see here|you know|you know what|guess what|dude"
    "|man|bro|pal|chief|boss|friend|sir|madam|good boy|good robot|hiya|howdy|yo|hey there"
    "|hello there|hi there|greetings|robbie|robo|bot|sorry to bother you|sorry to bother you again"
    "|sorry to disturb you|sorry to trouble you|if i may|real quick|real quickly|quick one|quickly"
    "|one thing|one more thing|just one thing|one last thing|one other thing|another thing"
    "|literally|ideally|preferably|hopefully|apparently|obviously|clearly|frankly|seriously"
    "|anyway|anyways|anyhow|that is all|that is it|that will be all|that would be all"
    "|and that is it"
    "|that is everything|ta|much appreciated|appreciate it|i appreciate it|would be appreciated"
    "|bless you|you are a star|you are the best|you are a lifesaver|you are an angel|good job"
    "|well done|are you ready|are you there|you there|are you listening|wake up|come on"
    "|chop chop|quick quick|hurry hurry|asap please|pronto|stat|if you do not mind me asking"
    "|when you get round to it|whenever you get round to it|whenever you get around to it"
    "|when you get around to it|whenever you have time|whenever you have a minute"
    "|whenever you have a moment|whenever you get a chance|whenever you can|when you can"
    "|whenever you are ready|whenever you are free|whenever it suits you|whenever suits you"
    "|whenever you like|whenever|when you are done with that|when it suits you|at some stage"
    "|no rush|no hurry|no rush though|there is no rush|there is no hurry|take your time"
    "|in your own time"
    "|if it is not too much bother|if it is not a bother|if that is all right|if that is okay"
    "|if that is possible|if it is possible|if it is at all possible|if at all possible"
    "|if you get the chance|if you have the time|if you have got a minute|if you have got time"
    "|if you find the time|if you get time|if you have got a moment|if you have a sec"
    "|if you have a second"
    "|when you have a sec|when you have a second|when you get a sec|when you get a second"
    "|when you have got a moment|when you have got a sec|if you are able to|if you are able"
    "|if you are around|if you are up for it|if it helps|as usual|as always|as ever|like always"
    "|like usual|as i said|as mentioned|as discussed|as promised|as we discussed|as agreed"
    "|for a change|for once|for me please|for us please|if you want|if you wish|if need be"
    "|if necessary|where necessary|if needed|as needed|as quickly as you can|as fast as you can"
    "|as soon as you can|quick as you can|as quickly as possible|as fast as possible"
    "|right this minute"
    "|this instant|right this second|this minute|this second|tout suite|in one go|in one trip"
    "|in a single trip|one at a time|one by one|with care|very carefully|really carefully"
    "|careful with it|careful|be careful with it|watch out|mind your step|mind the step"
    "|without spilling"
    "|without breaking anything|without dropping it|without dropping them|without making a mess"
    "|without making noise|without waking anyone|without waking the baby|quietly|silently"
)
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
_ANYWHERE = phrases(
    "up|down|over|around|there|a bit|a little|a moment|better|right|still|so|in a row"
)
FILLERS |= CHOICE | LENGTHS | _TIMES | INTERJECTIONS
EDGE_FILLERS = FILLERS - _ANYWHERE | {("so",)}

THEN = phrases(
    "then|after that|after this|after all this|after all that|after all of this"
    "|afterwards|afterward|next|finally|lastly|last|subsequently"
    "|later|later on"
    "|after which|only then|once done|once that is done|once this is done|when that is done"
    "|when done"
    "|when you have done that|once you have done that|when you are done|once you are done"
    "|after you are done"
    "|when you have finished|once you have finished|when you are finished|after doing so"
    "|after doing that"
    "|when this is done|at the very end|at the end|in the end|to finish|to finish off|last of all"
    "|last but not least|thereafter|second|secondly|third|thirdly|fourth|fourthly|fifth|followed by"
    "|once that has been done|after you have done that|as a last step|as the last step"
    "|from there|step two"
    "|step three|step 2|step 3|number two|number three|when finished|once finished"
    "|only after that|and then"
    "|only then may|once you have done so|when you have done so|then once you are done"
    "|once it is done|when it is done|once they are done|last thing|second of all|to end with"
    "|as a final step|the second is to|the second thing is to|the second thing to do is"
    "|the next thing to do is|the next step is to|the last thing to do is|the last step is to"
    "|the second step is to|the third step is to|the next thing is to|the last thing is to"
    "|the third is to|the last is to|when you have done all that|when you have done all of that"
    "|once you have done all that|when all that is done|once all that is done"
    "|when all of that is done|once all of that is done|as soon as that is done"
)
FIRST = phrases(
    "first|firstly|first of all|first things first|to begin with|before anything else"
    "|before you do anything"
    "|to start with|to start|for starters|step one|step 1|number one|at first|initially"
    "|before all else"
    "|before you do anything else|start with|the first thing to do is|the first thing to do is to"
    "|the first thing you should do is|the first step is to|the first is to|first thing"
    "|the first thing is to|your first job is to|your first task is to"
)
BEFORE_THAT = phrases(
    "before that|but first|beforehand|but before that|before this|before doing so"
)
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
MEANWHILE = phrases(
    "meanwhile|at the same time|in the meantime|simultaneously|besides|in addition|while"
)


# The words of clauses that only say what is going on.

OPENERS = phrases(
    "since|because|as|cause|cos|coz|now that|given that|seeing as|seeing that|considering|and|but"
    "|though|although|even though|just so you know|fyi|apparently|by the way|it looks like"
    "|it seems|it seems like|looks like|seems like|turns out|it turns out|that is because"
    "|that is why|the reason is|the thing is|the problem is|i think|i am afraid|i am afraid that"
)
PRONOUNS = words(
    "i we it they he she this that there everybody everyone nobody somebody someone anybody "
    "something nothing who these those"
)
ARTICLES = words("the my our his her their a an your one another some all both every no")
AUXILIARIES = words(
    "is are was were am has have had will can could would do does did might may been"
)
PAST = words(
    "fell left broke hit went came got ran spilled spilt made took lost saw said woke slept "
    "hurt burnt cut bit ate drank forgot felt heard kept found bought threw stood let began "
    "flew knocked put gave tore wore shut quit beat read set told taught caught swept drove "
    "sat rang blew froze grew knew shook spoke stole sold sent built chose rode rose sank "
    "sang shot slid spread stuck swam wet won wrote dropped"
)
# They ask, choose or limit, so that a clause with them is not a mere circumstance.
BINDING = words(
    "should must ought shall needs belongs belong please you your yours except only unless instead "
    "one ones other others rest same both each either neither which whichever never until till "
    "before after then first without else better best rather when once while if whenever"
)
WANTING = phrases(
    "as soon as|i want|i would like|i need|we need|we want|we would like|i would love"
    "|i would prefer|i prefer"
    "|i have to have|has to|have to be|need to be|is to|are to|goes in|goes on|go in|go on|goes to"
    "|supposed to|can go|can stay|may go|may stay|can have|let us"
)
AIM = words("hear watch sleep sit relax cook eat read work see study play rest nap leave bake")
HARMLESS_KINDS = words(
    "can thing light play room time game meal dessert work dinner lunch breakfast food cold "
    "water day "
    "dog cat baby sun rain movie film news music party meeting class house home hand hands back "
    "feet head door window phone call bus train car school night morning"
)
