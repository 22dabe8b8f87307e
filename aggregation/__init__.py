"""Votes to verdict: settle, the keeper of deadlines, the outbox, audit files."""
