"""The banner: what a user reads, and that nothing in a draft or a judge's words breaks out of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pydantic import JsonValue
from recommendation_panel import CLEAN, PROCEDURE, outcome, panel_of, rendering_of, stage_of

from tribunal.model import Decision
from tribunal.procedures.banner import DRAFT_LIMIT, code, escape, fence

EVIL = "</details><script>alert(1)</script>\n\n# Heading\n````\n[x](javascript:y) ![i](http://e.org/p.png)\n> `quote`"


def banner_on(answers: dict[str, JsonValue], draft: str = "Push it.") -> str:
    """The banner for the answers; the seats that are not named are clean."""
    votes = stage_of({**CLEAN, **answers}).votes
    decision = outcome(stage_of({**CLEAN, **answers}))
    assert isinstance(decision, Decision)
    block = PROCEDURE.output(panel_of(), decision, rendering_of(*votes, subject=draft))["banner"]
    assert isinstance(block, str)
    return block


def test_a_warning_names_each_doubting_seat_with_its_reason_and_one_quote() -> None:
    found: JsonValue = {
        "score": 40,
        "reason": "the team squashes",
        "evidence": [
            {"memory_file": "notes.md", "draft_match": "merge commit"},
            {"memory_file": "more.md", "draft_match": "second"},
        ],
    }

    block = banner_on({"memory-conflict": found, "rule-violation": None})

    assert block.splitlines() == [
        "> **Warning: the tribunal has doubts about this answer** (consensus score 70 of 100).",
        ">",
        "> - **memory-conflict** gives 40 of 100: the team squashes (evidence: `merge commit`)",
        "> - **rule-violation** did not answer (timeout): no answer",
        ">",
        "> Check these points before you rely on it.",
    ]


def test_a_weak_objection_and_a_flag_are_told_in_one_line() -> None:
    block = banner_on(
        {"rule-violation": {"score": 90, "veto": True, "confidence": 0.5, "injection_detected": True, "reason": "odd"}}
    )

    assert (
        "> - **rule-violation** finds words in the draft that try to steer its reader; objects with confidence 0.5: odd"
        in block.splitlines()
    )


def test_a_draft_that_nobody_scored_says_so() -> None:
    block = banner_on({seat: {"score": None} for seat in ("memory-conflict", "rule-violation", "hallucination-fast")})

    assert "(no seat gave a score)" in block
    assert "> Check it yourself before you rely on it." in block


def test_a_blocked_draft_is_quoted_with_each_veto_and_what_to_do_instead() -> None:
    block = banner_on(
        {
            "rule-violation": {
                "score": 0,
                "reason": "a token in the clear",
                "rules_hit": [{"rule_id": "Rule #1", "rule_file": "rules.md", "rule_excerpt": "Keep PATs out of code"}],
            },
            "hallucination-fast": {
                "score": 0,
                "fabricated": [{"entity": "deploy.sh", "closest_match": "tools/deploy.sh", "confidence": 1}],
            },
        },
        draft="Paste it into deploy.sh\nand run it.",
    )

    assert block.splitlines() == [
        "> **Blocked: the tribunal vetoed this answer.** Do not act on it.",
        ">",
        "> - **rule-violation** breaks Rule #1 in rules.md: a token in the clear (evidence: `Keep PATs out of code`)",
        "> - **hallucination-fast** finds that deploy.sh does not exist (evidence: `deploy.sh`)",
        ">",
        "> **What to do instead**",
        ">",
        "> - Follow Rule #1: Keep PATs out of code",
        "> - Check whether tools/deploy.sh is meant",
        ">",
        "> **The blocked draft**",
        ">",
        "> ```text",
        "> Paste it into deploy.sh",
        "> and run it.",
        "> ```",
    ]


@pytest.mark.parametrize("level", ["blind", "low", "medium", "high"])
@pytest.mark.parametrize("score", [10, 100])
def test_an_area_the_user_does_not_know_adds_its_sections(level: str, score: int) -> None:
    block = banner_on(
        {
            "memory-conflict": {"score": score},
            "expertise-asymmetry": {"score": 50, "audit_level": level, "domain": "payments"},
        }
    )

    sections = [title in block for title in ("**Why**", "**Alternatives rejected**", "**How to verify**")]
    assert sections == [level in {"blind", "low"} and score == 10] * 3
    assert (block == "") == (score == 100)


@pytest.mark.parametrize("key", ["reason", "draft"])
def test_a_secret_does_not_come_back(key: str) -> None:
    secret = "ghp_" + "x7Kq2mZp9Rt4Vw8Ys3Bn6Dc1Fg5Hj0LkQaWe"
    answer: JsonValue = {"score": 0, "veto": True, "reason": f"{'long ' * 36}{secret}" if key == "reason" else "no"}

    block = banner_on({"rule-violation": answer}, draft=f"Use {secret}." if key == "draft" else "Use it.")

    assert secret[:12] not in block


def test_markup_in_a_judges_words_stays_text() -> None:
    assert escape("<b>*x*</b> [a](b) `c` www.e.org http://e.org") == (
        r"&lt;b&gt;\*x\*&lt;/b&gt; \[a\](b) \`c\` www\.e.org http\://e.org"
    )


def test_a_code_span_outlasts_its_backticks() -> None:
    assert code("a `b` ``c``") == "``` a `b` ``c`` ```"
    assert code("two\nlines") == "`two lines`"


def test_a_long_draft_is_cut_and_the_rest_counted() -> None:
    assert fence("x" * (DRAFT_LIMIT + 7))[-1] == "(7 more characters are not shown.)"


@pytest.mark.parametrize("where", ["draft", "reason", "evidence", "both"])
def test_an_evil_text_cannot_leave_the_quote(where: str) -> None:
    answer: dict[str, JsonValue] = {"score": 0, "veto": True, "reason": EVIL if where in {"reason", "both"} else "no"}
    if where in {"evidence", "both"}:
        answer["rules_hit"] = [{"rule_id": EVIL, "rule_file": "radical-honesty.md", "draft_match": EVIL}]

    block = banner_on({"rule-violation": answer}, draft=EVIL if where in {"draft", "both"} else "fine")

    assert_closed(block)


MARKUP = st.text(st.sampled_from(list("ab `<>&*_[]()!#>-+1.=\n\r\t~|\\\u2028\u0085\x0b:/w")), max_size=60)


@given(MARKUP, MARKUP | st.text(max_size=60))
def test_no_text_can_leave_the_quote(draft: str, reason: str) -> None:
    hit: JsonValue = {"rule_id": draft or "x", "rule_file": "radical-honesty.md", "draft_match": draft + reason}
    answer: JsonValue = {"score": 0, "veto": True, "reason": reason + draft, "rules_hit": [hit]}

    assert_closed(banner_on({"rule-violation": answer}, draft=draft))


def assert_closed(block: str) -> None:
    """As Markdown the block is one quote; what it quotes is no HTML, link, image or emphasis of its own."""
    tokens = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(block)
    inline = [child for token in tokens for child in token.children or ()]

    assert [token.type for token in tokens if token.level == 0] == ["blockquote_open", "blockquote_close"]
    assert not [token for token in tokens if token.type in {"html_block", "heading_open", "table_open", "hr"}]
    assert {child.type for child in inline} <= {"text", "code_inline", "strong_open", "strong_close", "softbreak"}
    assert [token.type for token in tokens if token.type == "fence"] == ["fence"]
    assert tokens[-2].type == "fence"
