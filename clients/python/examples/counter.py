"""Adds one, a hundred times; run several beside each other and nothing is lost."""

import sys

from kokuban import Client

board = Client(agent=sys.argv[1]).board("shop")
for _ in range(100):
    board.update("working/count", lambda n: (n or 0) + 1, attempts=1000)
