"""syslog-ng ships documents, with the configuration of Samples/elk: none lost across restarts of itself and of the receiver."""
import os
import signal
import subprocess
import time

from . import bulk, documents
from .shipping import SAMPLES, holds, until, written


class Shipper:
    """syslog-ng with the sample's configuration, its folders and its server exchanged for those of the check."""

    def __init__(self, folder, port):
        self.folder, self.logs = folder, os.path.join(folder, "logs")
        self.spool = os.path.join(folder, "spool")
        for path in (self.logs, self.spool):
            os.makedirs(path, exist_ok=True)
        with open(os.path.join(SAMPLES, "syslog-ng.conf"), encoding="utf-8") as file:
            text = file.read()
        # A second of waiting for a server that is away, so that the check is short; the queue lies in the folder of the check.
        for theirs, ours in (('base-dir("/var/log/imdump")', 'base-dir("%s")' % self.logs), ("/var/log/imdump-", folder + "/imdump-"),
                             ("http://127.0.0.1:9200", "http://127.0.0.1:%d" % port), ("time-reopen(5)", "time-reopen(1)"),
                             ("reliable(yes)", 'reliable(yes) dir("%s")' % self.spool)):
            assert theirs in text, theirs
            text = text.replace(theirs, ours)
        self.config = os.path.join(folder, "syslog-ng.conf")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("@version: 3.38\n" + text)
        self.process = None

    def command(self, *more):
        return ["syslog-ng", "--foreground", "--no-caps", "--cfgfile", self.config, "--persist-file", os.path.join(self.folder, "persist"),
                "--control", os.path.join(self.folder, "control"), "--pidfile", os.path.join(self.folder, "pid"), *more]

    def says(self):
        """What syslog-ng says of the configuration; nothing when it has nothing to say."""
        done = subprocess.run(self.command("--syntax-only"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def begin(self):
        with open(os.path.join(self.folder, "said"), "ab") as said:
            self.process = subprocess.Popen(self.command("--stderr"), stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def end(self, number=signal.SIGTERM):
        if self.process:
            self.process.send_signal(number)
            self.process.wait(60)
        self.process = None

    def said(self):
        with open(os.path.join(self.folder, "said"), encoding="utf-8", errors="replace") as file:
            return file.read()[-4_000:]

    def errors(self):
        """The lines that were no JSON."""
        path = os.path.join(self.folder, "imdump-refused.ndjson")
        return open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else ""


def followed(folder, lines, report):
    """Three files follow one another; lines that are no JSON are set aside; what is read again is refused as known."""
    receiver = bulk.Receiver().begin()
    shipper = Shipper(folder, receiver.port)
    status, said = shipper.says()
    report.check("syslog-ng understands the configuration", status == 0 and "error" not in said.lower(), said)
    shipper.begin()
    try:
        third = len(lines) // 3 + 1
        for number in range(3):
            path = os.path.join(shipper.logs, "imdump.message.RUN-%d.ndjson" % (number + 1))
            written(path, lines[number * third:][:third])
        holds("two rotations", receiver, lines, report, shipper)
        report.equal("two rotations: answers", receiver.answers, {201: len(lines)})
        report.equal("two rotations: lines that are no JSON", shipper.errors(), "")
        with open(path, "ab") as file:
            file.write(b"no JSON\n")
        report.check("a line that is no JSON is set aside", until(30, lambda: shipper.errors() == "no JSON\n"), shipper.errors())
        with open(os.path.join(shipper.logs, "imdump.message.AGAIN.ndjson"), "wb") as file:
            file.write(b"".join(line + b"\n" for line in lines))
        report.check("read again: refused as known",
                     until(60, lambda: receiver.answers.get(409, 0) >= len(lines)), receiver.answers)
        report.equal("read again: answers", receiver.answers, {201: len(lines), 409: len(lines)})
    finally:
        shipper.end()
        receiver.end()


def away(folder, lines, report, number=signal.SIGTERM):
    """The receiver goes five times; each time syslog-ng ends and begins twice before it comes back."""
    receiver = bulk.Receiver().begin()
    shipper = Shipper(folder, receiver.port)
    shipper.begin()
    try:
        path, step = os.path.join(shipper.logs, "imdump.message.RUN-1.ndjson"), len(lines) // 20 + 1
        with open(path, "ab", buffering=0) as file:
            for index, start in enumerate(range(0, len(lines), step)):
                if index % 4 == 0:
                    until(30, lambda: len(receiver.streams) >= start // 2)
                    receiver.end()
                elif index % 4 == 3:
                    receiver.begin()
                else:
                    shipper.end(number)
                    shipper.begin()
                # Whole lines, and some in two writes.
                data = b"".join(line + b"\n" for line in lines[start:start + step])
                file.write(data[:len(data) // 2])
                time.sleep(0.2)
                file.write(data[len(data) // 2:])
                time.sleep(0.2)
        name = "the receiver was away 5 times, and syslog-ng ended 10 times by %s" % signal.Signals(number).name
        holds(name, receiver, lines, report, shipper)
        report.note("answers: %s" % receiver.answers)
    finally:
        shipper.end()
        receiver.end()


def refused(folder, lines, report):
    """Whole requests are refused for a while (429, 503): they are tried again until they are taken."""
    receiver = bulk.Receiver().begin()
    receiver.busy, receiver.fails = 3, 4
    shipper = Shipper(folder, receiver.port)
    shipper.begin()
    try:
        written(os.path.join(shipper.logs, "imdump.message.RUN-1.ndjson"), lines)
        holds("three requests refused with 429, and every fourth with 503", receiver, lines, report, shipper)
    finally:
        shipper.end()
        receiver.end()


def repaired(binary, folder, lines, report):
    """Single documents that were refused with 429 in an answer 200 are gone; `imdump ship` over the same files brings them."""
    receiver = bulk.Receiver().begin()
    receiver.refuses = lambda count: count % 3 == 0
    shipper = Shipper(folder, receiver.port)
    shipper.begin()
    try:
        written(os.path.join(shipper.logs, "imdump.message.RUN-1.ndjson"), lines)
        until(60, lambda: sum(receiver.answers.values()) >= len(lines))
        shipper.end()
        lost = receiver.answers.get(429, 0)
        report.check("%d documents refused in answers 200: %d arrived" % (lost, len(receiver.streams)),
                     lost > 0 and len(receiver.streams) + lost == len(lines), receiver.answers)
        receiver.refuses = None
        done = subprocess.run([binary, "ship", shipper.logs, "--to", "http://127.0.0.1:%d" % receiver.port,
                               "--state", os.path.join(folder, "repair")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        report.equal("imdump ship over the same files: status", done.returncode, 0)
        holds("after imdump ship", receiver, lines, report, shipper)
    finally:
        shipper.end()
        receiver.end()


def check(binary, folder, report):
    """All that is shipped by syslog-ng."""
    lines = documents.made(binary, folder, messages=5_000)
    report.note("%d documents, %.1f MB" % (len(lines), sum(map(len, lines)) / 1e6))
    followed(os.path.join(folder, "followed"), lines, report)
    away(os.path.join(folder, "away"), lines, report)
    away(os.path.join(folder, "killed"), lines, report, signal.SIGKILL)
    refused(os.path.join(folder, "refused"), lines, report)
    repaired(binary, os.path.join(folder, "repaired"), lines, report)
