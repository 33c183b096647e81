"""The words between clauses, and of remarks that ask for nothing."""

from __future__ import annotations

from planner.language.english import phrases, products, words

AFTER = phrases(
    """
    after | once | as soon as | when | now that | by the time | only after | only once | only when
    | right after | immediately after | as soon as ever | the moment | following
    """
)

BEFORE = phrases(
    """
    before | prior to | right before | just before
    """
)

WHILE = phrases(
    """
    while | whilst
    """
)

IF = phrases(
    """
    if | in case | provided that | provided | as long as | should | only if
    """
)

REASONS = phrases(
    """
    so that | so | because | since | as | in order to | where | which | who | for | before | after
    | in case | otherwise | or else | that way | given that | by the time | until
    """
)

REASON_SUBJECTS = words(
    """
    i we it he she they everybody everyone nobody somebody someone people
    that there this
    """
)

SEE_IT = phrases(
    """
    you come across | you find | you see | you spot | you happen to find | you happen to see | you
    run into | you happen to come across | you can find | you notice | you stumble upon | you
    should find | there is | there are | you discover
    """
)

DONE = phrases(
    """
    i am | it is | its | they are | that is | everything is | all is | they are all
    | all of them are | it is all | this is | all of that is
    """
)

DONE_WORDS = words(
    """
    in done there finished ready gone complete over inside through out away
    up
    """
)

QUESTIONS = words(
    """
    where what who why how which is are was were do does did has have
    whose am when
    """
)

ALSO = phrases(
    """
    as does | as do | the same goes for | same goes for | the same for | same for | so does | so
    do | and so do | and so does | same thing for | ditto for | likewise | likewise for | the same
    thing for | the same with | same with | the same applies to | do the same with | do the same
    for | do the same to | do likewise with | and then also
    """
)

TOO = phrases(
    """
    too | as well | also | likewise | please
    """
)

CHAT_STARTS = words(
    """
    i it we he she they my tonight today there everyone everybody dinner
    breakfast lunch this that the our someone somebody guests you good hello
    how what nice time oh company some a people friends tomorrow thanks nobody
    first after as here
    """
)

NO_REMARK = words(
    """
    not never except only instead but unless rather no
    """
)

MENTAL = words(
    """
    need is be do have make makes made will see run get gets been had
    let gone going getting done finished
    """
)

STARTING = products("start|begin|start off", "by")
FOR_WHEN = phrases(
    """
    for dinner | for breakfast | for lunch | for tomorrow | for later | for tonight | for now |
    for good | for supper
    """
)
BARE_REASONS = phrases("in order to | because | otherwise | or else")
"""Reasons that need no subject of their own."""
NO_THINGS = words(
    """
    can thing light play room hungry eat sweet thirsty drink game games meal dessert work sleep sit
    read cook cooking waste
    """
)
"""Words that name things elsewhere, but hardly in remarks."""

OCCASIONS = phrases(
    """
    set up | setup | create | prepare | prepare for | decorate | redecorate | rearrange
    | reorganize | get ready for
    """
)
"""What is announced: the requests that follow say how it is done."""
JOINT_OCCASIONS = phrases(
    """
    clean | clean up | tidy | tidy up | organize | organise | make | play | eat
    """
)
"""These announce after "let us" or "help me"; otherwise they are requests."""
JOINTLY = phrases(
    """
    help me | help me to | let us | can you help me | could you help me | we should | we need to
    """
)
VAGUE_MOVES = phrases("move | bring | relocate | take | put | exchange")
VAGUE_THINGS = phrases(
    """
    these objects | some objects | the objects | things | some things | these things | these items
    | some items | the items | the things | these | everything
    """
)
NAMED_LATER = words("locations places spots positions around")
