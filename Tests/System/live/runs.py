"""Runs of imdump: started, waited for, stopped by a signal, and what they said and cost."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from .net import inside

COUNTS = {"captured": r"([\d,]+) packets? captured", "received": r"([\d,]+) received by filter",
          "dropped": r"([\d,]+) dropped by kernel", "late": r"([\d,]+) after the stop"}


class Run:
    """One imdump in a namespace, which `enter` enters. Its standard output goes to a file, or to `output`."""

    def __init__(self, binary, space, folder, *arguments, output=None, before=(), enter=inside):
        self.out, self.err = os.path.join(folder, "out"), os.path.join(folder, "err")
        self.ended = None
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(enter(space, [*before, binary, *arguments]), stdin=subprocess.DEVNULL,
                                            stdout=out if output is None else output, stderr=err)

    def listens(self, sockets=1, limit=10):
        """Waits until `sockets` packet sockets are open in its namespace; false when it ended before."""
        until = time.monotonic() + limit
        while time.monotonic() < until:
            if self.over():
                return False
            try:
                with open("/proc/%d/net/packet" % self.process.pid) as file:
                    if len(file.readlines()) > sockets:
                        # libpcap sets its ring up after it has bound the socket.
                        time.sleep(0.2)
                        return True
            except OSError:
                pass
            time.sleep(0.01)
        return False

    def over(self):
        """Whether it has ended by itself; `wait` tells how."""
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def stop(self, number=signal.SIGINT):
        """Sends a signal and waits."""
        self.peak = self.memory()
        begun = time.monotonic()
        if number is not None:
            self.process.send_signal(number)
        return self.wait(begun)

    def wait(self, begun=None, limit=20):
        """Waits for the end: its status, its counts, its CPU seconds, and how long it took."""
        begun = begun or time.monotonic()
        until = begun + limit
        while True:
            done, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > until:
                self.process.kill()
                until += limit
            time.sleep(0.005)
        self.ended = time.monotonic() - begun
        self.status = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime
        self.said = self.told()
        self.counts = {name: number(pattern, self.said) for name, pattern in COUNTS.items()}
        return self

    def told(self):
        """What it has said on standard error so far."""
        with open(self.err, encoding="utf-8", errors="replace") as file:
            return file.read()

    def memory(self):
        """The peak of its resident memory in MiB; GNU time would say that of its parent where that was greater."""
        try:
            with open("/proc/%d/status" % self.process.pid) as file:
                found = re.search(r"VmHWM:\s+(\d+)", file.read())
            return int(found.group(1)) / 1024 if found else 0
        except OSError:
            return 0

    def lines(self):
        """Lines of its output."""
        with open(self.out, "rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))

    @property
    def ledger(self):
        """What the kernel counted less everything that imdump said of it: 0 when nothing is missing."""
        count = self.counts
        if count["received"] is None:
            return None
        return count["received"] - (count["captured"] or 0) - (count["dropped"] or 0) - (count["late"] or 0)

    @property
    def figures(self):
        """The counts in words."""
        return "%s captured, %s received, %s dropped, %s after the stop; exit %d in %.0f ms; CPU %.2f s, peak %.0f MiB" % (
            *(self.counts[name] if self.counts[name] is not None else "no" if name != "late" else 0 for name in COUNTS),
            self.status, 1_000 * self.ended, self.cpu, getattr(self, "peak", 0))


def state_of(process):
    """The lines of a process's state, as the kernel tells."""
    with open("/proc/%d/status" % process, encoding="utf-8") as file:
        return {name: value.split() for name, value in (line.split(":", 1) for line in file)}


def child_of(process):
    """The first child of a process."""
    with open("/proc/%d/task/%d/children" % (process, process), encoding="utf-8") as file:
        return int(file.read().split()[0])


def number(pattern, text):
    """The last number that the pattern finds; the summary comes last."""
    found = re.findall(pattern, text)
    return int(found[-1].replace(",", "")) if found else None


def offline(binary, *arguments):
    """Runs imdump over a file: lines of output, what it said, and its status."""
    done = subprocess.run([binary, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout.count(b"\n"), done.stderr.decode(errors="replace"), done.returncode


def missing(*tools):
    """The first of the tools that is not installed."""
    return next((tool for tool in tools if not shutil.which(tool)), None)


def told(body):
    """What `body` gives in a child of this process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(body()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        found = json.loads(file.read() or "{}")
    os.waitpid(child, 0)
    return found
