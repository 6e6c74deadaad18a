"""Documents in files: every one in one of them, once, whatever rotates; and on a disk without room, counted."""
import collections
import glob
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import time

from . import load, net, runs

NAME = re.compile(r"imdump\.(message|connection|weird|alert|summary|capture)\.([0-9A-Z]{26})-(\d+)\.ndjson")


class Files:
    """What stands in a folder of documents; `problems` has what should not be."""

    def __init__(self, folder, most=None):
        self.documents, self.numbers, self.problems, ids = collections.defaultdict(list), collections.defaultdict(list), [], set()
        self.lines = 0
        for path in glob.glob(folder + "/imdump.*"):
            name = os.path.basename(path)
            match = NAME.fullmatch(name)
            with open(path, "rb") as file:
                data = file.read()
            if not match or not data.endswith(b"}\n"):
                self.problems.append("%s: no such name, or a line that is cut" % name)
                continue
            if most and len(data) > most:
                self.problems.append("%s: %d bytes" % (name, len(data)))
            first, *lines = [json.loads(line) for line in data.splitlines()]
            if (first["event"]["action"], first["imdump"].get("log")) != ("capture_start", {"file": name}):
                self.problems.append("%s: its first line is another's" % name)
            self.numbers[match[1]].append(int(match[3]))
            self.lines += len(lines)
            for document in lines:
                if document["event"]["dataset"] != "imdump." + match[1] or document["event"]["id"] in ids:
                    self.problems.append("%s: a document of another dataset, or one that stands there twice" % name)
                ids.add(document["event"]["id"])
                self.documents[match[1]].append(document)
        for numbers in self.numbers.values():
            numbers.sort()


