"""The filter of system calls: a run that does everything, traced, in which no call is refused; and the calls that it made."""
import collections
import glob
import os
import re
import signal
import time

from . import capture, metrics, runs
from .alerts import Lossy, Receiver, script, until

RULES = """version: 1
rules:
  - { name: messages-lost, summary: Messages are lost, metric: loss, scope: endpoint, window: 1s, op: ">", threshold: 2%,
      min_samples: 5, severity: page }
  - { name: everyone, metric: messages, scope: connection, window: 1s, op: ">=", threshold: 1, severity: info }
"""
WEBHOOK = 19_095

CALL = re.compile(r"^(\w+)\(")
BEGUN = re.compile(r"^prctl\(PR_SET_SECCOMP, SECCOMP_MODE_FILTER|^seccomp\(SECCOMP_SET_MODE_FILTER")
THREAD = re.compile(r"^clone3?\(.*CLONE_THREAD.*= (\d+)$")
REFUSED = re.compile(r"= -1 EPERM|^--- SIGSYS")


def confined(prefix):
    """By task: the lines of its trace after its filter was set; threads are confined from their first line."""
    lines = {}
    for path in glob.glob(prefix + ".*"):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines[int(path.rsplit(".", 1)[1])] = file.read().split("\n")
    found, left = {}, []
    for task, rows in lines.items():
        begun = next((n for n, row in enumerate(rows) if BEGUN.match(row)), None)
        if begun is not None:
            found[task] = rows[begun + 1:]
            left.append(task)
    while left:
        for row in found[left.pop()]:
            thread = THREAD.match(row)
            if thread and int(thread.group(1)) in lines and int(thread.group(1)) not in found:
                found[int(thread.group(1))] = lines[int(thread.group(1))]
                left.append(int(thread.group(1)))
    return found


def check(binary, space, folder, report, is_long):
    """Metrics by HTTP and file, packets and documents in files that rotate, alerts with hook, webhook and evidence."""
    place = os.path.join(folder, "calls")
    os.makedirs(place)
    os.chmod(place, 0o777)
    made = Lossy(os.path.join(folder, "lossy.pcap"), 200, 30 if is_long else 10, lambda at, n: n % 10 == 0, width=20)
    receiver = Receiver(space.far, WEBHOOK, [503])
    receiver.start()
    receiver.ready.wait(5)
    trace, noted = os.path.join(place, "trace"), os.path.join(place, "noted")
    with open(noted, "w", encoding="utf-8"):
        os.chmod(noted, 0o666)
    hook = script(folder, "notes", "#!/bin/sh\ncat >> %s\necho >> %s\n" % (noted, noted))
    run = runs.Run(
        "strace", space.far, folder, "-ff", "-qq", "-s", "40", "-o", trace, binary, "-i", "wire0", "--format", "json",
        "--log-dir", os.path.join(place, "log"), "--log-size", "100k", "--message-log", "all",
        "-w", os.path.join(place, "%s.pcap"), "-G", "2", "--rules", script(folder, "calls.yml", RULES),
        "--evidence", os.path.join(place, "evidence"), "--hook", hook, "--webhook", "http://127.0.0.1:%d/hook" % WEBHOOK,
        "--metrics-listen", metrics.ADDRESS, "--metrics-file", os.path.join(place, "imdump.prom"), "--metrics-interval", "1")
    try:
        if not report.check("imdump captures under strace", run.listens(limit=60), run.told()):
            return
        replay = capture.Captures(binary, space, folder, report).replay(made)
        pages = 0
        while replay.poll() is None:
            pages += metrics.fetch(space.far) is not None
            time.sleep(0.5)
        if not report.check("it still captures", not run.over(), run.told()):
            return
        imdump = runs.child_of(run.process.pid)
        os.kill(imdump, signal.SIGHUP)
        report.check("the hook has its alerts", until(20, lambda: os.path.getsize(noted) > 0))
        report.check("the webhook has its alerts", until(20, lambda: receiver.bodies))
        report.check("files of documents", until(10, lambda: len(glob.glob(os.path.join(place, "log", "*"))) > 1))
        os.kill(imdump, signal.SIGINT)
        run.wait(limit=60)
    finally:
        receiver.server.shutdown()
        if run.ended is None:
            run.process.kill()
            run.process.wait()
    report.equal("exit", run.status, 0)
    report.check("pages of metrics: %d" % pages, pages > 0)
    for what in ("*.pcap", "evidence/*", "imdump.prom"):
        report.check("files %s: %d" % (what, len(glob.glob(os.path.join(place, what)))), glob.glob(os.path.join(place, what)))
    report.equal("dropped by kernel", run.counts["dropped"], 0)
    report.equal("kernel's count less all of ours", run.ledger, 0)

    tasks = confined(trace)
    report.check("tasks under a filter: %d" % len(tasks), len(tasks) >= 2)
    calls, refused = collections.Counter(), []
    for rows in tasks.values():
        for row in rows:
            call = CALL.match(row)
            if call:
                calls[call.group(1)] += 1
            if REFUSED.search(row):
                refused.append(row)
    report.check("calls that were refused: %d" % len(refused), not refused, "\n".join(refused[:10]))
    report.note("%d kinds of calls: %s" % (len(calls), " ".join(sorted(calls))))
