"""Alerts of a live capture: a real Alertmanager, a webhook, evidence, and hooks that hang, fork, flood, die and close."""
import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time

from . import capture, load, net, runs

PORT = 19_093

RULES = """version: 1
rules:
  - { name: messages-lost, summary: Messages are lost, metric: loss, scope: endpoint, window: 2s, op: ">", threshold: 2%,
      min_samples: 20, severity: page, labels: { team: im } }
  - { name: everyone, metric: messages, scope: connection, window: 1s, op: ">=", threshold: 1, severity: info }
"""

# What a hook may do that it should not. Each notes its process and the time when it begins.
HOOKS = {
    "hangs": "sleep 60",
    "ignores SIGTERM": "trap '' TERM; while :; do sleep 1; done",
    "forks": "sleep 60 & sleep 60 & wait",
    "floods": "while :; do echo flood; echo flood >&2; done",
    "dies": "kill -SEGV $$",
    "closes its input": "exec <&-; sleep 1",
}


class Lossy(load.Load):
    """A load in which some messages have no answer."""

    def __init__(self, path, rate, seconds, isLost, **settings):
        self.isLost, self.lost = isLost, 0
        super().__init__(path, rate, seconds, **settings)

    def exchange(self, connection, time):
        sent = connection.next[1]
        packets = super().exchange(connection, time)
        if self.isLost((time - load.START) / 1e9, self.messages):
            # The server has sent nothing: had the client acknowledged an answer, the capture would have missed it.
            connection.next[1] = sent
            packets = packets[:1]
            self.lost += 1
        return packets


def script(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def ask(space, path):
    """What the Alertmanager in a namespace answers; None when it does not."""
    command = net.inside(space, ["curl", "-sf", "-m", "2", "http://127.0.0.1:%d%s" % (PORT, path)])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout or b"null") if done.returncode == 0 else None


