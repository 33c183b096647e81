"""The fixed phrases within clauses and between them."""

from __future__ import annotations

from planner.language.english import combined, phrases, products, table, words

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
