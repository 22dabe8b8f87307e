"""What a sentence says of a path that it names: that it is to be made, that it is missing, that it lies elsewhere."""

import re

from workers.judges.text import Passage

_GAP = r"(?P<gap>(?:[^.;]|\.(?=[\w/])){0,120})"
_PROPOSED = re.compile(
    r"\b(?:creat(?:e[sd]?|ing)|writes|generat(?:e[sd]?|ing)|sav(?:e[sd]?|ing)|(?:writ(?:e|es|ing)|output(?:s|ted)?"
    r"|export(?:s|ed)?)\b.{0,40} (?:to|into)|mkdir|touch|nano|vim|tee|introduc(?:e[sd]?|ing)|scaffold\w*"
    r"|produc(?:e[sd]?|ing)|extract\w*.{0,60} (?:to|into)|(?:mov|renam)(?:e|es|ing)\b.{0,80} to"
    r"|(?:split|separat(?:e|ing)|factor)\b.{0,80} into|cop(?:y|ies|ying)\b.{0,80} to"
    r"|(?:should|could|would|must|might) (?:rather |better |then )?(?:(?:go|live|sit) (?:in|into|under)"
    r"|be (?:put|moved|placed|split) (?:in|into|to|under))"
    r"|(?:cp|mv) (?:-\w+ )?\S{1,120}|new (?:file|module|script|test|document|folder"
    r"|directory|migration)|(?:crea|genera|guarda|introdu)\w*|escrib\w+\b.{0,40} (?:en|a)"
    r"|(?:mueve|mover|renombra|copia)\w*\b.{0,80} a|extrae\w*\b.{0,60} (?:a|en)"
    r"|(?:deberia|podria|conviene|convendria) (?:ir|vivir) en|nuev[oa] (?:fichero|archivo|modulo"
    r"|script|test|documento|carpeta|migracion))\b"
    rf"{_GAP}$"
)
_PARTED = re.compile(
    r"\b(?:separ(?:a|ar|alo|ala|arlo|arla)|divid(?:e|ir|irlo|irla)|traslada\w*|llev(?:a|ar|alo|ala|arlo|arla)"
    r"|sac(?:a|ar|alo|ala|arlo|arla))\b.{0,80} (?:a|en)[\s`\"'(]*$"
)
_ADDED = re.compile(
    r"\b(?:add|adding|anad\w+|agreg\w+|put|pon|place)\b(?: it| this| that| them| un| una| el| la| an?| the)?"
    r"(?: new| nuev[oa]| small| pequen[oa]| empty)?(?: \w+)?(?: (?:called|named|at|in|en|llamad[oa]))?[\s`\"'(]*$"
)
_TO_BE_CALLED = re.compile(
    r"\b(?:(?:should|could|would|must|might) (?:rather |better )?be (?:re)?(?:called|named)"
    r"|(?:call|name|rename) (?:it|them)|(?:deberia|podria|debe|puede|pasa(?:ria)? a) llamarse|se llamar(?:a|ia)"
    r"|llama(?:lo|rlo|la|rla))[\s`\"'(]*$"
)
_REDIRECTED = re.compile(r"(?:^|[^>])>{1,2}\s*$|(?:^|\s)(?:-o|--output)[= ]\s*$")
_OTHER_ACT = re.compile(
    r"\b(?:then|run|runs|edit|open|see|read|check|import|imports|using|from|luego|despues|ejecuta\w*|edita\w*|abre"
    r"|mira|lee|importa\w*|usando|desde)\b"
)
_PROPOSED_AFTER = re.compile(
    r"[`\"')\s]*(?:\((?:a )?(?:new|nuev[oa])|(?:does not|doesn't|no) (?:yet |aun |todavia )?(?:exist|existe))"
)
_ABSENT = re.compile(
    r"\b(?:do(?:es)? not|doesn't|don't|no longer|never) (?:yet )?exists?\b|\bthere (?:is|are) no\b|\bthere's no\b"
    r"|\b(?:is|was|were|been|got) (?:missing|deleted|removed|renamed|moved|gone)\b|\bno (?:file|module"
    r"|function) (?:named|called)|\bno existen?\b|\bya no\b|\bno hay\b|\b(?:fue|ha sido|se) (?:eliminad|borrad"
    r"|elimin|borr|renombr|movi)\w*|\bfalta\b|\bnot found\b|\bno such file\b"
)
_NOT_FOUND = re.compile(
    r"\b(?:(?:could not|couldn't|cannot|can't|can not|did not|didn't|do not|don't|unable to|failed to)"
    r" (?:find|locate|see)|no (?:he |hemos |se |lo )?(?:podido |pude |puedo |logro )?(?:encuentr\w+|encontr\w+"
    r"|localiz\w+|veo|vi))(?: (?:any|the|an?|such|el|la|un|una|ningun\w*))?"
    r"(?: (?:file|module|path|folder|fichero|archivo|modulo|carpeta|ruta))?(?: (?:called|named|llamad[oa]))?[\s`\"'(]*$"
)
_ILLUSTRATION = re.compile(
    r"\b(?:e\.g\.|for example|for instance|such as|something like|like this|imagine|suppose|say you have|hypothetical"
    r"|por ejemplo|p\. ?ej\.|algo como|imagina|supon|hipotetic\w+)"
)
_OWN = (
    r"(?!(?:this|that|the|same|whole|entire|our|my|your|its|their|current|local|project|git|main|new|este|esta|ese"
    r"|el|la|tu|nuestr[oa]|mismo|actual)\b)"
)
_ELSEWHERE = re.compile(
    r"\b(?:in|inside|within|on|to|from|of|en|de|del|desde|dentro del?|al) (?:the |an? |your |el |la |un |una |tu )?"
    r"(?:[\w.&'-]{1,40} ){0,2}(?:bucket|container|contenedor|server|servidor|host|cluster|vm|pod|image|imagen|s3)\b"
    rf"|\b(?:in|inside|within|from|of|see|to) (?:the )?{_OWN}[\w.&-]{{1,40}}(?:'s)?(?: own)? (?:repo(?:sitory)?"
    r"|sources?|source (?:code|tree)|package|library|project|docs|documentation|codebase)\b"
    r"|\b(?:repositorio|codigo|documentacion|libreria|biblioteca|paquete|proyecto) (?:fuente |oficial )?de "
    rf"{_OWN}[\w.&-]{{1,40}}"
)


