"""The fixed phrases within clauses and between them."""

from __future__ import annotations

from planner.language.english import phrases, products, table, words

TO_DO = (
    products("would|will|can|could", "somebody|someone|anybody|anyone", "please|kindly|", "")
    | products(
        "i was|i am|i have been",
        "just|",
        "wondering|hoping|asking",
        "if|whether|that",
        "you",
        "could|would|might|can|may",
        "please|kindly|possibly|",
    )
    | products("only then|", "should|may|can|must", "you")
    | products("do|", "you|", "think", "you", "could|can|might|would")
    | products(
        "is there|", "any|a|some", "chance|way|possibility", "that|", "you", "could|can|might|would"
    )
    | products(
        "i would|i will|i should",
        "be|",
        "really|so|very|most|ever so|",
        "glad|happy|grateful|thankful|delighted|pleased|appreciative",
        "if",
        "you",
        "could|would|can|might",
    )
    | products(
        "it would be|it will be|that would be",
        "really|so|very|just|super|",
        "great|nice|lovely|good|wonderful|helpful|fantastic|awesome|amazing|ideal|kind"
        "|best|perfect|brilliant|a great help|a big help",
        "if",
        "you",
        "could|would|can|might",
    )
    | products(
        "would it be",
        "ok|all right|possible|too much trouble|too much|too much to ask",
        "for you|to ask you|",
        "to",
    )
    | products("would you|could you|will you", "please|kindly|", "see that", "you|")
    | products("could|can|may|might", "i", "trouble|bother|ask|get|persuade", "you", "to")
    | products(
        "be",
        "a dear|a darling|an angel|a good robot|a love|a sweetheart|a pal|a star"
        "|a gem|a sport|good|nice|kind|an absolute star|a champ",
        "and",
    )
    | products("be so|would you be so|could you be so", "kind|good|nice|sweet", "as to|and")
    | products(
        "do", "me|us", "a|the|one|another", "quick|small|big|", "favour|favor|kindness", "and"
    )
    | products("i would|i do|i", "really|", "need|want|like|love|prefer|wish", "for|", "you", "to")
    | products(
        "would|will|can|could|do",
        "you",
        "please|",
        "do me a favour and|do me a favor and"
        "|care to|be able to|be a dear and|be an angel and|go and|go|quickly|kindly|help me"
        "|give me a hand and|lend me a hand and|take a minute to|take a moment to|like to"
        "|want to|just|maybe|perhaps|possibly|manage to|remember to|make sure to|try to",
    )
    | products(
        "what i want you to do is|what you need to do is|what you have to do is"
        "|all you need to do is|all you have to do is|all i ask is that you"
        "|the first thing i want you to do is|next i want you to|i want you also to"
        "|you will have to|you will also need to|you might as well|you could also"
        "|you can also|you should also|you will want to|i will need you to"
        "|i am going to need you to|i would suggest you|i suggest you|better|care to"
        "|let us have you|time for you to|it is about time to|your next job is to"
        "|your next task is to",
        "",
    )
    | phrases(table("to do"))
)
DOING = phrases(table("doing"))
SHALL_BE = (
    products(
        "make sure|see to it|ensure|check|double check|be sure|make certain|please make sure",
        "that|",
        "there is|there are|there is always|there are always",
    )
    | products("kindly|", "see to it|make sure", "that|")
    | products(
        "it would be|that would be|i would be|we would be",
        "really|so|very|just|",
        "great|nice|lovely|good|wonderful|helpful|fantastic|best|perfect|ideal|happy|glad"
        "|grateful|better|handy|useful",
        "if",
    )
    | products(
        "i|we",
        "do|really|still|also|just|badly|",
        "need|want|would like|would love",
        "to have|to see|",
    )
    | products(
        "can you|could you|will you|would you|please|can i|could i|may i|can we|could we",
        "please|just|quickly|",
        "check|double check|make sure|make certain|see to it|see",
        "that|",
    )
    | phrases(table("shall be"))
)
TO_ME = products(
    "i|we", "do|really|still|also|just|badly|", "need|want|would like|would love", "to have|"
) | phrases(table("to me"))
MODALS = phrases(table("modals"))
STATING = phrases("are|is|was|were|are all|is all|has been|have been")
GOES = phrases(
    "go|goes|belong|belongs|come|comes|lie|stand|stay|sit|hang|remain|live|lives|end up|ends up"
    "|move|return|get|rest"
)
MAY_GO = phrases(
    "should all|should both|should also|should|must|has to|have to|needs to|need to|wants to"
    "|want to|can|may|could|ought to|shall|are to|is to|might|would like to|are supposed to"
    "|is supposed to|can all|will|are going to|had better|is meant to|are meant to"
)
MISPLACED = phrases(
    "does not belong|do not belong|is not supposed to be|are not supposed to be|is not meant to be"
    "|are not meant to be|has no business|have no business|has no business being"
    "|have no business being|has no place|have no place"
)
SPEAKER = phrases(
    "i am going to|i will|i can|i shall|i have to|i will just|i am about to|i could|i want to"
    "|i would like to|i plan to|let me|i must|i should"
)
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
ROBOT_DOING = phrases(
    "are|are done|are finished|have finished|finish|finished|are done with|are finished with"
)
ROBOT_DOES = phrases("will | would")
EXISTING = phrases(table("existing"))
POINTING = phrases(
    "you see|do you see|see|you know|do you know|you remember|do you remember|remember"
)
"""They begin a question that only names what is spoken of."""
OWNERS = phrases(
    "i|we|everyone|everybody|someone|somebody|the kids|the children|you|he|she|they|my kids|people"
    "|my wife|my husband|our guests|the guests"
)
OWNERS |= products(
    "my|our|the|his|her|",
    "brother|sister|mother|father|mum|mom|dad|son|daughter|wife|husband"
    "|partner|friend|neighbour|neighbor|guest|guests|boy|girl|boys|girls|kid|child|baby|dog|cat"
    "|grandma|grandpa|aunt|uncle|flatmate|roommate|boyfriend|girlfriend|cleaner",
)
HAVE = phrases(
    "keeps|keep|always|have just|has just|have|has|just|must have|might have|think i|think we|had"
    "|accidentally|may have"
)
GUESSING = phrases("must be | should be | may be | might be")
STAYS = phrases(
    "can stay|should stay|may stay|must stay|has to stay|have to stay|stays|stay|remains|remain"
    "|should remain|is to stay|are to stay|can remain"
)
GONE = products(
    "has|have|",
    "",
    "got to|gone to|gone|gotten to|ended up|disappeared to|wandered off to"
    "|vanished to|been left|been put",
) | phrases(
    "is|are|was|were|went|went to|got to|ended up|might be|could be|may be|is hiding"
    "|are hiding|is kept|are kept|is now|are now|is right now|are right now|lies|lie"
)
"""After "where" and a thing."""
LEFT = products(
    "have|has|had|",
    "last|",
    "left|put|dropped|hidden|hid|kept|stored|seen|saw|forgot"
    "|forgotten|placed|misplaced|set down|stashed",
)
WHERE_IT_IS = phrases(
    "where it is|where they are|there|as it is|as they are|here|untouched|exactly where it is"
    "|right where it is"
)


