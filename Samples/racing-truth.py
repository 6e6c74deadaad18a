#!/usr/bin/env python3
"""What two ledgers of impeer say of a capture taken beside the server: racing-truth.py CLIENT SERVER > CAPTURE.truth.json

Each message of the clients, with the copies that the server has read and the connections that brought them. All were
acknowledged: the clients say so. Nothing here has seen the capture.
"""
import json
import sys


def frames(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if entry["event"] == "frame":
                yield entry


def main(client, server):
    messages = {}
    for frame in frames(server):
        if frame["direction"] != "in" or frame["kind"] != 0:
            continue
        key = (frame["session"], frame["sequence"])
        known = messages.setdefault(key, {"session": key[0], "sequence": key[1], "copies": 0, "connections": []})
        known["copies"] += 1
        if frame["remote"] not in known["connections"]:
            known["connections"].append(frame["remote"])
    with open(server, encoding="utf-8") as file:
        opened = sum(json.loads(line)["event"] == "open" for line in file)
    written = {(frame["session"], frame["sequence"]) for frame in frames(client)
            if frame["direction"] == "out" and frame["kind"] == 0}
    answered = {(frame["session"], frame["acknowledges"]) for frame in frames(client)
                if frame["direction"] == "in" and frame["kind"] == 2}
    if written != set(messages) or not written <= answered:
        sys.exit("racing-truth.py: not every message has reached the server and was acknowledged")
    print('{"connections":%d,"messages":[' % opened)
    print(",\n".join(json.dumps(messages[key], separators=(",", ":")) for key in messages))
    print("]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
