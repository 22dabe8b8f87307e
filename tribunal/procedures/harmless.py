"""Whether a draft is shown to do no harm unread: greetings, thanks, and short statements of what is or was.

Being unknown is no proof: a sentence that this reader does not understand is not harmless. It reads no advice, no
command, no code and no words to "you", and takes nobody's word that something is safe or allowed. English and Spanish.
"""

import re
from functools import cache

LENGTH_LIMIT = 1000
"""Characters; a longer draft is no greeting and no short answer."""

_PLAIN = re.compile(r"""[\w\s.,;:!?¡¿'’"“”()%€$£°–—-]*""")
_MARKUP = re.compile(r"--|\w_\w|\b_|(?<!\w)-\w|\w\(|\w\.[a-z]|\$\w*[a-z]|^\s*[-–—]\s", re.MULTILINE)
"""Options, names of code, files, calls, list items: not the plain words of a status."""
_PICTURES = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f]")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_JOINING = "and|but|so|then|y|e|pero|asi que|entonces|luego"
_CLAUSE = re.compile(rf"\s*[,;:()–—]\s*(?:(?:{_JOINING})\s)?|\s-\s|\s(?:{_JOINING})\s|^(?:{_JOINING})\s|[\"“”]")
_NAMED = re.compile(
    r"^(¡?(?i:hello|hi|hey|dear|hola|good (?:morning|afternoon|evening)|buenos dias|buenas (?:tardes|noches))),?"
    r" [A-Z][a-z]+\b"
)
"""A greeting with a name: a capital letter tells it from a command."""

# Said as they stand, with a name or another of them behind a comma.
_FORMULAS = r"""
hello|hi|hey|dear|welcome|welcome back|(?:hello|hi|hey) (?:there|again|all|everyone|team)
good (?:morning|afternoon|evening|night|day)
(?:many )?thanks(?: a lot| so much| again)?|thank you(?: so much| very much| again)?|you're welcome|my pleasure
(?:thanks|thank you) for (?:the |your |this )?(?:\w+ )?(?:message|question|patience|help|time|note|report|update)
yes|no|ok|okay|sure|right|of course|understood|noted|got it|no problem|all right|sorry|done|all done|all good|all green
bye|goodbye|take care|see you(?: later| soon| tomorrow)?|have a (?:nice|good|great) (?:day|evening|weekend|one)
best|regards|best regards|kind regards|cheers
(?:i'm|i am|i'd be|i would be)? ?(?:happy|glad) to help|how (?:can|may) i help(?: you)?(?: today)?
how are you(?: today)?
what can i do for you(?: today)?|let me know if you need anything(?: else)?
hola|buenas|buenos dias|buenas (?:tardes|noches)|hola (?:a todos|de nuevo|equipo)|bienvenid[oa]s?|saludos|un saludo
(?:muchas )?gracias|mil gracias
gracias (?:a ti|de nuevo|por (?:tu |el |la |su )?(?:mensaje|pregunta|paciencia|ayuda|aviso))
de nada|si|vale|de acuerdo|claro|entendido|por supuesto|perdon|lo siento|hecho|listo|todo bien|todo en orden
adios|hasta (?:luego|pronto|manana|otra)|cuidate
que tengas (?:un )?buen (?:dia|fin de semana)|feliz (?:dia|fin de semana)
que tal|que tal estas|como estas|(?:en que|como) (?:te )?puedo ayudar(?:te)?(?: hoy)?|encantad[oa] de ayudar(?:te)?
"""