# The words between clauses, and of remarks that ask for nothing.
AFTER = phrases(
    "after|once|as soon as|when|now that|by the time|only after|only once|only when|right after"
    "|immediately after|as soon as ever|the moment|following"
)
BEFORE = phrases("before|prior to|right before|just before")
WHILE = phrases("while|whilst")
IF = phrases("if|in case|provided that|provided|as long as|should|only if")
REASONS = phrases(
    "so that|so|because|since|as|in order to|where|which|who|for|before|after|in case|otherwise"
    "|or else|that way|given that|by the time|until"
)
REASON_SUBJECTS = words(
    "i we it he she they everybody everyone nobody somebody someone people that there this"
)
SEE_IT = phrases(
    "you come across|you find|you see|you spot|you happen to find|you happen to see|you run into"
    "|you happen to come across|you can find|you notice|you stumble upon|you should find|there is"
    "|there are|you discover"
)
DONE = phrases(
    "i am|it is|its|they are|that is|everything is|all is|they are all|all of them are|it is all"
    "|this is|all of that is"
)
DONE_WORDS = words("in done there finished ready gone complete over inside through out away up")
QUESTIONS = words("where what who why how which is are was were do does did has have whose am when")
ALSO = phrases(table("also"))
TOO = phrases("too|as well|also|likewise|please")
CHAT_STARTS = words(
    "i it we he she they my tonight today there everyone everybody dinner breakfast lunch this that"
    " the our someone somebody guests you good hello how what nice time oh company some a people"
    " friends tomorrow thanks nobody first after as here"
)
NO_REMARK = words("not never except only instead but unless rather no")
MENTAL = words(
    "need is be do have make makes made will see run get gets been had let gone going getting done"
    " finished"
)
STARTING = products("start|begin|start off", "by")
FOR_WHEN = phrases(
    "for dinner|for breakfast|for lunch|for tomorrow|for later|for tonight|for now|for good"
    "|for supper"
)
BARE_REASONS = phrases("in order to | because | otherwise | or else")
"""Reasons that need no subject of their own."""
NO_THINGS = words(
    "can thing light play room hungry eat sweet thirsty drink game games meal dessert work sleep"
    " sit read cook cooking waste"
)
"""Words that name things elsewhere, but hardly in remarks."""
OCCASIONS = phrases(
    "set up|setup|create|prepare|prepare for|decorate|redecorate|rearrange|reorganize|get ready for"
)
"""What is announced: the requests that follow say how it is done."""
JOINT_OCCASIONS = phrases("clean|clean up|tidy|tidy up|organize|organise|make|play|eat")
"""These announce after "let us" or "help me"; otherwise they are requests."""
JOINTLY = phrases(
    "help me|help me to|let us|can you help me|could you help me|we should|we need to"
)
VAGUE_MOVES = phrases("move | bring | relocate | take | put | exchange")
VAGUE_THINGS = phrases(
    "these objects|some objects|the objects|things|some things|these things|these items|some items"
    "|the items|the things|these|everything"
)
NAMED_LATER = words("locations places spots positions around")
