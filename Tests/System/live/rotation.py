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


def where(mode):
    """The folder in words."""
    return "a folder of root, %o" % mode if mode else "the user's folder"


class Rotation:
    def __init__(self, binary, space, folder, report):
        self.binary, self.space, self.report = binary, space, report
        self.user = "tcpdump" if any(entry.pw_name == "tcpdump" for entry in pwd.getpwall()) else "nobody"
        self.parent = folder
        self.made = load.Load(os.path.join(folder, "rotated.pcap"), 1_000, 4, width=50)
        self.sent = list(load.packets(self.made.path))

    def fresh(self, mode=None):
        """An empty folder, that of the user that root becomes, or root's with these permissions."""
        path = os.path.join(self.parent, "rotated")
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path)
        os.chmod(path, mode or 0o755)
        if mode is None:
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

    def renamed(self, times, mode=None):
        """logrotate's way: the file is renamed, SIGHUP opens another."""
        folder = self.fresh(mode)
        place = " in %s" % where(mode) if mode else ""
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
        self.report.equal("SIGHUP%s: exit" % place, run.status, 0)
        self.whole("%d times renamed, and SIGHUP%s" % (times, place), [*files, path], packets)
        if mode:
            return
        self.report.equal("SIGHUP: lines printed", run.lines(), run.counts["captured"] and self.frames(packets))
        self.report.check("SIGHUP: the name was there again in %.0f ms at most" % (1_000 * slowest), slowest < 1)
        # The kernel hands packets over ten times a second when they are so few.
        with_packets = sum(os.path.getsize(file) > 24 for file in files)
        self.report.check("SIGHUP: %d of %d files have packets" % (with_packets, times), with_packets > times // 20)

    def frames(self, packets):
        """Frames in so many packets of the load, which may have been sent several times over."""
        return self.made.frames * (len(packets) // len(self.sent))

    def unmoved(self):
        """SIGHUP without a rename changes nothing; without -w it ends the run; where no file can be opened nothing is lost."""
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
        for mode in (None, 0o755, 0o700):
            self.in_the_way(self.fresh(mode), where(mode))

    def in_the_way(self, folder, place):
        """Something that is no file has the name."""
        path = os.path.join(folder, "a.pcap")
        victim = os.path.join(self.parent, "victim")
        with open(victim, "w", encoding="utf-8") as file:
            file.write("untouched")
        run = self.start("-w", path)
        if run:
            os.waitpid(self.send(self.sent[:500], 0), 0)
            time.sleep(0.3)
            os.rename(path, path + ".1")
            os.symlink(victim, path)
            run.process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            os.waitpid(self.send(self.sent[500:1_000], 0), 0)
            run.stop()
            self.whole("SIGHUP, a link in the way in %s: goes on in the old file" % place, [path + ".1"], self.sent[:1_000])
            self.report.check("SIGHUP, a link in the way: said", "cannot reopen: is not a regular file" in run.said, run.said)
            self.report.check("SIGHUP, a link in the way: not followed", os.path.getsize(victim) == len("untouched"))

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
                folder = self.fresh(0o755)
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

    def by_clock(self, mode=None):
        """Live, a file a second, when the rights of root are gone; three of them, and the run ends."""
        folder = self.fresh(mode)
        title = "-G 1 -W 4 in %s" % where(mode)
        run = self.start("-w", os.path.join(folder, "%s.pcap"), "-G", "1", "-W", "4")
        if run is None:
            return
        child = self.send(self.sent, 0.0006)
        run.wait(limit=20)
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        names = sorted(os.listdir(folder))
        self.report.equal(title + ": exit, files", (run.status, len(names)), (0, 4))
        packets = self.whole(title, [os.path.join(folder, name) for name in names],
                             self.sent[:run.counts["captured"] or 0])
        own = [all(time // 1_000_000_000 == int(name.split(".")[0]) for time, _ in read(os.path.join(folder, name)))
               for name in names]
        self.report.check(title + ": each file has the packets of its second", all(own) and len(packets) > 100, own)
        owners = {pwd.getpwuid(os.stat(os.path.join(folder, name)).st_uid).pw_name for name in names}
        self.report.equal(title + ": the files belong to", owners, {self.user})

    def by_size(self, mode):
        """Live by size, when the rights of root are gone: all files, and a ring of three, of which some stood there before."""
        folder = self.fresh(mode)
        path = os.path.join(folder, "f")
        run = self.start("-w", path, "-C", "20k")
        if run:
            os.waitpid(self.send(self.sent, 0.0002), 0)
            run.stop()
            self.report.equal("-C 20k in %s: exit" % where(mode), run.status, 0)
            files = [path, *("%s%d" % (path, number) for number in range(1, len(os.listdir(folder))))]
            self.whole("-C 20k in %s" % where(mode), files, self.sent)
            self.report.check("-C 20k: more than 10 files", len(files) > 10)
        run = self.start("-w", path, "-C", "20k", "-W", "3")
        if run:
            os.waitpid(self.send(self.sent, 0.0002), 0)
            run.stop()
            ring = [read("%s%d" % (path, number)) for number in range(3)]
            packets = [data for file in sorted(ring) for _, data in file]
            self.report.check("-C 20k -W 3 in %s: the last %d packets, each once" % (where(mode), len(packets)),
                              run.status == 0 and len(packets) > 100 and packets == self.sent[-len(packets):], run.said)

    def refused(self):
        """What would fail at the second file is said before the first packet."""
        folder = self.fresh(0o755)
        # Root that does not have it cannot leave it to the process that opens files.
        before = ["setpriv", "--bounding-set", "-dac_override"]
        run = runs.Run(self.binary, self.space.far, self.parent, "-i", "wire0", "-w", os.path.join(folder, "f"), "-C", "1",
                       before=before).wait()
        self.report.check("-C in a folder of root, without CAP_DAC_OVERRIDE: exit %d" % run.status,
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
    for mode in (None, 0o755, 0o700):
        rotation.by_clock(mode)
    rotation.by_size(0o700)
    rotation.renamed(1_000 if is_long else 100, 0o700)
    rotation.refused()
