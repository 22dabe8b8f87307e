"""What is read from the environment."""

import os


def database_url() -> str:
    """Where the orders are kept."""
    return os.environ["SHOP_DATABASE_URL"]


def gateway_timeout() -> float:
    """How long the bank may take, in seconds."""
    return float(os.environ.get("SHOP_GATEWAY_TIMEOUT", "5"))