def proposed(passage: Passage, start: int, end: int) -> bool:
    """Whether the passage says that the path from ``start`` to ``end`` is to be made, or was looked for in vain.

    Either way the draft knows that it does not exist.
    """
    before = passage.folded[max(0, start - 240) : start]
    if passage.kind != "code" and passage.lead:
        before = f"{passage.lead[-120:]} {before}"
    making = _PROPOSED.search(before)
    if making and not _OTHER_ACT.search(making["gap"]):
        return True
    if _PARTED.search(before) or _ADDED.search(before):
        return True
    if _TO_BE_CALLED.search(before) or _NOT_FOUND.search(before):
        return True
    if passage.kind == "code" and _REDIRECTED.search(before):
        return True
    return proposed_after(passage, end)


def proposed_after(passage: Passage, end: int) -> bool:
    """Whether what follows a name says that it is new or not there."""
    return _PROPOSED_AFTER.match(passage.folded, end) is not None


def fleeting(passage: Passage) -> bool:
    """Whether the passage tells of what is gone, or gives an example: what it names need not exist."""
    return (
        _ABSENT.search(passage.folded) is not None
        or _ILLUSTRATION.search(f"{passage.lead} {passage.folded}") is not None
    )


def elsewhere(passage: Passage) -> bool:
    """Whether the passage speaks of another place than the workspace: a bucket, a container, a library's repository."""
    return _ELSEWHERE.search(passage.folded) is not None
