"""Placing and cancelling, on a real database in memory."""

import sqlite3
from decimal import Decimal
from pathlib import Path

from shop.orders import Line, Order, cancel_order, place_order

SCHEMA = Path(__file__).parent.parent / "migrations" / "0001_orders.sql"


class RecordingGateway:
    """A bank that notes what it moved, by key."""

    def __init__(self) -> None:
        self.moved: dict[str, Decimal] = {}

    def move(self, key: str, amount: Decimal) -> None:
        """Note it once a key."""
        self.moved.setdefault(key, amount)


def test_a_cancelled_order_is_paid_back() -> None:
    store = sqlite3.connect(":memory:")
    store.executescript(SCHEMA.read_text())
    gateway = RecordingGateway()
    order = Order("A-1", "ana", (Line("lamp", 2, Decimal("19.90")),))

    place_order(store, gateway, order)
    cancelled = cancel_order(store, gateway, "A-1")

    assert cancelled.state == "cancelled"
    assert sum(gateway.moved.values()) == 0
    store.close()
