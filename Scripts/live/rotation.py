"""Files of packets that follow one another: by size, by the clock, by name; every packet in one of them, once."""
import os
import pwd
import shutil
import signal
import struct
import subprocess
import time

from . import load, net, runs


def read(path):
    """The packets of a pcap file as (nanoseconds, bytes); an error where it is not whole."""
    with open(path, "rb") as file:
        data = file.read()
    magic = struct.unpack_from("<I", data)[0]
    unit = {0xA1B23C4D: 1, 0xA1B2C3D4: 1_000}[magic]
    at, found = 24, []
    while at < len(data):
        seconds, fraction, count = struct.unpack_from("<III", data, at)
        if at + 16 + count > len(data):
            raise ValueError("%s: cut at %d" % (path, at))
        found.append((seconds * 1_000_000_000 + fraction * unit, data[at + 16:at + 16 + count]))
        at += 16 + count
    return found


class Rotation:
    def __init__(self, binary, space, folder, report):
        self.binary, self.space, self.report = binary, space, report
        self.user = "tcpdump" if any(entry.pw_name == "tcpdump" for entry in pwd.getpwall()) else "nobody"
        self.parent = folder
        self.made = load.Load(os.path.join(folder, "rotated.pcap"), 1_000, 4, width=50)
        self.sent = list(load.packets(self.made.path))

    def fresh(self, owned=True):
        """An empty folder, that of the user that root becomes."""
        path = os.path.join(self.parent, "rotated")
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path, 0o755)
        if owned:
            shutil.chown(path, self.user)
        return path

    def start(self, *arguments):
        run = runs.Run(self.binary, self.space.far, self.parent, "-i", "wire0", "--format", "json", *arguments)
        if run.listens():
            return run
        self.report.check("imdump %s captures" % " ".join(arguments), False, run.wait().said)
        return None

    def send(self, packets, pause):
        return net.send(self.space.near, packets, pause=pause, limit=60)

    def whole(self, name, files, expected):
        """The files are whole, and have the packets in order, each once."""
        try:
            packets = [packet for path in files for packet in read(path)]
        except (OSError, ValueError, KeyError, struct.error) as error:
            self.report.check(name + ": every file is whole", False, error)
            return []
        self.report.check("%s: %d packets in %d files, none lost or twice" % (name, len(packets), len(files)),
                          [data for _, data in packets] == expected, "%d were sent" % len(expected))
        return packets

    # The checks.

    def renamed(self, times):
        """logrotate's way: the file is renamed, SIGHUP opens another."""
        folder = self.fresh()
        path = os.path.join(folder, "a.pcap")
        run = self.start("-w", path)
        if run is None:
            return
        # A pause is longer than it says, by what the system's timer takes.
        packets = self.sent * max(1, times // 100)
        child = self.send(packets, 0.00015)
        files, slowest = [], 0.0
        for number in range(times):
            time.sleep(0.01)
            files.append("%s.%d" % (path, number))
            os.rename(path, files[-1])
            begun = time.monotonic()
            run.process.send_signal(signal.SIGHUP)
            while not os.path.exists(path) and time.monotonic() - begun < 5 and not run.over():
                time.sleep(0.001)
            slowest = max(slowest, time.monotonic() - begun)
        os.waitpid(child, 0)
        time.sleep(0.3)
        run.stop()
        self.report.equal("SIGHUP: exit", run.status, 0)
        self.whole("%d times renamed, and SIGHUP" % times, [*files, path], packets)
        self.report.equal("SIGHUP: lines printed", run.lines(), run.counts["captured"] and self.frames(packets))
        self.report.check("SIGHUP: the name was there again in %.0f ms at most" % (1_000 * slowest), slowest < 1)
        # The kernel hands packets over ten times a second when they are so few.
        with_packets = sum(os.path.getsize(file) > 24 for file in files)
        self.report.check("SIGHUP: %d of %d files have packets" % (with_packets, times), with_packets > times // 20)

    def frames(self, packets):
        """Frames in so many packets of the load, which may have been sent several times over."""
        return self.made.frames * (len(packets) // len(self.sent))

    def unmoved(self):
        """SIGHUP without a rename changes nothing; without -w it ends the run; an unwritable folder loses nothing."""
        folder = self.fresh()
        path = os.path.join(folder, "a.pcap")
        run = self.start("-w", path)
        if run:
            os.waitpid(self.send(self.sent[:500], 0), 0)
            time.sleep(0.3)
            run.process.send_signal(signal.SIGHUP)
            os.waitpid(self.send(self.sent[500:1_000], 0), 0)
            run.stop()
            self.whole("SIGHUP, not renamed", [path], self.sent[:1_000])
        run = self.start()
        if run:
            run.stop(signal.SIGHUP)
            self.report.equal("SIGHUP without a file: exit", run.status, 0)
            self.report.check("SIGHUP without a file: ended in %.0f ms" % (1_000 * run.ended), run.ended < 1)
        run = runs.Run(self.binary, self.space.far, self.parent, "-i", "wire0", "--format", "json", before=["nohup"])
        if run.listens():
            run.process.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            self.report.check("SIGHUP under nohup: goes on", not run.over())
            run.stop()
        folder = self.fresh(owned=False)
        path = os.path.join(folder, "a.pcap")
        run = self.start("-w", path)
        if run:
            os.waitpid(self.send(self.sent[:500], 0), 0)
            time.sleep(0.3)
            os.rename(path, path + ".1")
            run.process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            os.waitpid(self.send(self.sent[500:1_000], 0), 0)
            run.stop()
            self.whole("SIGHUP in a folder of root: goes on in the old file", [path + ".1"], self.sent[:1_000])
            self.report.check("SIGHUP in a folder of root: said", "cannot be opened again: permission denied" in run.said,
                              run.said)

    def emptied(self):
        """copytruncate: the file is copied and emptied; it begins with a header again."""
        folder = self.fresh()
        path = os.path.join(folder, "a.pcap")
        run = self.start("-w", path)
        if run is None:
            return
        os.waitpid(self.send(self.sent[:1_000], 0), 0)
        # Nothing is written for a second, so the copy is whole.
        time.sleep(1.2)
        shutil.copyfile(path, path + ".1")
        os.truncate(path, 0)
        os.waitpid(self.send(self.sent[1_000:2_000], 0), 0)
        run.stop()
        self.whole("copied and emptied", [path + ".1", path], self.sent[:2_000])

    def like_tcpdump(self):
        """By size, tcpdump makes the same files of the same capture."""
        large = load.Load(os.path.join(self.parent, "large.pcap"), 5_000, 6, width=50)
        for words in (["-C", "1"], ["-C", "2"], ["-C", "1", "-W", "3"], ["-C", "1", "-W", "12"],
                      ["-C", "1", "-G", "1000000000", "-W", "3"]):
            found = {}
            for who in ("tcpdump", "imdump"):
                folder = self.fresh(owned=False)
                path = os.path.join(folder, "f")
                command = [who, "-Z", "root"] if who == "tcpdump" else [self.binary, "-q"]
                done = subprocess.run([*command, "-r", large.path, "-w", path, *words], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                found[who] = {name: [data for _, data in read(os.path.join(folder, name))]
                              for name in sorted(os.listdir(folder))}
            self.report.check("%s: the same %d files as tcpdump's" % (" ".join(words), len(found["imdump"])),
                              found["imdump"] == found["tcpdump"] and len(found["imdump"]) > 1 and done.returncode == 0,
                              {who: {name: len(packets) for name, packets in files.items()} for who, files in found.items()},
                              done.stderr)

    def by_clock(self):
        """Live, a file a second, when the rights of root are gone; three of them, and the run ends."""
        folder = self.fresh()
        run = self.start("-w", os.path.join(folder, "%s.pcap"), "-G", "1", "-W", "4")
        if run is None:
            return
        child = self.send(self.sent, 0.0006)
        run.wait(limit=20)
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        names = sorted(os.listdir(folder))
        self.report.equal("-G 1 -W 4: exit, files", (run.status, len(names)), (0, 4))
        packets = self.whole("-G 1 -W 4", [os.path.join(folder, name) for name in names],
                             self.sent[:run.counts["captured"] or 0])
        own = [all(time // 1_000_000_000 == int(name.split(".")[0]) for time, _ in read(os.path.join(folder, name)))
               for name in names]
        self.report.check("-G 1 -W 4: each file has the packets of its second", all(own) and len(packets) > 100, own)
        owners = {pwd.getpwuid(os.stat(os.path.join(folder, name)).st_uid).pw_name for name in names}
        self.report.equal("-G 1 -W 4: the files belong to", owners, {self.user})

    def refused(self):
        """What would fail at the second file is said before the first packet."""
        folder = self.fresh(owned=False)
        run = runs.Run(self.binary, self.space.far, self.parent, "-i", "wire0", "-w", os.path.join(folder, "f"), "-C", "1").wait()
        self.report.check("-C in a folder of root: exit %d" % run.status,
                          run.status == 74 and "permission denied" in run.said and "-Z" in run.said, run.said)
        folder = self.fresh()
        os.symlink("/etc/hostname", os.path.join(folder, "f"))
        for words, status in ((["-w", os.path.join(folder, "f"), "-C", "1"], 74), (["-w", "/dev/null", "-C", "1"], 74),
                              (["-w", "-", "-C", "1"], 64), (["-w", folder + "/g", "-W", "1"], 64), (["-C", "1"], 64),
                              (["-w", folder + "/%D", "-G", "5"], 74), (["-w", folder + "/g", "-C", "0"], 64)):
            run = runs.Run(self.binary, self.space.far, self.parent, "-r", self.made.path, *words).wait()
            self.report.equal(" ".join(words).replace(folder, "") + ": exit", run.status, status)
        self.report.check("what stood there still does", os.path.exists("/dev/null") and os.path.getsize("/etc/hostname") > 0)


def check(binary, space, folder, report, is_long):
    """All of them."""
    rotation = Rotation(binary, space, folder, report)
    rotation.renamed(1_000 if is_long else 100)
    rotation.unmoved()
    rotation.emptied()
    rotation.like_tcpdump()
    rotation.by_clock()
    rotation.refused()
