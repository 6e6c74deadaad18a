"""rsyslog ships documents, with the configuration of Samples/elk: none lost, none twice, whatever happens on the way."""
import json
import os
import shutil
import signal
import subprocess
import time

from live import load

from . import bulk, documents

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Samples", "elk")


def until(seconds, body):
    """Whether `body` becomes true within so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if body():
            return True
        time.sleep(0.05)
    return False


class Shipper:
    """rsyslog with the sample's configuration, its folders and its server exchanged for those of the check."""

    def __init__(self, folder, port):
        self.folder, self.logs, self.spool = folder, os.path.join(folder, "logs"), os.path.join(folder, "spool")
        for path in (self.logs, self.spool):
            os.makedirs(path, exist_ok=True)
        with open(os.path.join(SAMPLES, "rsyslog.conf"), encoding="utf-8") as file:
            text = file.read()
        for theirs, ours in (("/var/log/imdump/", self.logs + "/"), ("/var/spool/rsyslog", self.spool),
                             ("/var/log/imdump-", folder + "/imdump-"), ("http://127.0.0.1:9200", "http://127.0.0.1:%d" % port)):
            assert theirs in text, theirs
            text = text.replace(theirs, ours)
        # A second of waiting for a server that is away, so that the check is short.
        text = text.replace('action.resumeInterval="5"', 'action.resumeInterval="1"')
        self.config = os.path.join(folder, "rsyslog.conf")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)
        self.process = None

    def says(self):
        """What rsyslog says of the configuration; nothing when it has nothing to say."""
        done = subprocess.run(["rsyslogd", "-N1", "-f", self.config], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def begin(self):
        self.process = subprocess.Popen(
            ["rsyslogd", "-n", "-f", self.config, "-i", os.path.join(self.folder, "rsyslog.pid")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(os.path.join(self.folder, "said"), "ab"))

    def end(self, number=signal.SIGTERM):
        if self.process:
            self.process.send_signal(number)
            self.process.wait(30)
        self.process = None

    def said(self):
        with open(os.path.join(self.folder, "said"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def errors(self):
        """The lines of the error file."""
        path = os.path.join(self.folder, "imdump-errors.ndjson")
        return open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else ""


def holds(name, receiver, lines, report, shipper, isAgain=False):
    """Whether the receiver has exactly these documents, byte for byte; those that came `isAgain` may be written otherwise."""
    # Documents of one id may be written in two ways: that of the capture's start, in a file that follows.
    wanted = {}
    for line in lines:
        wanted.setdefault(documents.key(line), set()).add(line)
    arrived = until(60, lambda: len(receiver.streams) >= len(wanted))
    with receiver.lock:
        found = dict(receiver.streams)
    report.check("%s: %d documents of %d arrived" % (name, len(found), len(wanted)), arrived and found.keys() == wanted.keys(),
                 shipper.said(), shipper.errors()[:2_000])
    different = [key for key in found if found[key] not in wanted.get(key, ())]
    if isAgain:
        different = [key for key in different if json.loads(found[key]) not in [json.loads(line) for line in wanted.get(key, ())]]
    report.check("%s: each as imdump wrote it" % name, not different, different[:3])


def followed(folder, lines, report):
    """Two files follow the first one while it is read: each has a name of its own, as imdump does it."""
    receiver = bulk.Receiver().begin()
    shipper = Shipper(folder, receiver.port)
    status, said = shipper.says()
    report.check("rsyslog understands the configuration", status == 0 and "error" not in said.lower(), said)
    shipper.begin()
    try:
        third = len(lines) // 3 + 1
        for number in range(3):
            path = os.path.join(shipper.logs, "imdump.message.RUN-%d.ndjson" % (number + 1))
            written(path, lines[number * third:][:third])
        holds("two rotations", receiver, lines, report, shipper)
        report.equal("two rotations: answers", receiver.answers, {201: len(lines)})
        # Copies of the files are other files to the shipper.
        shipper.end()
        for name in os.listdir(shipper.logs):
            # A file that is only renamed is known by its inode, and read no more.
            shutil.copy(os.path.join(shipper.logs, name), os.path.join(shipper.logs, name.replace("RUN", "AGAIN")))
        shipper.begin()
        report.check("read again: refused as known",
                     until(60, lambda: receiver.answers.get(409, 0) >= len(lines)), receiver.answers)
        time.sleep(1)
        holds("read again", receiver, lines, report, shipper)
        report.equal("read again: answers", receiver.answers, {201: len(lines), 409: len(lines)})
    finally:
        shipper.end()
        receiver.end()


def written(path, lines, pieces=10):
    """Writes lines to a file in pieces, as a capture does while it goes on."""
    with open(path, "ab", buffering=0) as file:
        step = len(lines) // pieces + 1
        for start in range(0, len(lines), step):
            file.write(b"\n".join(lines[start:start + step]) + b"\n")
            time.sleep(0.05)


def renamed(folder, lines, report):
    """logrotate renames a file that is written to: what is read again is not stored again."""
    receiver = bulk.Receiver().begin()
    shipper = Shipper(folder, receiver.port)
    shipper.begin()
    try:
        path = os.path.join(shipper.logs, "imdump.message.ndjson")
        third = len(lines) // 3 + 1
        for number in range(3):
            part = lines[number * third:][:third]
            with open(path, "ab", buffering=0) as file:
                written(path, part[:third // 2])
                if number < 2:
                    os.rename(path, os.path.join(shipper.logs, "imdump.message.%d.ndjson" % (number + 1)))
                # The writer has the old file still open, and goes on there.
                file.write(b"\n".join(part[third // 2:]) + b"\n")
        holds("renamed while it is written", receiver, lines, report, shipper)
        report.note("answers: %s" % receiver.answers)
    finally:
        shipper.end()
        receiver.end()


def refused(folder, lines, report):
    """Whole requests are refused because of load: their documents are in the error file, and are sent again from there."""
    receiver = bulk.Receiver().begin()
    receiver.busy = 3
    shipper = Shipper(folder, receiver.port)
    shipper.begin()
    try:
        written(os.path.join(shipper.logs, "imdump.message.RUN-1.ndjson"), lines)
        inside = lambda: shipper.errors().count('\\"create\\"')   # noqa: E731
        until(60, lambda: len(receiver.streams) + inside() >= len(lines))
        kept = inside()
        report.check("three requests refused as a whole: %d documents arrived, %d are in the error file" % (
            len(receiver.streams), kept), kept > 0 and kept + len(receiver.streams) == len(lines))
        # As the README says.
        errors = os.path.join(folder, "imdump-errors.ndjson")
        done = subprocess.run("jq -j 'select(.reply.status == 429) | .request.postdata' %s | curl -sS --fail -H "
                              "'Content-Type: application/x-ndjson' --data-binary @- http://127.0.0.1:%d/_bulk >/dev/null" % (
                                  errors, receiver.port), shell=True, stderr=subprocess.PIPE, text=True)
        report.check("sent again from there", done.returncode == 0, done.stderr)
        holds("refused as a whole", receiver, lines, report, shipper)
    finally:
        shipper.end()
        receiver.end()


def imdumps(binary, folder, report):
    """imdump writes the files itself, and begins new ones by size while they are shipped."""
    receiver = bulk.Receiver().begin()
    shipper = Shipper(folder, receiver.port)
    shipper.begin()
    try:
        path = os.path.join(folder, "load.pcap")
        load.Load(path, 5_000, 4)
        done = subprocess.run([binary, "-q", "-r", path, "--log-dir", shipper.logs, "--log-size", "12M", "--message-log", "all"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        report.check("imdump --log-dir", done.returncode == 0, done.stderr)
        lines = []
        names = sorted(os.listdir(shipper.logs))
        for name in names:
            with open(os.path.join(shipper.logs, name), "rb") as file:
                lines += file.read().split(b"\n")[:-1]
        messages = [name for name in names if ".message." in name]
        report.check("%d files, %d of messages" % (len(names), len(messages)), len(messages) > 2, names)
        # Each file begins with the document of the capture's start, which has one id in all of them.
        starts = len(names) - 1
        holds("imdump's own rotation", receiver, lines, report, shipper)
        until(10, lambda: receiver.answers.get(409, 0) == starts)
        report.equal("imdump's own rotation: answers", receiver.answers, {201: len(lines) - starts, 409: starts})
    finally:
        shipper.end()
        receiver.end()


def busy(folder, lines, report):
    """The receiver refuses single documents because of load, again and again: they are tried again until they are there."""
    receiver = bulk.Receiver().begin()
    receiver.refuses = lambda count: count % 3 == 0
    shipper = Shipper(folder, receiver.port)
    shipper.begin()
    try:
        written(os.path.join(shipper.logs, "imdump.message.RUN-1.ndjson"), lines)
        holds("a third refused because of load", receiver, lines, report, shipper, isAgain=True)
        report.note("answers: %s" % receiver.answers)
    finally:
        shipper.end()
        receiver.end()


def away(folder, lines, report):
    """The receiver goes and comes back, and the shipper ends and begins again in the meantime."""
    receiver = bulk.Receiver().begin()
    shipper = Shipper(folder, receiver.port)
    shipper.begin()
    try:
        path = os.path.join(shipper.logs, "imdump.message.RUN-1.ndjson")
        step = len(lines) // 20
        with open(path, "ab", buffering=0) as file:
            for start in range(0, len(lines), step):
                if start == step * 5:
                    receiver.end()
                if start == step * 10:
                    shipper.end()
                    shipper.begin()
                if start == step * 15:
                    receiver.begin()
                # Whole lines, and some in two writes.
                data = b"\n".join(lines[start:start + step]) + b"\n"
                file.write(data[:len(data) // 2])
                time.sleep(0.05)
                file.write(data[len(data) // 2:])
                time.sleep(0.05)
        holds("the receiver was away", receiver, lines, report, shipper)
        report.note("answers: %s" % receiver.answers)
    finally:
        shipper.end()
        receiver.end()


def check(binary, folder, report):
    """All that is shipped by rsyslog."""
    lines = documents.made(binary, folder)
    report.note("%d documents, %.1f MB" % (len(lines), sum(map(len, lines)) / 1e6))
    followed(os.path.join(folder, "followed"), lines, report)
    renamed(os.path.join(folder, "renamed"), lines, report)
    away(os.path.join(folder, "away"), lines, report)
    busy(os.path.join(folder, "busy"), lines, report)
    if shutil.which("jq") and shutil.which("curl"):
        refused(os.path.join(folder, "refused"), lines, report)
    else:
        report.skipped("requests that are refused as a whole: jq or curl is not installed")
    if "--log-dir" in subprocess.run([binary, "--help"], stdout=subprocess.PIPE, text=True).stdout:
        imdumps(binary, os.path.join(folder, "own"), report)
