"""Profiles and rules that are read again: SIGHUP puts better ones in place, bad ones change nothing, and no connection or state is lost.
And rules whose state outlives runs."""
import json
import os
import shutil
import signal
import time

from . import load, net, runs

PROFILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Sources", "IMProfile", "Profiles")


class Connection(load.Connection):
    """A connection whose frames may have a version that is not 1."""

    version = 1

    def packet(self, way, flags, payload=b""):
        return super().packet(way, flags, payload[:4] + bytes([self.version]) + payload[5:] if payload else b"")


def conversation(number, version=1):
    """A connection's packets, one after the other for ever: each message and its answer."""
    connection = Connection(number)
    connection.version = version
    yield from connection.open()
    while True:
        yield from connection.message(load.START // 1_000_000_000)


class Reload:
    def __init__(self, binary, space, folder, report, mode):
        self.space, self.report = space, report
        # The user that root becomes can read a file of 644, and one of 600 only where it is still the one that was open.
        self.profile = os.path.join(folder, "mine.yaml")
        self.original = open(os.path.join(PROFILES, "tjp.yaml"), encoding="utf-8").read().replace(
            "profile: tjp\n", "profile: mine\n")
        self.write(self.original)
        os.chmod(self.profile, mode)
        self.run = runs.Run(binary, space.far, folder, "-i", "wire0", "--format", "json", "-U", "--profile", self.profile)

    def write(self, text, replaces=False):
        """Writes in place, or as an editor does that puts another file in its place."""
        path = self.profile + ".new" if replaces else self.profile
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if replaces:
            shutil.copymode(self.profile, path)
            os.rename(path, self.profile)

    def send(self, packets):
        os.waitpid(net.send(self.space.near, packets), 0)

    def frames(self, count, limit=10):
        """The lines of output, when there are `count` of them, or when it has taken too long."""
        until = time.monotonic() + limit
        while True:
            with open(self.run.out, encoding="utf-8") as file:
                lines = file.read().split("\n")[:-1]
            if len(lines) >= count or time.monotonic() > until:
                return [json.loads(line) for line in lines]
            time.sleep(0.02)

    def hang_up(self, words, limit=10):
        """SIGHUP, and what is said of it, which begins with the file's name."""
        before = len(self.run.told())
        self.run.process.send_signal(signal.SIGHUP)
        until = time.monotonic() + limit
        while time.monotonic() < until:
            said = self.run.told()[before:]
            if words in said:
                return said
            time.sleep(0.02)
        return self.run.told()[before:]


def renamed(text):
    return text.replace("name: data,", "name: said,").replace("[data,", "[said,").replace("version: 1", "version: 2", 1)


def check(binary, space, folder, report, is_long):
    corrections(binary, space, folder, report)
    unreadable(binary, space, folder, report)
    rules(binary, space, folder, report)
    silence(binary, space, folder, report)
    restarts(binary, space, folder, report)


def corrections(binary, space, folder, report):
    live = Reload(binary, space, folder, report, 0o644)
    if not report.check("a profile from a file: captures", live.run.listens(), live.run.told()):
        return
    first, second = conversation(1), conversation(2)
    live.send([next(first) for _ in range(3 + 4)])
    kinds = [frame["type"] for frame in live.frames(4)]
    report.equal("as it was: types", kinds, ["data", "ack"] * 2)

    live.write("profile: mine\nversion: [\n", replaces=True)
    said = live.hang_up("stays in use")
    report.check("a bad one is told with line and column", "mine.yaml:3:1: " in said and "stays in use" in said, said)
    live.write(live.original.replace("role: message", "role: massage"), replaces=True)
    said = live.hang_up("stays in use")
    report.check("one that is YAML too", ": a role must be message, " in said and "stays in use" in said, said)
    live.send([next(first) for _ in range(4)])
    report.equal("and changes nothing", [frame["type"] for frame in live.frames(8)][4:], ["data", "ack"] * 2)

    live.write(renamed(live.original), replaces=True)
    said = live.hang_up("reloaded")
    report.check("a good one is read: %s" % said.strip().rpartition("/")[2], "mine 2, also for 1 open connection" in said, said)
    live.send([next(first) for _ in range(4)] + [next(second) for _ in range(3 + 2)])
    found = live.frames(14)[8:]
    report.equal("the connection that is open has it", [f["type"] for f in found if f["conn"] == 1], ["said", "ack"] * 2)
    report.equal("and a new one", [f["type"] for f in found if f["conn"] == 2], ["said", "ack"])
    report.check("answers are found as before", all("rtt_us" in f for f in found if f["type"] == "ack"), found)

    # Another header: the version in it is 2.
    other = renamed(live.original).replace("bytes: 01", "bytes: 02").replace("version: 2", "version: 3", 1)
    live.write(other, replaces=True)
    said = live.hang_up("reloaded")
    report.check("another header: %s" % said.strip().rpartition("/")[2], "2 open connections keep the old one" in said, said)
    third = conversation(3, version=2)
    live.send([next(third) for _ in range(3 + 4)] + [next(first) for _ in range(4)] + [next(third) for _ in range(4)])
    found = live.frames(26)[14:]
    report.equal("an open connection keeps the old one", [f["type"] for f in found if f["conn"] == 1], ["said", "ack"] * 2)
    report.equal("a new one has the new one", [f["type"] for f in found if f["conn"] == 3], ["said", "ack"] * 4)
    live.run.stop()
    report.equal("exit", live.run.status, 0)
    report.equal("dropped by kernel", live.run.counts["dropped"], 0)


def unreadable(binary, space, folder, report):
    live = Reload(binary, space, folder, report, 0o600)
    if not report.check("a profile that only root may read: captures", live.run.listens(), live.run.told()):
        return
    live.write(renamed(live.original))
    said = live.hang_up("reloaded")
    report.check("written in place: %s" % said.strip().rpartition("/")[2], "reloaded: profile mine 2" in said, said)
    live.write(live.original, replaces=True)
    said = live.hang_up("stays in use")
    report.check("replaced: %s" % said.strip().rpartition("/")[2], "permission denied for user " in said, said)
    live.run.stop()
    report.equal("exit", live.run.status, 0)


def rule(name, rest="metric: messages, scope: profile, window: 1s, op: '>=', threshold: 1"):
    return "  - { name: %s, %s }\n" % (name, rest)


class Ruled(Reload):
    """A capture with rules that are read again."""

    def __init__(self, binary, space, folder, report, text, *words):
        self.space, self.report = space, report
        self.profile = os.path.join(folder, "rules.yml")
        self.write(text)
        os.chmod(self.profile, 0o644)
        self.run = runs.Run(binary, space.far, folder, "-i", "wire0", "--format", "json", "-U", "--rules", self.profile, *words)

    def alerts(self, name, count, limit=10):
        """What is told of a rule, when it is so much, or when it has taken too long."""
        until = time.monotonic() + limit
        while True:
            with open(self.run.out, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file.read().split("\n")[:-1]]
            found = [line for line in lines if line.get("alert") == name]
            if len(found) >= count or time.monotonic() > until:
                return found
            time.sleep(0.05)


def silence(binary, space, folder, report):
    """A message that is lost on a line on which nothing is sent any more."""
    live = Ruled(binary, space, folder, report, "version: 1\nrules:\n" + rule(
        "lost", "metric: loss, scope: profile, window: 1s, op: '>', threshold: 1%")
        + rule("slow", "metric: messages, where: 'fate == unanswered', scope: profile, window: 1s, op: '>=', threshold: 1"))
    if not report.check("a quiet line: captures", live.run.listens(), live.run.told()):
        return
    first = conversation(1)
    live.send([next(first) for _ in range(3 + 1)])
    begun = time.monotonic()
    told = [[a["state"] for a in live.alerts(name, 1, limit=25)] for name in ("lost", "slow")]
    report.equal("a message without an answer is told as lost, after %.0f s" % (time.monotonic() - begun), told,
                 [["firing"]] * 2)
    live.run.stop()


def restarts(binary, space, folder, report, times=10):
    """An alert that goes on while the capture is ended and begun again, every other time by SIGKILL, is told once, and so is its end."""
    work = os.path.join(folder, "restarts")
    os.mkdir(work)
    os.chmod(work, 0o777)
    state = os.path.join(work, "state")
    text = "version: 1\nrules:\n" + rule("busy", "metric: messages, scope: profile, window: 4s, op: '>=', threshold: 2")
    text += rule("each", "metric: messages, by: client, scope: profile, window: 4s, op: '>=', threshold: 2")
    sender = net.send(space.near, conversation(1), pause=0.1, limit=6 * times)
    told, said = [], ""

    def begin():
        live = Ruled(binary, space, work, report, text, "--state", state)
        report.check("a state: captures", live.run.listens(), live.run.told())
        return live

    def tell(live):
        return [alert for name in ("busy", "each") for alert in live.alerts(name, 0)]

    for number in range(times):
        live = begin()
        # The first alert comes after a step, and the state a second later.
        time.sleep(4 if number == 0 else 2)
        live.run.stop(signal.SIGKILL if number % 2 else signal.SIGTERM)
        told += tell(live)
        said += live.run.told()
    os.kill(sender, signal.SIGTERM)
    os.waitpid(sender, 0)
    report.equal("%d restarts: told" % times, sorted((a["alert"], a["state"]) for a in told), [("busy", "firing"), ("each", "firing")])
    report.equal("taken up", said.count("2 alerts firing"), times - 1)
    live = begin()
    time.sleep(4)
    # One message of the same client, on another connection.
    last = conversation(60_001)
    live.send([next(last) for _ in range(3 + 2)])
    live.alerts("each", 1)
    ended = tell(live)
    report.equal("their ends are told once", sorted((a["alert"], a["state"]) for a in ended), [("busy", "resolved"), ("each", "resolved")])
    report.equal("under their names", {a["id"] for a in ended}, {a["id"] for a in told})
    live.run.stop()
    report.equal("exit", live.run.status, 0)


def rules(binary, space, folder, report):
    head = "version: 1\nrules:\n"
    live = Ruled(binary, space, folder, report, head + rule("gone") + rule("kept"))
    if not report.check("a file of rules: captures", live.run.listens(), live.run.told()):
        return
    first = conversation(1)
    live.send([next(first) for _ in range(3 + 4)])
    report.equal("two rules fire", [[a["state"] for a in live.alerts(name, 1)] for name in ("gone", "kept")],
                 [["firing"]] * 2)

    live.write(head + rule("gone", "metric: nothing"), replaces=True)
    said = live.hang_up("stay in use")
    report.check("a mistake is told with line and column", "rules.yml:3:" in said and "the old rules stay in use" in said, said)
    report.equal("and resolves nothing", len(live.alerts("gone", 2, limit=1)), 1)

    live.write(head + rule("new") + rule("kept"), replaces=True)
    said = live.hang_up("reloaded")
    report.check("a good one is read: %s" % said.strip().rpartition("/")[2], "2 rules, 1 new, 1 gone" in said, said)
    gone = live.alerts("gone", 2)
    report.equal("what is gone is resolved", [a["state"] for a in gone], ["firing", "resolved"])
    report.check("with the reason", gone and gone[-1]["reason"].startswith("the rule is no longer in the file"), gone)
    report.equal("under its name", len({a["id"] for a in gone}), 1)

    said = live.hang_up("reloaded")
    report.check("the same once more: %s" % said.strip().rpartition("/")[2], "2 rules, unchanged" in said, said)
    live.send([next(first) for _ in range(4)])
    report.equal("what is new fires", [a["state"] for a in live.alerts("new", 1)], ["firing"])
    live.run.stop()
    report.equal("exit", live.run.status, 0)
    kept = live.alerts("kept", 2)
    report.equal("what stays was told once, and ends with the run", [a["state"] for a in kept], ["firing", "resolved"])
    report.equal("dropped by kernel", live.run.counts["dropped"], 0)
