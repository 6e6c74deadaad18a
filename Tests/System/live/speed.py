"""Many packets a second: what they cost, that none is lost, and how many are where the sender is as fast as it can."""
import os
import re
import signal
import subprocess
import time

from . import load, net, runs

RATE = 400_000
# Microseconds of CPU for a packet.
COST = 0.6


class Speed:
    def __init__(self, binary, space, folder, report):
        self.binary, self.space, self.folder, self.report = binary, space, folder, report
        self.path, self.loops = os.environ.get("IMDUMP_LOAD"), 1
        if not self.path:
            made = load.Load(os.path.join(folder, "many.pcap"), 20_000, 6, width=2_000)
            self.path, self.loops = made.path, 12

    def replay(self, *speed):
        command = ["tcpreplay", "-q", "-K", "--loop=%d" % self.loops, *speed, "-i", "wire0", self.path]
        return subprocess.Popen(net.inside(self.space.near, command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def run(self):
        with open("/dev/null", "wb") as null:
            run = runs.Run(self.binary, self.space.far, self.folder, "-i", "wire0", "-B", "16384", "--format", "json",
                           output=null)
        if run.listens():
            return run
        self.report.check("imdump captures", False, run.wait().said)
        return None

    def said(self, replay):
        text = replay.communicate(timeout=300)[0]
        rate = re.search(r"([\d.]+) pps", text)
        return runs.number(r"Successful packets:\s+(\d+)", text), float(rate.group(1)) if rate else 0

    def steady(self, is_long):
        """At a fixed rate."""
        run = self.run()
        if run is None:
            return
        sent, rate = self.said(self.replay("-p", str(RATE)))
        run.stop()
        cost = 1e6 * run.cpu / max(1, run.counts["captured"] or 0)
        self.report.note("%.0f packets a second; %s" % (rate, run.figures))
        name = "%d packets at %d a second" % (sent or 0, RATE)
        self.report.equal(name + ": dropped by kernel", run.counts["dropped"], 0)
        self.report.equal(name + ": captured", run.counts["captured"], sent)
        self.report.equal(name + ": kernel's count less all of ours", run.ledger, 0)
        text = "%s: %.3f us of CPU for a packet" % (name, cost)
        # On a machine with other work a figure is no verdict.
        self.report.check(text, cost <= COST) if is_long else self.report.note(text)

    def middle(self):
        """A signal while the load goes on."""
        run = self.run()
        if run is None:
            return
        before = self.received()
        replay = self.replay("-p", str(RATE))
        until = time.monotonic() + 60
        # tcpreplay reads its file first.
        while self.received() - before < 200_000 and time.monotonic() < until and replay.poll() is None:
            time.sleep(0.05)
        going = replay.poll() is None
        run.stop(signal.SIGTERM)
        replay.terminate()
        replay.communicate(timeout=60)
        self.report.note(run.figures)
        self.report.check("SIGTERM under full load: exit %d in %.0f ms" % (run.status, 1_000 * run.ended),
                          going and run.status == 0 and run.ended < 1)
        self.report.equal("SIGTERM under full load: kernel's count less all of ours", run.ledger, 0)

    def received(self):
        with subprocess.Popen(net.inside(self.space.far, ["cat", "/sys/class/net/wire0/statistics/rx_packets"]),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as said:
            text = said.communicate()[0].strip()
        return int(text) if text.isdigit() else 0

    def beside_tcpdump(self):
        """As fast as the sender can, beside tcpdump with as large a buffer."""
        run = self.run()
        if run is None:
            return
        with subprocess.Popen(net.inside(self.space.far, ["tcpdump", "-i", "wire0", "-B", "16384", "-Z", "root", "-w",
                                                          os.path.join(self.folder, "tcpdump.pcap")]),
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as tcpdump:
            time.sleep(1)
            sent, rate = self.said(self.replay("-t"))
            run.stop()
            tcpdump.send_signal(signal.SIGINT)
            theirs = runs.number(r"(\d+) packets dropped by kernel", tcpdump.communicate(timeout=60)[1])
        self.report.note("%d packets, %.0f a second; %s" % (sent or 0, rate, run.figures))
        self.report.check("as fast as it goes: %s dropped, tcpdump %s" % (run.counts["dropped"], theirs),
                          run.counts["dropped"] is not None and theirs is not None and run.counts["dropped"] <= theirs)
        self.report.equal("as fast as it goes: kernel's count less all of ours", run.ledger, 0)


def check(binary, space, folder, report, is_long):
    """All of them."""
    speed = Speed(binary, space, folder, report)
    speed.steady(is_long)
    speed.middle()
    speed.beside_tcpdump()
