"""Orders and payments of the shop."""
