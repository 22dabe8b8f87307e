"""A case that was judged: its panel, its two votes and its verdict, for the tests of what is shown."""

from tribunal.model import Decision, Grade, Stage, Trigger, Verdict, Vote, VoteStatus
from tribunal.panels import Panel, Seat

PANEL = Panel(
    name="mini",
    procedure="recommendation",
    answer_within=3.0,
    seats=(
        Seat(name="rule-violation", judge="rule-violation", timeout=2.4),
        Seat(name="tone", judge="tone", timeout=2),
    ),
)
RULE_VOTE = Vote(
    seat="rule-violation",
    judge="rule-violation",
    status=VoteStatus.VOTED,
    attempt=1,
    elapsed_ms=85,
    answer={
        "score": 0,
        "veto": True,
        "confidence": 0.95,
        "reason": "a \x1b[31mtoken\x1b[0m in the [bold]draft[/bold]",
        "rules_hit": [{"rule_id": "Rule #1", "rule_file": "rules.md", "draft_match": "ghp_…[redacted]"}],
    },
)
TONE_VOTE = Vote(seat="tone", judge="tone", status=VoteStatus.TIMEOUT, reason="no answer in 2 s", attempt=2)
VERDICT = Verdict(
    verdict_id="v1",
    case_id="case-1",
    panel="mini",
    panel_version="0" * 16,
    decision=Decision(
        outcome="veto",
        grade=Grade.REFUSING,
        reasons=("rule-violation vetoes with confidence 0.95",),
        details={"required_edits": ["x.py:1 - remove the token"]},
    ),
    history=(Stage(stage=1, votes=(RULE_VOTE, TONE_VOTE)),),
    trigger=Trigger.COMPLETE,
    output={"verdict": "VETO", "banner": "> **Blocked.** Do not act on it."},
    audit_path="recommendation-tribunal/2026-01-01/abc.json",
    subject_sha256="0" * 64,
    opened_at=1_000_000,
    deadline_at=1_003_000,
    sealed_at=1_001_250,
    seq=7,
)