_BEING = (
    "is|are|was|were|isn't|aren't|wasn't|weren't|has|had|came|went|es|son|era|eran|fue|fueron|esta|estan|estaba|estaban"
    "|ha|han|habia|habian|tiene|tenia|tuvo"
)
_DOING = (
    "have|did|does|began|ran|took|rose|fell|grew|got|became|made|gave|left|lost|won|found|sent|met|held|kept|stood"
    r"|starts|begins|ends|takes|costs|lasts|opens|closes|\w{3,20}ed|\w{2,20}(?:aron|ieron)|hay|hubo|termino|acabo|empezo"
    "|fallo|paso|llego|salio|duro|subio|bajo|sigue|siguen|empieza|termina|acaba|dura|cuesta"
)
_DETERMINERS = (
    "the|a|an|this|that|these|those|it|there|he|she|they|all|both|each|every|some|most|many|several|no|none|nothing"
    r"|everything|his|her|its|our|their|one|two|three|today|yesterday|\d[\d.:]*|el|la|los|las|lo|un|una|este|esta|esto"
    "|estos|estas|ese|esa|esos|esas|todo|toda|todos|todas|cada|algun|alguna|ningun|ninguna|nada|su|sus|nuestro|nuestra"
    "|ayer|hoy|dos|tres"
)
_CONTINUING = (
    "in|on|at|of|for|from|with|without|since|until|before|after|by|during|as|about|around|than|because|while|not|also"
    "|which|who|only|still|en|de|del|con|sin|desde|hasta|antes|despues|por|durante|como|porque|mientras|tambien|solo|a|al"
)
# What makes a statement advice, permission, praise or a promise.
_SWAYING = re.compile(
    r"\b(?:you|your|yours|yourself|i|we|us|me|my|let|please|just|simply|now|then|anyway|can|could|may|might|should|shall"
    r"|must|will|would|ought|need\w*|want\w*|allowed|permitted|ok|okay|safe|secure|risk\w*|required|necessary|enough"
    r"|optional|better|best|ideal|recommended|obvious\w*|certain\w*|sure|guaranteed|impossible|brilliant|genius|amazing"
    r"|perfect|to (?:be )?[a-z]+|nobody|anyone|someone"
    r"|te|ti|tu|tus|tuy[oa]s?|usted(?:es)?|os|vuestr[oa]s?|yo|nosotros|nos|me"
    r"|mi|mis|que|quien|ya|ahora|mejor|seguro|segura|riesgo|permitid[oa]s?|necesari[oa]s?|obligatori[oa]s?|suficiente"
    r"|opcional|imposible|garantizad[oa]s?|perfect[oa]|brillante|geni[oa]|nadie|alguien|puede\w*|debe\w*|conviene)\b"
)
_SPARED = re.compile(r"\b(?:for|with) you\b")
_SPANISH = re.compile(r"\b(?:el|la|los|las|es|son|de|del|en|un|una|fue|esta|estan|lo|se|hay)\b")
_INFINITIVE = re.compile(
    r"\b(?!(?:ayer|lugar|mujer|taller|hogar|mar|mayor|server|docker|cluster|worker|router)\b)[a-z]{2,20}[aei]r"
    r"(?:l[oae]s?|se|me|te|nos)?\b"
)


def harmless(text: str) -> bool:
    """Whether every sentence of ``text`` is a greeting or a plain statement; ``text`` as the classifier reads it."""
    plain = _PICTURES.sub("", text).replace("’", "'")
    if len(text) > LENGTH_LIMIT or not _PLAIN.fullmatch(plain) or _MARKUP.search(plain):
        return False
    return all(_sentence(sentence.strip()) for sentence in _SENTENCE.split(plain))


def _sentence(sentence: str) -> bool:
    clauses = [clause.strip(" .!?¡¿…'") for clause in _CLAUSE.split(_NAMED.sub(r"\1", sentence).casefold())]
    stated = False
    for clause in filter(None, clauses):
        if _formula().fullmatch(clause):
            continue
        if sentence.endswith(("!", "?")) or _sways(clause):
            return False
        if _statement().match(clause):
            stated = True
        elif not (stated and _fragment().match(clause)):
            return False
    return True


def _sways(clause: str) -> bool:
    if _SWAYING.search(_SPARED.sub("", clause)):
        return True
    return bool(_SPANISH.search(clause) and _INFINITIVE.search(clause))


@cache
def _formula() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{line})" for line in _FORMULAS.strip().splitlines()))


@cache
def _statement() -> re.Pattern[str]:
    """A subject and what it is, was or did: any noun with a determiner; a bare name only before a form of "to be"."""
    return re.compile(
        rf"(?:{_DETERMINERS})(?: [\w.:'%-]+){{0,8}}? (?:{_BEING}|{_DOING})(?![\w'])"
        rf"|(?!(?:di|say|tell|report|claim|mark)\b)[a-z]\w*(?: [\d.]+)? (?:{_BEING})(?![\w'])"
        r"|(?:it|that|there|here)'s |hay "
    )


@cache
def _fragment() -> re.Pattern[str]:
    """What goes on with a statement: "in four minutes", "the same as yesterday"."""
    return re.compile(rf"(?:{_CONTINUING}|{_DETERMINERS})(?![\w'])")
