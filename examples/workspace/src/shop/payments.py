"""Charging and refunding, once per order however often it is tried."""

from decimal import Decimal
from typing import Protocol

from shop.retry import with_retries


class Gateway(Protocol):
    """The bank's side. The same key twice moves the money once."""

    def move(self, key: str, amount: Decimal) -> None:
        """Move an amount; a negative one goes back to the customer."""


class GatewayBusyError(Exception):
    """The bank did not answer in time."""


def idempotency_key(number: str, kind: str) -> str:
    """The key under which the gateway knows this charge or refund."""
    return f"{kind}:{number}"


def charge(gateway: Gateway, number: str, amount: Decimal) -> None:
    """Take the money for an order."""
    with_retries(lambda: gateway.move(idempotency_key(number, "charge"), amount), GatewayBusyError)


def refund(gateway: Gateway, number: str, amount: Decimal) -> None:
    """Give the money for an order back."""
    with_retries(lambda: gateway.move(idempotency_key(number, "refund"), -amount), GatewayBusyError)
