"""Judges for the engine's tests: copied beside a test's tribunal.toml and run by real workers."""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

from tribunal import Abstain, Packet, RetryableJudgeError, judge

FINE = {"score": 100, "veto": False, "confidence": 0.9, "reason": ""}


@judge
def fine(packet: Packet) -> dict:
    return FINE


@judge
async def fine_waiting(packet: Packet) -> dict:
    await asyncio.sleep(0)
    if packet.subject.endswith("two leaves"):
        sys.exit(3)
    return FINE


@judge
def slow(packet: Packet) -> dict:
    """Takes as long as the subject's last word says, in its first attempt; the marker file shows that it runs."""
    if packet.context.workspace:
        Path(packet.context.workspace, f"{packet.seat}.{packet.attempt}.{os.getpid()}").touch()
    time.sleep(float(packet.subject.split()[-1]) if packet.attempt == 1 else 0)
    return {**FINE, "reason": f"attempt {packet.attempt}"}


@judge
async def slow_waiting(packet: Packet) -> dict:
    try:
        await asyncio.sleep(float(packet.subject.split()[-1]))
    except asyncio.CancelledError:
        Path(str(packet.context.workspace), "cancelled").touch()
        raise
    return FINE


@judge
def misbehaving(packet: Packet) -> Any:
    """Does what the subject's last word says."""
    match packet.subject.split()[-1]:
        case "raises":
            raise ValueError("no idea")
        case "retries":
            if packet.attempt == 1:
                raise RetryableJudgeError("come again")
            return FINE
        case "retries-for-ever":
            raise RetryableJudgeError("come again")
        case "rubbish":
            return {"score": "very good"}
        case "nothing":
            return None
        case "unserialisable":
            return {"score": object()}
        case "exits":
            os._exit(3)
        case "sys-exits":
            sys.exit(3)
        case "forks":
            if os.fork() == 0:
                return {"score": 0, "veto": True, "confidence": 1.0}
            return FINE
        case "prints":
            print('{"answer": {"score": 0, "veto": true}}', flush=True)
            os.write(1, b'{"answer": 1}\n')
            return FINE
        case "hangs":
            time.sleep(3600)
            return None
        case "abstains":
            return Abstain(reason="not my kind")
        case other:
            raise AssertionError(other)


@judge
def reviewer(packet: Packet) -> dict:
    """Votes as the subject's line for its seat says: ``+seat: approve`` or ``+seat: request_changes``."""
    for line in packet.subject.splitlines():
        if line.startswith(f"+{packet.seat}:"):
            return {
                "verdict": line.split()[1],
                "confidence": 0.9,
                "required_edits": [f"a.py:1 — said {packet.seat}"],
                "reasoning": f"{packet.seat} saw {len(packet.peers)} peers",
                "injection_detected": False,
                "design_decision": False,
            }
    return {"status": "abstain", "reasoning": "nothing for me"}


@judge
def reading(packet: Packet) -> dict:
    """Tells where its memory folder is."""
    return {**FINE, "reason": str(packet.context.memory)}


@judge
def vetoing(packet: Packet) -> dict:
    """Refuses; where there is a workspace, once the ``slow`` judge is at work in it."""
    while packet.context.workspace and not list(Path(packet.context.workspace).glob("slow.*")):
        time.sleep(0.01)
    return {"score": 0, "veto": True, "confidence": 0.99, "reason": "never"}
