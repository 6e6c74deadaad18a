"""Outputs that are full or gone, and interfaces and filters that are none: said in one line, never exit 0."""
import json
import os
import signal
import subprocess
import time

from . import load, net, runs


class Faults:
    def __init__(self, binary, space, folder, report):
        self.binary, self.space, self.folder, self.report = binary, space, folder, report
        self.made = load.Load(os.path.join(folder, "load.pcap"), 1_000, 4, width=50)

    def live(self, *arguments, output=None, limit=10):
        """A capture of a load that goes on until it ends by itself, or the load does."""
        run = runs.Run(self.binary, self.space.far, self.folder, "-i", "wire0", *arguments, output=output)
        if run.listens():
            child = net.send(self.space.near, load.packets(self.made.path), pause=0.0005, limit=limit)
            run.wait(limit=2 * limit)
            try:
                os.kill(child, signal.SIGTERM)
            except ProcessLookupError:
                pass
            os.waitpid(child, 0)
        else:
            run.wait()
        return run

    def full(self):
        """Standard output on a full disk."""
        for form in ("text", "json", "ecs"):
            with open("/dev/full", "wb") as full:
                run = self.live("-q", "--format", form, *(["--message-log", "all"] if form == "ecs" else []), output=full)
            self.said("live %s > /dev/full" % form, run.status, 74, run.said, "standard output")
        path = self.made.path
        for words in (["-r", path], ["-r", path, "--format", "ecs"], ["messages", path], ["stats", path],
                      ["messages", "--by", "session", path], ["streams", path], ["-r", path, "-w", "-"],
                      ["profile", "list"], ["profile", "show", "tjp"], ["-D"], ["--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([self.binary, *words], stdin=subprocess.DEVNULL, stdout=full,
                                      stderr=subprocess.PIPE, text=True)
            name = "imdump %s > /dev/full" % " ".join(words).replace(self.folder + "/", "")
            self.said(name, done.returncode, 74, done.stderr, "standard output")

    def said(self, name, status, expected, said, *words):
        """The status is right, and exactly one line names the trouble."""
        self.report.equal(name + ": exit", status, expected)
        lines = [line for line in said.split("\n") if all(word in line for word in words)]
        self.report.check("%s: one line says so" % name, len(lines) == 1, said)

    def gone(self):
        """A reader that has seen enough."""
        cases = [("live " + form, ["-i", "wire0", "--format", form], "-1") for form in ("text", "json", "ecs")]
        cases += [("-r " + form, ["-r", self.made.path, "--format", form], "-1") for form in ("text", "json", "ecs")]
        cases += [("live -w -", ["-i", "wire0", "-w", "-"], "-c24"), ("-r -w -", ["-r", self.made.path, "-w", "-"], "-c24")]
        for name, words, first in cases:
            reader, writer = os.pipe()
            head = subprocess.Popen(["head", first], stdin=reader, stdout=subprocess.PIPE)
            os.close(reader)
            run = self.live(*words[2:], output=writer) if words[0] == "-i" else runs.Run(
                self.binary, self.space.far, self.folder, *words, output=writer).wait()
            os.close(writer)
            got = head.communicate()[0]
            name = "%s | head %s" % (name, first)
            # Who reads documents is to keep them all.
            status = 74 if "ecs" in words else 0
            self.report.equal(name + ": lines or bytes, exit", (len(got) if "c" in first else got.count(b"\n"), run.status),
                              (24 if "c" in first else 1, status))
            self.report.equal(name + ": says", run.said,
                              "imdump: standard output: broken pipe: documents are lost\n" if status else "")

    def no_room(self):
        """-w where there is no room, no folder, and nothing to write."""
        mount = os.path.join(self.folder, "small")
        os.mkdir(mount)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", mount], stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            self.report.skipped("-w on a full disk: " + done.stderr.strip())
        else:
            try:
                for words in ([], ["-U"]):
                    path = os.path.join(mount, "kept%d.pcap" % len(words))
                    run = self.live("-q", *words, "-w", path)
                    name = " ".join(["-w on a full disk", *words])
                    self.said(name, run.status, 74, run.said, path)
                    lines, said, status = runs.offline(self.binary, "-r", path, "--format", "json")
                    self.report.check("%s: what is there is whole: %d frames" % (name, lines),
                                      lines > 100 and status == 0, said)
                    os.remove(path)
            finally:
                subprocess.run(["umount", mount])
        path = os.path.join(self.folder, "nowhere", "file.pcap")
        run = runs.Run(self.binary, self.space.far, self.folder, "-q", "-i", "wire0", "-w", path)
        if run.listens(limit=2):
            time.sleep(0.5)
            run.stop() if not run.over() else run.wait()
        else:
            run.wait()
        self.said("-w in a folder that is not there, before the first packet", run.status, 74, run.said, path)
        path = os.path.join(self.folder, "empty.pcap")
        run = runs.Run(self.binary, self.space.far, self.folder, "-i", "wire0", "-w", path)
        if self.report.check("-w of a quiet line: captures", run.listens()):
            run.stop()
            found = os.path.getsize(path) if os.path.exists(path) else None
            self.report.equal("-w of a quiet line: bytes, exit", (found, run.status), (24, 0))

    def other_outputs(self):
        """Outputs that refuse bytes for other reasons, and one that takes its time."""
        for form in ("text", "json", "ecs"):
            for name, path, word in (("a device's error", "/proc/self/mem", "input/output error"),
                                     ("closed", None, "bad file descriptor")):
                command = [self.binary, "-q", "-r", self.made.path, "--format", form]
                out = open(path, "r+b", buffering=0) if path else None
                done = subprocess.run(
                    command if path else ["sh", "-c", 'exec "$@" >&-', "sh", *command], stdin=subprocess.DEVNULL,
                    stdout=out, stderr=subprocess.PIPE, text=True)
                if out:
                    out.close()
                self.said("-r %s, standard output: %s" % (form, name), done.returncode, 74, done.stderr,
                          "standard output", word)
        # Whatever is opened first has the number of the closed standard output.
        path = os.path.join(self.folder, "beside.pcap")
        done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", self.binary, "-q", "-r", self.made.path, "-w", path],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with open(path, "rb") as file:
            self.report.check("standard output closed: no line stands in the -w file", b"tjp data" not in file.read())
        done = subprocess.run([self.binary, "-q", "-r", self.made.path, "-w", "/proc/self/mem"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said("-w: a device's error", done.returncode, 74, done.stderr, "/proc/self/mem")

        done = subprocess.run(["sh", "-c", 'ulimit -f 100; exec "$@"', "sh", self.binary, "-q", "-r", self.made.path, "-w", path],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said("-w: a file that may grow no more", done.returncode, 74, done.stderr, path)
        lines, said, status = runs.offline(self.binary, "-r", path, "--format", "json")
        self.report.check("-w: a file that may grow no more is whole: %d frames" % lines, lines > 100 and status == 0, said)

        expected = runs.offline(self.binary, "-r", self.made.path, "--format", "json")[0]
        for form in ("json", "text"):
            reader, writer = os.pipe()
            run = runs.Run(self.binary, self.space.far, self.folder, "-i", "wire0", "--format", form, output=writer)
            os.close(writer)
            if run.listens():
                os.waitpid(net.send(self.space.near, load.packets(self.made.path)), 0)
                run.process.send_signal(signal.SIGINT)
                lines = 0
                while chunk := os.read(reader, 16_384):
                    lines += chunk.count(b"\n")
                    time.sleep(0.002)
                run.wait()
                self.report.equal("a slow reader of %s: lines, exit" % form, (lines, run.status), (expected, 0))
                self.report.equal("a slow reader of %s: kernel's count less all of ours" % form, run.ledger, 0)
            os.close(reader)

    def interface(self):
        """An interface that goes down and up, disappears, and comes back."""
        name, packets = "come0", list(load.packets(self.made.path))[:200]

        def make():
            net.ip("-n", self.space.near, "link", "add", name, "type", "veth", "peer", "name", "peer0")
            net.ip("-n", self.space.near, "link", "set", name, "up")
            net.ip("-n", self.space.near, "link", "set", "peer0", "up")

        def documents(run):
            with open(run.out, encoding="utf-8") as file:
                found = [json.loads(line) for line in file.read().split("\n")[:-1]]
            return [document["event"]["action"] for document in found if document["event"].get("action", "").startswith("interface")]

        def until(run, word, limit):
            """How long it took until both standard error and the documents told of it."""
            begun = time.monotonic()
            while time.monotonic() - begun < limit:
                if word[0] in run.told() and word[1] in documents(run)[-1:]:
                    break
                time.sleep(0.01)
            took = time.monotonic() - begun
            self.report.check("%s: told after %.0f ms" % (word[1], 1_000 * took), took < limit, run.told())

        make()
        run = runs.Run(self.binary, self.space.near, self.folder, "-i", name, "--format", "ecs", "--wait-interface")
        if not self.report.check("captures on %s" % name, run.listens()):
            return
        sent = 0
        # A veth pair loses what is sent while one end is down or gone.
        for change, word in ((["set", name, "down"], ("went down", "interface_down")),
                             (["set", name, "up"], ("is up again", "interface_up")),
                             (["del", name], ("disappeared; waiting", "interface_gone")),
                             (None, ("is back", "interface_back"))):
            net.ip("-n", self.space.near, "link", *change) if change else make()
            until(run, word, 2 if change is None else 1)
            if word[1] in ("interface_up", "interface_back"):
                os.waitpid(net.send(self.space.near, packets, device="peer0"), 0)
                sent += len(packets)
        run.stop()
        self.report.equal("up again and back again: packets captured, exit", (run.counts["captured"], run.status), (sent, 0))
        self.report.equal("up again and back again: kernel's count less all of ours", run.ledger, 0)

        run = runs.Run(self.binary, self.space.near, self.folder, "-i", name, "--format", "json")
        if run.listens():
            os.waitpid(net.send(self.space.near, packets, device="peer0"), 0)
            net.ip("-n", self.space.near, "link", "del", name)
            run.wait(limit=3)
            self.report.equal("without --wait-interface: packets captured, exit", (run.counts["captured"], run.status),
                              (len(packets), 1))
            self.report.check("without --wait-interface: ended in %.0f ms, and says why" % (1_000 * run.ended),
                              run.ended < 1 and "the interface disappeared" in run.said, run.said)

        run = runs.Run(self.binary, self.space.near, self.folder, "-i", name, "--format", "json", "--wait-interface")
        time.sleep(0.5)
        self.report.check("waits for an interface that is not there yet", not run.over())
        make()
        if run.listens():
            os.waitpid(net.send(self.space.near, packets, device="peer0"), 0)
            run.stop()
            self.report.equal("waited for: packets captured, exit", (run.counts["captured"], run.status), (len(packets), 0))
        net.ip("-n", self.space.near, "link", "del", name)

    def twice(self):
        """A second signal ends a run that waits for its reader."""
        for number in (signal.SIGINT, signal.SIGTERM):
            reader, writer = os.pipe()
            run = runs.Run(self.binary, self.space.far, self.folder, "-i", "wire0", "--format", "json", output=writer)
            os.close(writer)
            if run.listens():
                os.waitpid(net.send(self.space.near, load.packets(self.made.path)), 0)
                time.sleep(0.5)
                run.process.send_signal(number)
                time.sleep(0.5)
                waits = not run.over()
                run.stop(number)
                self.report.check("%s twice, output blocked: exit %d in %.0f ms" % (
                    signal.Signals(number).name, run.status, 1_000 * run.ended),
                    waits and run.status == 128 + number and run.ended < 0.5, run.said)
            os.close(reader)

    def wrong(self):
        """What cannot be captured on, and what is no filter."""
        cases = [("an interface that is not there", ["-i", "nowhere0"], 66, "nowhere0"),
                 ("a bad capture filter, live", ["-i", "wire0", "tcp prt 80"], 64, "tcp prt 80"),
                 ("a bad capture filter, file", ["-r", self.made.path, "tcp prt 80"], 64, "tcp prt 80"),
                 ("a bad display filter, live", ["-i", "wire0", "-Y", "type ="], 64, "filter"),
                 ("a file that is not there", ["-r", os.path.join(self.folder, "none.pcap")], 66, "none.pcap")]
        for name, words, status, text in cases:
            run = runs.Run(self.binary, self.space.far, self.folder, *words).wait()
            self.report.equal(name + ": exit", run.status, status)
            self.report.check(name + ": named", text in run.said.split("\n")[0], run.said)
            self.report.note(run.said.split("\n")[0])


def check(binary, space, folder, report, is_long):
    """All of them."""
    faults = Faults(binary, space, folder, report)
    faults.wrong()
    faults.full()
    faults.gone()
    faults.no_room()
    faults.twice()
    faults.other_outputs()
    faults.interface()
