"""imdump ship sends documents: none lost, none twice, whatever happens on the way."""
import json
import os
import random
import re
import subprocess
import sys
import time

from live import load

from . import bulk, documents
from .shipping import until

# A command's status, the CPU seconds of all its processes, and the resident memory of the largest in KiB.
MEASURED = """import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)"""
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


class Ship:
    """Runs of `imdump ship` over one folder."""

    def __init__(self, binary, folder, port):
        self.binary, self.port = binary, port
        self.logs = os.path.join(folder, "logs")
        self.said = os.path.join(folder, "said")
        os.makedirs(self.logs, exist_ok=True)

    def begin(self, *words, environment=None):
        return subprocess.Popen(
            [self.binary, "ship", self.logs, "--to", "http://127.0.0.1:%d" % self.port, *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=open(self.said, "ab"), env={**os.environ, **(environment or {})})

    def run(self, *words, **options):
        return self.begin(*words, **options).wait(600)

    def text(self):
        with open(self.said, encoding="utf-8", errors="replace") as file:
            return file.read()

    def write(self, lines, number=1, name="imdump.message.RUN"):
        """Appends lines to a file, the last one in two writes."""
        with open(os.path.join(self.logs, "%s-%d.ndjson" % (name, number)), "ab", buffering=0) as file:
            data = b"".join(line + b"\n" for line in lines)
            file.write(data[:-7])
            file.write(data[-7:])


def holds(name, receiver, lines, report, ship):
    """Whether the receiver has these documents, byte for byte, and no others."""
    wanted = {}
    for line in lines:
        wanted.setdefault(documents.key(line), set()).add(line)
    with receiver.lock:
        found = dict(receiver.streams)
    report.check("%s: %d documents of %d arrived" % (name, len(found), len(wanted)), found.keys() == wanted.keys(), ship.text()[-2_000:])
    different = [key for key in found if found[key] not in wanted.get(key, ())]
    report.check("%s: each as imdump wrote it" % name, not different, different[:3])
    report.equal("%s: none stored twice" % name, receiver.answers.get(201, 0), len(found))


def killed(binary, folder, lines, report, times=50):
    """ship is killed again and again, the receiver ends and begins again, items and requests are refused, files are rotated."""
    receiver = bulk.Receiver().begin()
    receiver.refuses, receiver.fails, receiver.maximum = (lambda count: count % 3 == 0), 4, 64 << 10
    ship = Ship(binary, folder, receiver.port)
    random.seed(47)
    step = len(lines) // times + 1
    try:
        for number in range(times):
            ship.write(lines[number * step:][:step], 1 + number // 10)
            if number % 10 == 9:
                # A file gets another name, as logrotate has it.
                os.rename(os.path.join(ship.logs, "imdump.message.RUN-%d.ndjson" % (1 + number // 10)),
                          os.path.join(ship.logs, "renamed-%d.ndjson" % number))
            seen, wanted = receiver.requests, random.randrange(8)
            process = ship.begin("--follow")
            # At any moment, also before the first request: counted in requests, so that a slow machine gets as far.
            until(20, lambda: receiver.requests >= seen + wanted)
            time.sleep(random.uniform(0, 0.1))
            if number % 5 == 4:
                receiver.end()
            process.kill()
            process.wait()
            if number % 5 == 4:
                receiver.begin()
        report.note("%d documents of %d had arrived before the last run" % (len(receiver.streams), len(lines)))
        report.equal("killed %d times: the last run" % times, ship.run(), 0)
        holds("killed %d times" % times, receiver, lines, report, ship)
        report.note("answers: %s, %d requests" % (receiver.answers, receiver.requests))
        before = receiver.requests
        report.equal("nothing new: status", ship.run(), 0)
        report.equal("nothing new: requests", receiver.requests, before)
    finally:
        receiver.end()


def followed(binary, folder, lines, report):
    """Growing and new files; SIGTERM; two at one folder; a file that is cut."""
    receiver = bulk.Receiver().begin()
    ship = Ship(binary, folder, receiver.port)
    process = ship.begin("--follow", "--setup", "--retention", "30d")
    try:
        third = len(lines) // 3 + 1
        for number in range(3):
            ship.write(lines[number * third:][:third], number + 1)
        wanted = len({documents.key(line) for line in lines})
        report.check("followed: all arrived", until(60, lambda: len(receiver.streams) >= wanted), ship.text())
        report.equal("a second one ends", ship.run(), 1)
        report.check("a second one says why", "another imdump ship" in ship.text(), ship.text())
        report.check("templates and pipeline were put", "/_ingest/pipeline/imdump" in receiver.put and len(receiver.put) >= 9, list(receiver.put))
        process.terminate()
        report.equal("SIGTERM", process.wait(20), 0)
        holds("followed", receiver, lines, report, ship)
        path = os.path.join(ship.logs, "imdump.message.RUN-1.ndjson")
        os.truncate(path, 0)
        other = [line.replace(b'"id":"', b'"id":"other-', 1) for line in lines[:50]]
        ship.write(other, 1)
        ship.run()
        report.check("a file that was cut is sent from its beginning", until(1, lambda: receiver.answers.get(201, 0) > wanted), receiver.answers)
    finally:
        process.kill()
        process.wait()
        receiver.end()


def counter(path, name):
    """The value of a counter of --metrics-file; none where it has none yet."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return next((int(line.split()[-1]) for line in file if line.startswith(name + " ")), None)


def outgrown(binary, folder, _, report):
    """The engine is away while a run writes more than --log-total: what is counted as lost is what does not arrive. With more room, nothing is."""
    path = os.path.join(folder, "load.pcap")
    os.makedirs(folder)
    load.Load(path, 5_000, 2)
    with open(path, "rb") as file:
        packets = file.read()
    # The capture reads the state of ship, which another user than root may not.
    words = ["-q", "-r", "-", "--message-log", "all"] + (["-Z", "root"] if os.geteuid() == 0 else [])
    printed = subprocess.run([binary, *words, "--format", "ecs"], input=packets, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    wanted = len({documents.key(line) for line in printed})
    for name, total, kills in (("large enough", "64M", 3), ("too small", "3M", 0), ("too small, killed", "3M", 3)):
        receiver = bulk.Receiver().begin()
        ship = Ship(binary, os.path.join(folder, total + str(kills)), receiver.port)
        counters = os.path.join(folder, "counters")
        process = ship.begin("--follow", "--metrics-file", counters)
        run = subprocess.Popen([binary, *words, "--log-dir", ship.logs, "--log-size", "256k", "--log-total", total],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        pieces = 40
        for number in range(pieces):
            run.stdin.write(packets[len(packets) * number // pieces:len(packets) * (number + 1) // pieces])
            run.stdin.flush()
            if number == pieces // 4:
                receiver.end()
            if number > pieces // 4 and number % 8 == 0 and kills:
                process.kill()
                process.wait()
                process = ship.begin("--follow", "--metrics-file", counters)
            time.sleep(0.15)
        said = run.communicate()[1].decode()
        receiver.begin()
        until(120, lambda: counter(counters, "imdump_ship_lag_bytes") == 0)
        process.terminate()
        status = process.wait(60)
        last = ship.run("--metrics-file", counters)
        arrived = len(receiver.streams)
        counted = sum(int(n.replace(",", "")) for n in re.findall(r"([0-9,]+) of [0-9,]+ documents are lost", said))
        held = counter(counters, 'imdump_ship_documents_total{outcome="lost"}')
        report.equal("--log-total %s: documents that do not arrive, %d and %d are counted" % (name, counted, held),
                     wanted - arrived, counted + held)
        report.check("--log-total %s: documents are lost where there is no room" % name, (wanted - arrived > 0) == ("small" in name))
        report.equal("--log-total %s: status" % name, run.returncode, 0)
        if not kills or total == "64M":
            report.equal("--log-total %s: status of ship" % name, max(status, last), 74 if "small" in name else 0)
        report.equal("--log-total %s: another user may read the state" % name, os.stat(os.path.join(ship.logs, ".ship")).st_mode & 0o777, 0o755)
        report.check("--log-total %s: ship names the files" % name, ("is gone" in ship.text()) == ("small" in name), ship.text()[-500:])
        receiver.end()


def refused(binary, folder, lines, report):
    """Documents that are refused for good, one larger than any request may be, and a key that is missing."""
    receiver = bulk.Receiver().begin()
    receiver.maximum, receiver.authorization = 64 << 10, "ApiKey c2VjcmV0"
    ship = Ship(binary, folder, receiver.port)
    bad = [json.dumps({"data_stream": {"type": "logs", "dataset": "imdump.message", "namespace": "default"},
                       "event": {"id": "bad-%d" % n}}).encode() for n in range(3)]
    large = dict(json.loads(lines[0]), message=os.urandom(200_000).hex())
    large["event"] = dict(large["event"], id="large")
    large = json.dumps(large).encode()
    try:
        ship.write([lines[0], bad[0], large, b"no JSON", *lines[1:200], bad[1], *lines[200:400], bad[2]])
        report.equal("no key: status", ship.run(), 77)
        report.check("no key: said", "--api-key-file" in ship.text(), ship.text())
        report.equal("refused: status", ship.run(environment={"IMDUMP_SHIP_API_KEY": "c2VjcmV0"}), 74)
        holds("refused", receiver, lines[:400], report, ship)
        report.check("the key is in no output", "c2VjcmV0" not in ship.text(), "")
        with open(os.path.join(ship.logs, ".ship", "refused.ndjson"), "rb") as file:
            found = [json.loads(line) for line in file]
        kept = [json.loads(bad[0]), json.loads(large), "no JSON", json.loads(bad[1]), json.loads(bad[2])]
        report.check("refused: documents kept", [one["document"] for one in found] == kept)
        report.equal("refused: statuses", [one["status"] for one in found], [400, 413, 0, 400, 400])
    finally:
        receiver.end()


def dashboards(binary, folder, lines, report):
    """Saved objects go to Kibana and to OpenSearch Dashboards, which are told apart; refusals say what and why; dry runs put nothing."""
    with open(os.path.join(ROOT, "Samples", "elk", "kibana.ndjson"), "rb") as file:
        wanted = {(one["type"], one["id"]): one for one in map(json.loads, file)}
    engine = bulk.Receiver().begin()
    try:
        for number, kind in enumerate(("kibana", "opensearch")):
            shown = bulk.Receiver()
            shown.dashboards, shown.authorization = kind, "ApiKey c2VjcmV0"
            shown.begin()
            ship = Ship(binary, os.path.join(folder, kind), engine.port)
            ship.write(lines[:3])
            words = ["--setup", "--dashboards", "http://127.0.0.1:%d/" % shown.port]
            key = {"environment": {"IMDUMP_SHIP_API_KEY": "c2VjcmV0"}}
            report.equal("%s: dry run" % kind, ship.run("--dry-run", *words), 0)
            report.equal("%s: a dry run puts nothing" % kind, (len(shown.objects), len(engine.put) if number == 0 else 0), (0, 0))
            report.equal("%s: without a key" % kind, ship.run(*words), 77)
            report.equal("%s: status" % kind, ship.run(*words, **key), 0)
            plain = {name: {member: one[member] for member in ("id", "type", "attributes", "references")} for name, one in shown.objects.items()}
            report.check("%s: the objects of Samples/elk, all of them" % kind, plain == {
                name: {member: one[member] for member in ("id", "type", "attributes", "references")} for name, one in wanted.items()},
                         sorted(plain))
            if kind == "kibana":
                report.check("kibana: as they stand in the file", shown.objects == wanted, sorted(shown.objects))
            report.check("%s: said" % kind, "imported %d saved objects into %s" % (
                len(wanted), "Kibana" if kind == "kibana" else "OpenSearch Dashboards") in ship.text(), ship.text())
            report.equal("%s: again" % kind, (ship.run(*words, **key), len(shown.objects)), (0, len(wanted)))
            shown.refused_objects = {"imdump-loss"}
            report.equal("%s: an object that is refused" % kind, ship.run(*words, **key), 74)
            report.check("%s: refused, said" % kind, "refused: visualization imdump-loss: conflict" in ship.text(), ship.text())
            report.check("%s: the key is in no output" % kind, "c2VjcmV0" not in ship.text(), "")
            shown.end()
        ship = Ship(binary, os.path.join(folder, "neither"), engine.port)
        ship.write(lines[:1])
        report.equal("what is neither: status", ship.run("--setup", "--dashboards", "http://127.0.0.1:%d/x" % engine.port), 64)
        report.check("what is neither: said", "neither Kibana nor OpenSearch Dashboards" in ship.text(), ship.text())
    finally:
        engine.end()


def cost(binary, folder, lines, report):
    """CPU and memory of ship and curl together, against a receiver in another process."""
    receiver = bulk.Receiver().begin()
    ship = Ship(binary, folder, receiver.port)
    try:
        for number in range(3):
            ship.write(lines, number + 1, "imdump.message.C%d" % number)
        # A small process starts it: until it becomes another program, a child counts as large as the process that began it.
        done = subprocess.run([sys.executable, "-c", MEASURED, binary, "ship", ship.logs, "--to", "http://127.0.0.1:%d" % receiver.port, "-q"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        status, seconds, memory = map(float, done.stdout.split())
        report.equal("cost: status", status, 0)
        size = sum(map(len, lines)) / len(lines)
        report.note("%d documents of %.0f bytes: %.2f CPU seconds, %.0f documents a second" % (
            3 * len(lines), size, seconds, 3 * len(lines) / seconds))
        # The largest of ship and of each curl, in KiB.
        report.note("resident memory: %.1f MiB at most for each of the two" % (memory / 1024))
        report.check("32 MiB for each of the two", memory <= 32 << 10, memory)
        report.check("20,000 documents a CPU second", 3 * len(lines) / seconds >= 20_000, seconds)
    finally:
        receiver.end()


def check(binary, folder, report):
    lines = documents.made(binary, folder)
    report.note("%d documents, %.1f MB" % (len(lines), sum(map(len, lines)) / 1e6))
    for part in (dashboards, followed, outgrown, refused, killed, cost):
        part(binary, os.path.join(folder, part.__name__), lines, report)
