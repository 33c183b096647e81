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
OWNERS |= products(
    "my|our|the|his|her|",
    "brother|sister|mother|father|mum|mom|dad|son|daughter|wife|husband"
    "|partner|friend|neighbour|neighbor|guest|guests|boy|girl|boys|girls|kid|child|baby|dog|cat"
    "|grandma|grandpa|aunt|uncle|flatmate|roommate|boyfriend|girlfriend|cleaner",
)
HAVE = phrases(table("have"))
GUESSING = phrases("must be | should be | may be | might be")
STAYS = phrases(table("stays"))
GONE = products(
    "has|have|",
    "",
    "got to|gone to|gone|gotten to|ended up|disappeared to|wandered off to"
    "|vanished to|been left|been put",
) | phrases(table("gone"))
"""After "where" and a thing."""
LEFT = products(
    "have|has|had|",
    "last|",
    "left|put|dropped|hidden|hid|kept|stored|seen|saw|forgot"
    "|forgotten|placed|misplaced|set down|stashed",
)
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
