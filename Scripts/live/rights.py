"""The right to capture: without it one line of advice, and cap_net_raw alone is enough."""
import os
import shutil
import signal
import subprocess

from . import load, net, runs

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def check(binary, space, folder, report, is_long):
    """As nobody, with a copy of the command that nobody may run."""
    copy = os.path.join(folder, "imdump")
    shutil.copyfile(binary, copy)
    os.chmod(copy, 0o755)
    started = subprocess.run([*NOBODY, copy, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if started.returncode != 0:
        report.skipped("rights: nobody cannot run a copy of imdump: " + started.stderr.strip())
        return

    run = runs.Run(copy, space.far, folder, "-i", "wire0", before=NOBODY).wait()
    report.equal("nobody, no capability: exit", run.status, 77)
    report.equal("nobody, no capability: lines on standard error", run.said.count("\n"), 1)
    report.check("nobody, no capability: the line says what to do", "setcap cap_net_raw+ep " + copy in run.said, run.said)
    report.note(run.said.strip())

    made = load.Load(os.path.join(folder, "few.pcap"), 1_000, 0.2, width=10)
    given = subprocess.run(["setcap", "cap_net_raw+ep", copy], stderr=subprocess.PIPE, text=True)
    if given.returncode != 0:
        report.skipped("rights: setcap: " + given.stderr.strip())
        return
    run = runs.Run(copy, space.far, folder, "-i", "wire0", "--format", "json", before=NOBODY)
    if not report.check("nobody, cap_net_raw: captures", run.listens()):
        report.note(run.wait().said)
        return
    with open("/proc/%d/status" % run.process.pid, encoding="utf-8") as file:
        state = dict(line.split(":", 1) for line in file)
    report.check("nobody, cap_net_raw: runs as nobody", state["Uid"].split() == ["65534"] * 4, state["Uid"])
    report.note("capabilities while capturing: " + state["CapEff"].strip())
    os.waitpid(net.send(space.near, load.packets(made.path)), 0)
    run.stop(signal.SIGINT)
    report.equal("nobody, cap_net_raw: frames", run.lines(), made.frames)
    report.equal("nobody, cap_net_raw: exit", run.status, 0)
    report.note(run.said.split("\n")[0])

    # Reading wants nothing.
    os.chmod(made.path, 0o644)
    read = subprocess.run([*NOBODY, copy, "-q", "-r", made.path, "--format", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    report.equal("nobody reads a file: frames", read.stdout.count(b"\n"), made.frames)
