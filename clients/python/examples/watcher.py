"""Prints what is finished, until three tasks are; a broken connection loses nothing."""

from kokuban import Client, Commit

done = 0
for message in Client().board("shop").watch(after="start", status="pending_review", values=True):
    for change in message.changes if isinstance(message, Commit) else ():
        if change.status == "pending_review":
            done += 1
            print(f"{message.by} finished {change.place}: {change.value['result']}", flush=True)
    if done == 3:
        break
