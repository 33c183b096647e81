"""The words of clauses that only say what is going on."""

from __future__ import annotations

from planner.language.english import phrases, words

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