def until(seconds, body):
    """What `body` gives as soon as it gives something; None after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = body()
        if found:
            return found
        time.sleep(0.1)
    return None


def of(space, name):
    """The alert with a name, if the Alertmanager has one that is not over."""
    found = [a for a in ask(space, "/api/v2/alerts") or [] if a["labels"]["alertname"] == name]
    return found[0] if len(found) == 1 else None


class Receiver(threading.Thread):
    """A web server in a namespace that takes posts; `answer` is its status for each."""

    def __init__(self, space, port, answers):
        super().__init__(daemon=True)
        self.space, self.port, self.answers, self.bodies, self.ready = space, port, list(answers), [], threading.Event()

    def run(self):
        net.enter(self.space)       # this thread only
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.bodies.append((self.headers["Content-Type"], json.loads(body)))
                self.send_response(receiver.answers.pop(0) if receiver.answers else 200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", self.port), Handler)
        self.ready.set()
        self.server.serve_forever()


def managed(binary, space, folder, report, is_long):
    """A real Alertmanager sees an alert once, firing, refreshed, silenced by its label, and resolved."""
    with open(os.path.join(folder, "am.yml"), "w", encoding="utf-8") as file:
        file.write("route: { receiver: none, group_by: [alertname] }\nreceivers: [ { name: none } ]\n")
    manager = subprocess.Popen(
        net.inside(space.far, ["prometheus-alertmanager", "--config.file=" + os.path.join(folder, "am.yml"),
                               "--storage.path=" + os.path.join(folder, "am"),
                               "--web.listen-address=127.0.0.1:%d" % PORT, "--cluster.listen-address="]),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    receiver = Receiver(space.far, 19_094, [500, 200])
    receiver.start()
    try:
        receiver.ready.wait(5)
        if not report.check("the Alertmanager answers", until(20, lambda: ask(space.far, "/api/v2/status"))):
            return
        rules = script(folder, "rules.yml", RULES.split("  - { name: everyone")[0])
        # A tenth of the messages of the first five seconds is lost, or of the first 75 so that a refresh is seen.
        bad = 75
        made = Lossy(os.path.join(folder, "lossy.pcap"), 200, bad + 20, lambda at, n: at < bad and n % 10 == 0, width=20)
        evidence = os.path.join(folder, "evidence")
        captures = capture.Captures(binary, space, folder, report)
        run = captures.run("--rules", rules, "--alertmanager", "http://127.0.0.1:%d" % PORT, "--evidence", evidence,
                           "--webhook", "http://127.0.0.1:19094/hook", "--format", "json")
        if run is None:
            return
        replay = captures.replay(made)
        first = until(30, lambda: of(space.far, "messages-lost"))
        if not report.check("the Alertmanager has the alert, once, firing", first and first["status"]["state"] == "active",
                            run.told()):
            run.stop()
            replay.kill()
            replay.wait()
            return
        report.equal("its labels", {k: first["labels"].get(k) for k in ("severity", "team", "profile", "server", "scope")},
                     {"severity": "page", "team": "im", "profile": "tjp", "server": "203.0.113.10:8080",
                      "scope": "endpoint"})
        amtool = ["amtool", "--alertmanager.url=http://127.0.0.1:%d" % PORT]
        subprocess.run(net.inside(space.far, [*amtool, "silence", "add", "-a", "check", "-c", "check", "team=im"]),
                       check=True, stdout=subprocess.DEVNULL)
        report.check("silenced by its label", until(10, lambda: (of(space.far, "messages-lost") or first)["status"]["state"]
                                                    == "suppressed"))
        later = until(75, lambda: (lambda a: a and a["updatedAt"] != first["updatedAt"] and a)(
            of(space.far, "messages-lost")))
        report.check("refreshed after a minute, still one, still begun at the same time",
                     later and later["startsAt"] == first["startsAt"] and later["endsAt"] > first["endsAt"], later)
        # A resolved alert is among the active ones no more.
        report.check("resolved when messages are answered again",
                     until(60, lambda: ask(space.far, "/api/v2/alerts") == []), run.told())
        replay.wait()
        captures.replayed(made, replay)
        run.stop()
        captures.ended("with an Alertmanager", run, limit=13)
        report.equal("lines: all frames and two alerts", run.lines(), made.frames - made.lost + 2)
        states = [body["state"] for _, body in receiver.bodies]
        report.equal("the webhook, which failed once: tries", states, ["firing", "firing", "resolved"])
        report.equal("its type", {kind for kind, _ in receiver.bodies}, {"application/json"})
        replays(binary, rules, evidence, receiver.bodies[0][1], report)
    finally:
        manager.terminate()
        manager.wait()


def restarted(binary, space, folder, report, restarts=10):
    """The capture is ended in the middle of two incidents, every other time by SIGKILL: a real Alertmanager opens and closes each once, and the
    evidence of both stays as it was written."""
    work = os.path.join(folder, "restarted")
    os.mkdir(work)
    os.chmod(work, 0o777)
    receiver = Receiver(space.far, 19_096, [])
    receiver.start()
    receiver.ready.wait(5)
    with open(os.path.join(work, "am.yml"), "w", encoding="utf-8") as file:
        file.write("route: { receiver: told, group_by: ['...'], group_wait: 0s, group_interval: 1s, repeat_interval: 24h }\n"
                   "receivers: [ { name: told, webhook_configs: [ { url: 'http://127.0.0.1:19096/', send_resolved: true } ] } ]\n")
    manager = subprocess.Popen(
        net.inside(space.far, ["prometheus-alertmanager", "--config.file=" + os.path.join(work, "am.yml"),
                               "--storage.path=" + os.path.join(work, "am"),
                               "--web.listen-address=127.0.0.1:%d" % PORT, "--cluster.listen-address="]),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    evidence, seen = os.path.join(work, "evidence"), {}

    def notes():
        """What the Alertmanager has told: state and begin of each alert."""
        return [(alert["status"], alert["startsAt"]) for _, body in list(receiver.bodies) for alert in body["alerts"]]

    def keep():
        """The captures of evidence that are whole, as they are; what was seen before is to be there, unchanged."""
        found = {}
        for name in os.listdir(evidence) if os.path.isdir(evidence) else []:
            with open(os.path.join(evidence, name), "rb") as file:
                found[name] = file.read()
        changed = [name for name in seen if found.get(name) != seen[name]]
        seen.update(found)
        return changed

    try:
        if not report.check("restarts: the Alertmanager answers", until(60, lambda: ask(space.far, "/api/v2/status"))):
            return
        rules = script(work, "rules.yml", RULES.split("  - { name: everyone")[0])
        long, calm = 40, 26     # seconds of an incident, and of the time after it
        made = Lossy(os.path.join(work, "lossy.pcap"), 200, 2 * (long + calm), lambda at, n: at % (long + calm) < long and n % 10 == 0, width=20)
        captures = capture.Captures(binary, space, work, report)
        words = ["-q", "--rules", rules, "--alertmanager", "http://127.0.0.1:%d" % PORT, "--evidence", evidence, "--state", os.path.join(work, "state"),
                 "--format", "json"]
        run = captures.run(*words)
        if run is None:
            return
        replay, damage = captures.replay(made), []
        for incident in range(2):
            report.check("incident %d: opened" % (incident + 1), until(30, lambda: len(notes()) > 2 * incident), run.told())
            for number in range(restarts // 2):
                time.sleep(2)
                damage += keep()
                run.stop(signal.SIGKILL if number % 2 else signal.SIGINT)
                run = captures.run(*words)
                if run is None:
                    return
            report.check("incident %d: closed" % (incident + 1), until(60, lambda: len(notes()) > 2 * incident + 1), run.told())
            damage += keep()
        replay.kill()
        replay.wait()
        run.stop()
        time.sleep(3)
        told = notes()
        report.equal("%d restarts: what the Alertmanager told" % restarts, [state for state, _ in told], ["firing", "resolved"] * 2)
        report.equal("each opened and closed with the same begin", [told[n][1] == told[n + 1][1] for n in range(0, len(told) - 1, 2)], [True, True])
        damage += keep()
        report.equal("evidence that changed or went", damage, [])
        report.equal("captures of evidence", len(seen), 2)
    finally:
        manager.terminate()
        manager.wait()


def replays(binary, rules, evidence, alert, report):
    """The capture of the evidence gives the alert again."""
    path = os.path.join(evidence, alert["evidence"])
    done = subprocess.run([binary, "check", path, "--rules", rules, "--json", "-q"], stdout=subprocess.PIPE)
    again = [json.loads(line) for line in done.stdout.splitlines()]
    fired = [a for a in again if a["state"] == "firing" and a["fingerprint"] == alert["fingerprint"]]
    report.equal("the evidence, read again: status", done.returncode, 2)
    report.equal("its value, samples and affected", [[a[k] for k in ("value", "samples", "affected")] for a in fired[:1]],
                 [[alert[k] for k in ("value", "samples", "affected")]])


def hooked(binary, space, folder, report, is_long):
    """Hooks that misbehave cost no packet; at most two run, and each ends at ten seconds."""
    made = load.Load(os.path.join(folder, "full.pcap"), 5_000, 15)
    rules = script(folder, "rules.yml", RULES)
    for name, text in HOOKS.items():
        notes = os.path.join(folder, "notes")
        if os.path.exists(notes):
            os.unlink(notes)
        open(notes, "w").close()
        os.chmod(notes, 0o666)
        hook = script(folder, "hook", "#!/bin/sh\necho $$ >> %s\n%s\n" % (notes, text))
        captures = capture.Captures(binary, space, folder, report)
        run = captures.run("--rules", rules, "--hook", hook, "--format", "json")
        if run is None:
            return
        replay = captures.replay(made)
        most, ages = watch(notes, replay)
        run.stop()
        rate = captures.replayed(made, replay)
        report.note("a hook that %s: %.0f messages a second; %s" % (name, rate, run.figures))
        # Not every alert was delivered, which is lost output.
        captures.ended("a hook that %s" % name, run, limit=14, status=74)
        report.equal("packets captured", run.counts["captured"], made.packets)
        frames = sum(1 for line in open(run.out, encoding="utf-8") if '"alert":' not in line)
        report.equal("frames printed", frames, made.frames)
        report.check("hooks at once, at most: %d" % most, 0 <= most <= 2)
        report.check("the oldest was %.1f s old" % max(ages, default=0), max(ages, default=0) < 11.8)
        time.sleep(0.1)
        left = [pid for pid in begun(notes) if alive(pid)]
        report.equal("hooks left behind", left, [])
        said = re.search(r"imdump: alerts, hook: (.*)", run.said)
        report.check("it says what became of them: %s" % (said.group(1) if said else "nothing"), said, run.said)


def begun(notes):
    with open(notes, encoding="utf-8") as file:
        return [int(line) for line in file.read().split()]


def alive(pid):
    """Whether anything of a process group runs; what has ended and waits for its parent does not."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8") as file:
                state, _, group = file.read().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue
        if int(group) == pid and state != "Z":
            return True
    return False


def watch(notes, replay):
    """While the load goes on: hooks at once, and how old each became."""
    first, last, most = {}, {}, 0
    while replay.poll() is None:
        now = time.monotonic()
        running = [pid for pid in begun(notes) if os.path.exists("/proc/%d" % pid)]
        for pid in running:
            first.setdefault(pid, now)
            last[pid] = now
        most = max(most, len(running))
        time.sleep(0.05)
    return most, [last[pid] - first[pid] for pid in first]


def check(binary, space, folder, report, is_long):
    """All of alerts that a live capture tells."""
    work = os.path.join(folder, "alerts")
    os.mkdir(work)
    os.chmod(work, 0o777)
    hooked(binary, space, work, report, is_long)
    tool = runs.missing("prometheus-alertmanager", "amtool", "curl")
    if tool:
        report.skipped("a real Alertmanager: %s is not installed" % tool)
        return
    managed(binary, space, work, report, is_long)
    restarted(binary, space, work, report)
