"""Takes tasks one by one, each exactly once, also if other workers run or die beside it."""

import sys

from kokuban import Client

board = Client(agent=sys.argv[1]).board("shop")
while claimed := board.claim("working", prefix="task-", status="raw", to_status="processing", wait=0.5):
    with claimed:
        result = claimed.entry.value["n"] ** 2
        claimed.lease.patch(set={"result": result}, status="pending_review", version=claimed.entry.version)
        print(f"{claimed.entry.place}: {result}")