class Logs:
    def __init__(self, binary, space, folder, report):
        self.binary, self.space, self.report = binary, space, report
        self.user = "tcpdump" if any(entry.pw_name == "tcpdump" for entry in pwd.getpwall()) else "nobody"
        self.parent = folder
        self.made = load.Load(os.path.join(folder, "logged.pcap"), 1_000, 4, width=50)
        self.sent = list(load.packets(self.made.path))

    def fresh(self, own):
        """An empty folder of the user that root becomes, or of root."""
        path = os.path.join(self.parent, "logs")
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path)
        if own:
            shutil.chown(path, self.user)
        return path

    def start(self, *words):
        run = runs.Run(self.binary, self.space.far, self.parent, "-i", "wire0", "--format", "ecs", "--message-log", "all", *words)
        if run.listens():
            return run
        self.report.check("imdump %s captures" % " ".join(words), False, run.wait().said)
        return None

    def send(self, packets):
        os.waitpid(net.send(self.space.near, packets, pause=0.0001, limit=60), 0)

    def rotated(self):
        """By size and by SIGHUP, with and without a process that opens the files."""
        for own in (True, False):
            folder = self.fresh(own)
            run = self.start("--log-dir", folder, "--log-size", "512k")
            if not run:
                continue
            name = "documents in %s" % ("the user's folder" if own else "a folder of root")
            thirds = len(self.sent) // 3
            for i in range(3):
                self.send(self.sent[i * thirds:(i + 1) * thirds if i < 2 else len(self.sent)])
                if i < 2:
                    # What the kernel still has comes after it: that loses and doubles nothing.
                    run.process.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            run.stop()
            files = Files(folder, most=512 << 10)
            self.report.check("%s: whole lines, each once, with a first line of the file's own" % name, not files.problems,
                              *files.problems[:5])
            self.report.equal("%s: exit, ledger" % name, (run.status, run.ledger), (0, 0))
            self.report.equal("%s: messages, connections" % name,
                              (len(files.documents["message"]), len({d["imdump"]["conn"]["id"]
                               for d in files.documents["connection"] if d["imdump"]["conn"]["final"]})),
                              (self.made.messages, self.made.connections))
            self.report.check("%s: %d files of messages, none left out" % (name, len(files.numbers["message"])),
                              len(files.numbers["message"]) > 5
                              and all(n == list(range(1, len(n) + 1)) for n in files.numbers.values()), dict(files.numbers))
            # The next document of the capture is that of its end, unless a minute is over before.
            self.report.check("%s: SIGHUP began other files" % name, files.numbers["capture"][-1] >= 2, dict(files.numbers))
            owners = {pwd.getpwuid(os.stat(path).st_uid).pw_name for path in glob.glob(folder + "/*")}
            self.report.equal("%s: whose they are" % name, owners, {self.user})

    def few(self):
        """The oldest go, also by the hand of the process that opens the files."""
        folder = self.fresh(False)
        kept = os.path.join(folder, "imdump.message.%s-1.ndjson" % ("0" * 26))
        with open(kept, "w", encoding="utf-8") as file:
            file.write("{}\n")
        run = self.start("--log-dir", folder, "--log-size", "256k", "--log-files", "2")
        if not run:
            return
        self.send(self.sent)
        time.sleep(0.5)
        run.stop()
        self.report.check("--log-files: a file of another run stays", os.path.exists(kept))
        os.remove(kept)
        files = Files(folder, most=256 << 10)
        self.report.check("--log-files 2: the last two of each (messages %s)" % files.numbers["message"],
                          not files.problems and all(len(n) <= 2 and n[-1] - n[0] == len(n) - 1 for n in files.numbers.values())
                          and files.numbers["message"][-1] > 10, files.problems[:3], dict(files.numbers))
        self.report.equal("--log-files 2: exit", run.status, 0)

    def full(self):
        """A disk without room, and one that has some again."""
        mount = os.path.join(self.parent, "small-logs")
        os.makedirs(mount, exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "tmpfs", mount], stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            self.report.skipped("documents on a full disk: " + done.stderr.strip())
            return
        try:
            done = subprocess.run([self.binary, "-q", "-r", self.made.path, "--format", "ecs", "--message-log", "all", "--log-dir",
                                   mount], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            lost = runs.number(r"([\d,]+) documents? could not be written", done.stderr)
            made = runs.offline(self.binary, "-q", "-r", self.made.path, "--format", "ecs", "--message-log", "all")[0]
            files = Files(mount)
            self.report.equal("documents on a full disk: exit, lines said", (done.returncode, done.stderr.count("\n")), (74, 2))
            # The document of the start is the first line of each file, and is not lost.
            self.report.equal("documents on a full disk: written and lost", files.lines + (lost or 0), made - 1)
            self.report.check("documents on a full disk: whole lines", not files.problems and lost, *files.problems[:3])
            for path in glob.glob(mount + "/*"):
                os.remove(path)

            ballast = os.path.join(mount, "ballast")
            with open(ballast, "wb") as file:
                file.write(b"\0" * (600 << 10))
            run = self.start("-q", "--log-dir", mount, "--log-size", "100k", "--log-files", "2")
            if not run:
                return
            half = len(self.sent) // 2
            file = os.open(ballast, os.O_WRONLY | os.O_APPEND)
            try:
                while True:
                    os.write(file, b"\0" * 4096)
            except OSError:
                os.close(file)
            self.send(self.sent[:half])
            time.sleep(0.5)
            os.truncate(ballast, 0)
            self.send(self.sent[half:])
            time.sleep(0.5)
            run.stop()
            files = Files(mount, most=100 << 10)
            end = [d for d in files.documents["capture"] if d["event"]["action"] == "capture_end"]
            output = end[0]["imdump"]["capture"]["output"] if end else {}
            lost = runs.number(r"([\d,]+) documents? could not be written", run.said)
            self.report.check("a disk that has room again: written on, %s lost" % lost,
                              not files.problems and files.lines > 50 and (lost or 0) > 0, files.problems[:3], run.said)
            self.report.equal("a disk that has room again: exit, lost by the last document", (run.status, output.get("dropped")),
                              (74, lost))
            self.report.check("a disk that has room again: failures are counted", output.get("failed", 0) > 0, output)
        finally:
            subprocess.run(["umount", mount])

    def slow(self):
        """A disk that takes nothing for a while: the capture goes on meanwhile, and no document is lost."""
        image, mount = os.path.join(self.parent, "slow.img"), os.path.join(self.parent, "slow-logs")
        os.makedirs(mount, exist_ok=True)
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        for words in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, mount]):
            try:
                done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            except OSError as error:
                done = subprocess.CompletedProcess(words, 1, stderr=str(error))
            if done.returncode != 0:
                self.report.skipped("documents on a slow disk: " + done.stderr.strip())
                return
        # Nobody but imdump may touch the folder while it is frozen: who does hangs.
        frozen = False
        try:
            os.chmod(mount, 0o777)
            # A small buffer in the kernel, so that a capture that waits loses packets.
            run = self.start("-B", "512", "--log-dir", mount)
            if not run:
                return
            third = len(self.sent) // 3
            self.send(self.sent[:third])
            frozen = subprocess.run(["fsfreeze", "--freeze", mount], stderr=subprocess.DEVNULL).returncode == 0
            self.send(self.sent[third:2 * third])
            time.sleep(1)
            if frozen:
                subprocess.run(["fsfreeze", "--unfreeze", mount])
                frozen = False
            else:
                self.report.skipped("documents on a slow disk: it cannot be frozen here")
            self.send(self.sent[2 * third:])
            time.sleep(0.5)
            run.stop()
            files = Files(mount)
            self.report.equal("a disk that stands still: exit, ledger, dropped by the kernel",
                              (run.status, run.ledger, run.counts["dropped"]), (0, 0, 0))
            self.report.check("a disk that stands still: whole lines, each once", not files.problems, *files.problems[:3])
            self.report.equal("a disk that stands still: messages", len(files.documents["message"]), self.made.messages)
        finally:
            if frozen:
                subprocess.run(["fsfreeze", "--unfreeze", mount])
            subprocess.run(["umount", mount])


def check(binary, space, folder, report, is_long):
    logs = Logs(binary, space, folder, report)
    for _ in range(5 if is_long else 1):
        logs.rotated()
    logs.few()
    logs.full()
    logs.slow()
