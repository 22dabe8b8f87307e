"""``python -m tribunal.cli``: the command where its script is not on the path."""

from tribunal.cli import main

main()
