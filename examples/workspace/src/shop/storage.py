"""The orders on disk."""

import json
from dataclasses import asdict
from decimal import Decimal
from sqlite3 import Connection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shop.orders import Order


def save_order(store: Connection, order: "Order") -> None:
    """Keep an order, over an earlier state of it."""
    content = json.dumps(asdict(order), default=str)
    with store:
        store.execute(
            "INSERT INTO orders (number, customer, state, content) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (number) DO UPDATE SET state = excluded.state, content = excluded.content",
            (order.number, order.customer, order.state, content),
        )


def load_order(store: Connection, number: str) -> "Order":
    """An order by its number."""
    from shop.orders import Line, Order

    row = store.execute("SELECT content FROM orders WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise LookupError(f"no order {number}")
    content = json.loads(row[0])
    lines = tuple(Line(line["article"], line["amount"], Decimal(line["price"])) for line in content.pop("lines"))
    return Order(**content, lines=lines)
