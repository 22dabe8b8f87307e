"""What an order is, and placing or cancelling one."""

from dataclasses import dataclass, replace
from decimal import Decimal
from sqlite3 import Connection

from shop.payments import Gateway, charge, refund
from shop.storage import load_order, save_order


@dataclass(frozen=True)
class Line:
    """An article, how many of it, and its price."""

    article: str
    amount: int
    price: Decimal


@dataclass(frozen=True)
class Order:
    """What a customer wants to buy."""

    number: str
    customer: str
    lines: tuple[Line, ...]
    state: str = "new"

    def total(self) -> Decimal:
        """The sum of the lines."""
        return sum((line.amount * line.price for line in self.lines), Decimal(0))


def place_order(store: Connection, gateway: Gateway, order: Order) -> Order:
    """Charge the order and keep it."""
    charge(gateway, order.number, order.total())
    paid = replace(order, state="paid")
    save_order(store, paid)
    return paid


def cancel_order(store: Connection, gateway: Gateway, number: str) -> Order:
    """Give the money back and mark the order as cancelled."""
    order = load_order(store, number)
    refund(gateway, order.number, order.total())
    cancelled = replace(order, state="cancelled")
    save_order(store, cancelled)
    return cancelled
