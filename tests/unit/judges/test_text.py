"""How a draft is read: passages, negations, quotations, stems, languages."""

import pytest
from hypothesis import given
from judge_packets import drafts

from workers.judges.text import (
    PASSAGE_LIMIT,
    attributed,
    fold,
    language,
    narrated,
    negated,
    passages,
    question,
    quoted,
    readable,
    stem,
)


def said(text: str, words: str) -> tuple[bool, bool]:
    """Whether ``words`` are denied and whether they are quoted, in the passage that holds them."""
    passage = next(part for part in passages(readable(text)) if words in part.folded)
    start = passage.folded.index(words)
    span = (start, start + len(words))
    return negated(passage, *span), quoted(passage, *span)


@pytest.mark.parametrize(
    "text",
    [
        "Never force push to main.",
        "Please do not force push here.",
        "Never, under any circumstances, force push.",
        "You must not rebase, squash, or force push.",
        "Don't skip the tests, force push, or merge alone.",
        "Force push is strictly forbidden.",
        "Nunca hagas force push.",
        "Evita el force push.",
        "El force push está prohibido.",
        "Never run this:\n\n```bash\nforce push\n```",
        "What to avoid, never do it:\n\n- force push",
        "Open a pull request instead of a force push.",
        "The hook blocks every force push.",
        "El gancho rechaza el force push.",
        "A force push is rejected.",
        "The force push caused the outage.",
    ],
)
def test_a_denial_is_seen(text: str) -> None:
    assert said(text, "force push")[0]


@pytest.mark.parametrize(
    "text",
    [
        "Force push now.",
        "Don't hesitate to force push.",
        "Don't worry, force push.",
        "No problem, just force push.",
        "Never mind the others, force push.",
        "The tests do not pass, but force push.",
        "Do not wait; force push.",
        "Merge without review and force push.",
        "Sin miedo, haz force push.",
        "No dudes en hacer force push.",
        "Nunca falla. Haz force push.",
        "Never say never.\n\nForce push.",
        "CI blocks you, force push.",
        "The hook rejects it and you can force push.",
        "Force push to drop the commit that broke the build.",
        "Force push, the queue is blocked.",
    ],
)
def test_what_only_looks_like_a_denial_is_none(text: str) -> None:
    assert not said(text, "force push")[0]


def test_a_quotation_needs_somebody_who_is_quoted() -> None:
    assert said('The old policy says "force push when in doubt".', "force push")[1]
    assert said("> force push when in doubt\n\nThat is wrong.", "force push")[1]
    assert not said('Run "force push" now.', "force push")[1]


def told(text: str, words: str = "force push") -> bool:
    """Whether the passage that holds ``words`` only tells of them."""
    passage = next(part for part in passages(readable(text)) if words in part.folded)
    start = passage.folded.index(words)
    return narrated(passage, start, start + len(words))


@pytest.mark.parametrize(
    "text",
    [
        "It came from a force push.",
        "A colleague did a force push.",
        "The log contains a force push.",
        "The report says that a force push hit main.",
        "An attacker could force push.",
        "GitHub lets an admin force push.",
        "El registro tiene un force push.",
        "This caused the outage:\n\n```\nforce push\n```",
    ],
)
def test_what_is_told_is_not_urged(text: str) -> None:
    assert told(text)


@pytest.mark.parametrize(
    "text",
    [
        "Force push now.",
        "The cause is known, so force push.",
        "You should do what Marta did: force push.",
        "Make sure that the log contains a force push.",
        "The hook lets you force push.",
        "This worked for me:\n\n```\nforce push\n```",
        "The agent can force push.",
        "Due to the outage force push.",
        "Marta did the tests, force push.",
    ],
)
def test_what_is_urged_is_not_only_told(text: str) -> None:
    assert not told(text)


def test_spanish_tells_a_subject_from_an_imperative_except_an_agents() -> None:
    assert told("El script salta los hooks.", "salta los hooks")
    assert not told("Salta los hooks.", "salta los hooks")
    assert not told("Esta noche salta los hooks.", "salta los hooks")
    assert not told("El agente salta los hooks.", "salta los hooks")


def test_a_claim_is_the_authors_unless_somebody_else_makes_it() -> None:
    theirs, ours = passages("The vendor says it is foolproof.\n\nI promise it is foolproof.")

    assert attributed(theirs, theirs.folded.index("foolproof"))
    assert not attributed(ours, ours.folded.index("foolproof"))


def test_a_question_is_one_also_in_a_list_and_never_in_code() -> None:
    parts = passages("- Should we merge?\n\n```\ncase ?\n```")
    assert [question(part) for part in parts] == [True, False]


def test_fences_items_and_quotes_are_told_apart() -> None:
    parts = passages("Do this:\n\n```bash title\ngit status\n```\n> quoted\n- item one\n  goes on\n- item two")

    assert [(part.kind, part.text) for part in parts] == [
        ("prose", "Do this:"),
        ("code", "git status"),
        ("quote", "quoted"),
        ("prose", "item one goes on"),
        ("prose", "item two"),
    ]
    assert parts[1].lead == "do this:"
    assert parts[1].info == "bash title"


def test_invisible_characters_and_typographic_marks_do_not_hide_words() -> None:
    assert readable("for\u200bce\u00a0push “now” don’t") == 'force push "now" don\'t'


@pytest.mark.parametrize(
    "words",
    [("commit", "commits", "committing", "committed"), ("install", "installing", "installed"), ("merge", "merging"),
     ("ejecutar", "ejecuta", "ejecutando"), ("despliegue", "despliegues")],
)  # fmt: skip
def test_forms_of_a_word_share_a_stem(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1


def test_languages_are_told_apart_and_too_little_tells_nothing() -> None:
    assert language("The service is down and you should look at the log of it for that.") == "en"
    assert language("El servicio está caído y hay que mirar en los registros para ver lo que pasa.") == "es"
    assert language("git push origin main") is None


@given(drafts)
def test_passages_are_short_folding_keeps_places_and_nothing_raises(text: str) -> None:
    assert len(fold(text)) == len(text)
    for part in passages(readable(text)):
        assert part.text
        assert len(part.text) <= PASSAGE_LIMIT
        assert len(part.folded) == len(part.text)
        negated(part, 0, len(part.text))
        quoted(part, 0, len(part.text))
        narrated(part, 0, len(part.text))
        attributed(part, len(part.text))


@given(drafts)
def test_every_word_of_a_draft_without_marks_is_in_some_passage(text: str) -> None:
    words = [word for word in readable(text).split() if word.isalnum()]
    read = " ".join(part.text for part in passages(" ".join(words)))
    assert read.split() == words or any(len(word) > PASSAGE_LIMIT for word in words)
