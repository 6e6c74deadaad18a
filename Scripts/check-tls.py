#!/usr/bin/env python3
"""Holds what imdump reads of TLS captures against truth files: check-tls.py IMDUMP FOLDER [NAME...].

FOLDER holds captures (plain or gzip), key logs and truth files as their README describes them. Of each capture and of each variant the
messages that are wholly there must be read, or as many as the truth says can be, and no others.
"""
import collections
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile


def frames(imdump, capture, keys):
    command = [imdump, "-q", "-r", capture, "--format", "json"] + (["--keylog", keys] if keys else [])
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit("check-tls: %s: %s" % (os.path.basename(capture), done.stderr))
    for line in done.stdout.splitlines():
        frame = json.loads(line)
        if "type" in frame and "dir" in frame:
            yield frame


def name(protocol, frame):
    """What the truth calls the same message by."""
    sequence = frame.get("seq")
    return frame["client"].rsplit(":", 1)[1], frame["dir"], frame["type"], sequence


def check(imdump, folder, capture, truth, keys, indices=None, reached=None):
    connections = truth["connections"]
    wanted, allowed = collections.Counter(), collections.Counter()
    places = {f: i for i, f in enumerate(truth["message_fields"])}
    for number, connection in enumerate(connections):
        absent = set(indices["absent"][number]) if indices else set()
        for i, message in enumerate(connection["messages"]):
            key = (str(connection["client_port"]), message[places["dir"]], message[places["type"]], message[places["id"]])
            allowed[key] += 1
            if i not in absent:
                wanted[key] += 1
    found = collections.Counter(name(truth["protocol"], f) for f in frames(imdump, capture, keys))
    missing, wrong = sum((wanted - found).values()), sum((found - allowed).values())
    return sum(wanted.values()), sum((found & wanted).values()), missing, wrong, (wanted - found), (found - allowed)


def main():
    imdump, folder, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    bad = 0
    with tempfile.TemporaryDirectory() as space:
        for path in sorted(glob.glob(os.path.join(folder, "*.truth.json"))):
            base = os.path.basename(path)[: -len(".truth.json")]
            with open(path) as file:
                truth = json.load(file)
            for capture in sorted(glob.glob(os.path.join(folder, base + ".*pcap*"))):
                kind = os.path.basename(capture)[len(base) + 1 :].split(".")[0]
                if only and not any(o in os.path.basename(capture) for o in only):
                    continue
                plain = os.path.join(space, os.path.basename(capture).removesuffix(".gz"))
                with (gzip.open if capture.endswith(".gz") else open)(capture, "rb") as packed, open(plain, "wb") as file:
                    file.write(packed.read())
                variant = truth["variants"].get(kind)
                runs = [("", None if kind.startswith("dsb") else os.path.join(folder, base + ".keys"))]
                if kind in ("pcap", "pcapng"):
                    runs.append((" messy", os.path.join(folder, "messy.keys")))
                for label, keys in runs:
                    present, reached, missing, wrong, lacks, others = check(imdump, folder, plain, truth, keys, variant)
                    goal = variant["reached"] if variant else present
                    isRight = reached >= goal and wrong == 0
                    bad += not isRight
                    print("%s %s%s: %d of %d present, goal %d, %d wrong" % (
                        "ok   " if isRight else "WRONG", os.path.basename(plain), label, reached, present, goal, wrong))
                    if not isRight:
                        print("      lacks %s, others %s" % (list(lacks.items())[:3], list(others.items())[:3]))
    print("check-tls: %d wrong" % bad)
    return bad > 0


sys.exit(main())
