"""Captures of a replayed load on a veth pair: nothing may be missing, however the capture is ended."""
import json
import os
import re
import signal
import subprocess
import time

from . import load, net, runs


class Captures:
    """The checks of one pair of namespaces; `binary` is imdump, `folder` is for files."""

    def __init__(self, binary, space, folder, report):
        self.binary, self.space, self.folder, self.report = binary, space, folder, report

    def run(self, *arguments, **settings):
        run = runs.Run(self.binary, self.space.far, self.folder, "-i", "wire0", *arguments, **settings)
        if not run.listens():
            self.report.check("imdump captures", False, run.wait().said)
            return None
        return run

    def replay(self, made):
        """tcpreplay at the file's rate; by the times of single packets it falls behind on a busy machine."""
        rate = "%.0f" % (made.packets / made.seconds)
        command = ["tcpreplay", "-q", "-K", "-p", rate, "-i", "wire0", made.path]
        return subprocess.Popen(net.inside(self.space.near, command), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def replayed(self, made, replay):
        """Waits for tcpreplay's end, and says how well it kept its time; the signal has been sent before."""
        said = replay.communicate(timeout=60)[0]
        sent = runs.number(r"Successful packets:\s+(\d+)", said)
        rate = re.search(r"([\d.]+) pps", said)
        pps = float(rate.group(1)) if rate else 0
        self.report.check("tcpreplay sent %s of %s packets, %.0f a second" % (sent, made.packets, pps),
                          sent == made.packets and replay.returncode == 0, said)
        return pps * made.messages / made.packets

    def whole(self, made, number, *arguments):
        """A capture of all of `made`, ended by the signal right after the last packet."""
        run = self.run(*arguments)
        if run is None:
            return None
        replay = self.replay(made)
        os.waitid(os.P_PID, replay.pid, os.WEXITED | os.WNOWAIT)
        run.stop(number)
        name = "%s, %.0f s, %s" % (" ".join(arguments), made.seconds, signal.Signals(number).name)
        rate = self.replayed(made, replay)
        self.report.note("%.0f messages a second; %s" % (rate, run.figures))
        self.ended(name, run)
        self.report.equal(name + ": packets captured", run.counts["captured"], made.packets)
        return run

    def ended(self, name, run, limit=1.0, status=0):
        """What holds at the end of every capture; `status` is 74 where output was lost."""
        self.report.check("%s: exit %d" % (name, status), run.status == status, run.status, run.said)
        self.report.equal(name + ": dropped by kernel", run.counts["dropped"], 0)
        self.report.equal(name + ": kernel's count less all of ours", run.ledger, 0)
        self.report.check("%s: ended in %.0f ms" % (name, 1_000 * run.ended), run.ended <= limit)

    # The checks.

    def frames(self, made, number, form):
        run = self.whole(made, number, "--format", form)
        if run:
            self.report.equal("frames printed as " + form, run.lines(), made.frames)

    def documents(self, made, number, everything):
        options = ["--message-log", "all"] if everything else []
        run = self.whole(made, number, "--format", "ecs", *options)
        if run is None:
            return
        kinds, units, acked, identities, capture = {}, 0, 0, set(), {}
        with open(run.out, encoding="utf-8") as file:
            for line in file:
                document = json.loads(line)
                event = document["event"]
                identities.add(event["id"])
                kind = event["dataset"], event.get("action")
                kinds[kind] = kinds.get(kind, 0) + 1
                for way in document["imdump"].get("summary", {}).get("messages", {}).values():
                    units, acked = units + way["units"], acked + way["acked"]
                if event.get("action") == "capture_end":
                    capture = document["imdump"]["capture"]["packets"]
        self.report.equal("documents with an id of their own", len(identities), sum(kinds.values()))
        self.report.equal("messages in the summaries", units, made.messages)
        self.report.equal("acked of them", acked, made.messages)
        self.report.equal("ends of connections", kinds.get(("imdump.connection", "connection_end"), 0),
                          made.connections)
        self.report.equal("capture_end: received, processed, dropped",
                          [capture.get(name) for name in ("received", "processed", "dropped")],
                          [made.packets, made.packets, 0])
        if everything:
            found = sum(n for (dataset, _), n in kinds.items() if dataset == "imdump.message")
            self.report.equal("documents of messages", found, made.messages)

    def written(self, made, number):
        path = os.path.join(self.folder, "written.pcap")
        run = self.whole(made, number, "--format", "json", "-w", path)
        if run is None:
            return
        self.report.equal("frames printed beside -w", run.lines(), made.frames)
        self.again(path, run)

    def again(self, path, run):
        """The written file, read again, has the packets and frames of the capture that wrote it."""
        lines, said, status = runs.offline(self.binary, "-r", path, "--format", "json")
        self.report.check("the -w file, read again: exit 0", status == 0, said)
        self.report.equal("the -w file's packets", runs.number(runs.COUNTS["captured"], said), run.counts["captured"])
        self.report.equal("the -w file's frames", lines, run.lines())

    def middle(self, made, number, after, *arguments, rewritten=False):
        """A capture that is ended while the load goes on."""
        path = os.path.join(self.folder, "written.pcap")
        run = self.run(*arguments, *(["-w", path] if rewritten else []))
        if run is None:
            return
        replay = self.replay(made)
        time.sleep(after)
        run.stop(number)
        name = "%s, in mid-load, %s" % (" ".join(arguments), signal.Signals(number).name)
        self.report.check(name + ": the load was still going", replay.poll() is None)
        self.report.note(run.figures)
        self.ended(name, run)
        self.report.check("%s: %s packets captured" % (name, run.counts["captured"]),
                          0 < (run.counts["captured"] or 0) < made.packets)
        if rewritten:
            self.again(path, run)
        self.replayed(made, replay)

    def bursts(self, made, number, times):
        """All of a small load at once and a signal in the same moment, when it is still in the kernel's ring."""
        packets = list(load.packets(made.path))
        good, worst, last = 0, 0.0, None
        for _ in range(times):
            run = self.run("--format", "json")
            if run is None:
                return
            child = net.send(self.space.near, packets, then=(run.process.pid, number))
            begun = time.monotonic()
            os.waitpid(child, 0)
            run.wait(begun)
            worst = max(worst, run.ended)
            holds = run.status == 0 and run.lines() == made.frames and run.ledger == 0
            holds = holds and run.counts["captured"] == made.packets
            good, last = good + holds, last if holds else run.figures + "\n" + run.said
        self.report.check(
            "%d packets at once and %s at once: all there in %d of %d runs, ended in %.0f ms at most" % (
                made.packets, signal.Signals(number).name, good, times, 1_000 * worst),
            good == times and worst < 1.0, last)


def check(binary, space, folder, report, is_long):
    """All captures of a load."""
    full = load.Load(os.path.join(folder, "full.pcap"), 5_000, 60 if is_long else 10)
    short = full if not is_long else load.Load(os.path.join(folder, "short.pcap"), 5_000, 15)
    few = load.Load(os.path.join(folder, "few.pcap"), 1_000, 0.45, width=15)
    report.note("the load: %d messages on %d connections, %d packets, %.1f MB, %d s" % (
        full.messages, full.connections, full.packets, full.bytes / 1e6, full.seconds))
    captures = Captures(binary, space, folder, report)
    captures.frames(full, signal.SIGINT, "json")
    captures.frames(short, signal.SIGTERM, "json")
    captures.frames(short, signal.SIGINT, "text")
    captures.documents(short, signal.SIGTERM, everything=False)
    captures.documents(short, signal.SIGINT, everything=True)
    captures.written(short, signal.SIGINT)
    for number in (signal.SIGINT, signal.SIGTERM):
        captures.middle(short, number, 3, "--format", "json")
    captures.middle(short, signal.SIGINT, 2, "--format", "ecs")
    captures.middle(short, signal.SIGTERM, 2, "--format", "json", rewritten=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        captures.bursts(few, number, 50 if is_long else 10)
