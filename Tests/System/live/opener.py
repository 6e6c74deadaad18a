"""The process that opens files where the user that root has become may not: what it is, what it may, when it is gone."""
import ctypes
import errno
import fcntl
import json
import os
import pwd
import signal
import socket
import stat
import time

from . import load, net, runs

CAP_DAC_OVERRIDE = 1
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def children(process):
    """Processes that this one has made; those that have ended and were not waited for too."""
    found = []
    for other in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if int(runs.state_of(other)["PPid"][0]) == process:
                found.append(other)
        except OSError:
            pass
    return found


def ended(process, limit=1.0):
    """Seconds until a process is gone, or is one that only waits for the machine's init; None when it stays."""
    begun = time.monotonic()
    while time.monotonic() - begun < limit:
        try:
            if runs.state_of(process)["State"][0] == "Z":
                return time.monotonic() - begun
        except OSError:
            return time.monotonic() - begun
        time.sleep(0.002)
    return None


def started(binary, space, folder, report):
    """With the real command: who has one, its state by the kernel, and its end."""
    names = [entry.pw_name for entry in pwd.getpwall()]
    user = pwd.getpwnam("tcpdump" if "tcpdump" in names else "nobody")
    closed, own = os.path.join(folder, "closed"), os.path.join(folder, "own")
    os.mkdir(closed, 0o700)
    os.mkdir(own, 0o755)
    os.chown(own, user.pw_uid, user.pw_gid)

    def start(path, *words):
        run = runs.Run(binary, space.far, folder, "-i", "wire0", "-w", path, *words)
        return run, run.listens() and children(run.process.pid)

    for title, path, words in (("in the user's folder", own + "/f", []), ("with -Z root", closed + "/f", ["-Z", "root"]),
                               ("for standard output", "-", []), ("for a device", "/dev/null", [])):
        run, found = start(path, *words)
        report.equal("opener: none " + title, found, [])
        run.stop()

    for words, filtered in (([], "2"), (["--no-sandbox"], "0")):
        run, found = start(closed + "/f", *words)
        title = " ".join(["opener", *words])
        if not report.check(title + ": one process", found and len(found) == 1, found, run.told()):
            run.stop()
            continue
        process, state = found[0], runs.state_of(found[0])
        report.equal(title + ": name", state["Name"], ["imdump-opener"])
        with open("/proc/%d/cmdline" % process, "rb") as file:
            report.equal(title + ": name in ps", file.read().rstrip(b"\0").decode(), "imdump: opens the files of -w")
        report.equal(title + ": user, group, other groups", (state["Uid"], state["Gid"], state["Groups"]),
                     ([str(user.pw_uid)] * 4, [str(user.pw_gid)] * 4, []))
        report.equal(title + ": capabilities", [int(state[name][0], 16) for name in CAPABILITIES],
                     [0, 1 << CAP_DAC_OVERRIDE, 1 << CAP_DAC_OVERRIDE, 0, 0])
        report.equal(title + ": no_new_privs, filter, threads", (state["NoNewPrivs"], state["Seccomp"], state["Threads"]),
                     (["1"], [filtered], ["1"]))
        held = [os.readlink("/proc/%d/fd/%s" % (process, name)) for name in sorted(os.listdir("/proc/%d/fd" % process))]
        report.check(title + ": a socket and the folder are open, and nothing else",
                     len(held) == 2 and held[0].startswith("socket:") and held[1] == closed, held)
        with open("/proc/%d/maps" % process, encoding="utf-8") as file:
            report.check(title + ": shares no memory with the interface's socket", "socket:" not in file.read())
        report.equal("run beside " + title + ": filter, capabilities",
                     [runs.state_of(run.process.pid)[name] for name in ("Seccomp", "CapEff")], [[filtered], ["0" * 16]])
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP, signal.SIGUSR1):
            os.kill(process, number)
        time.sleep(0.1)
        report.equal(title + ": after five signals", runs.state_of(process)["State"][0], "S")
        run.stop()
        report.equal(title + ": the run's exit", run.status, 0)
        report.check(title + ": gone when the run is", ended(process, 0.001) is not None)

    for number in (signal.SIGTERM, signal.SIGKILL):
        run, found = start(closed + "/f")
        run.stop(number)
        report.check("opener: gone after %s of the run" % number.name, found and ended(found[0]) is not None)

    made = load.Load(os.path.join(folder, "more.pcap"), 1_000, 1, width=10)
    for number, text, words in ((signal.SIGKILL, "has ended", []), (signal.SIGSTOP, "does not answer", []),
                                (signal.SIGSTOP, "does not answer", ["--no-sandbox"])):
        run, found = start(closed + "/g", "-C", "20k", *words)
        title = " ".join(["opener after", number.name, *words])
        os.kill(found[0], number)
        if number == signal.SIGKILL:
            report.check("opener killed: no trace of it", ended(found[0]) is not None and children(run.process.pid) == [])
        os.waitpid(net.send(space.near, load.packets(made.path)), 0)
        run.wait()
        if number == signal.SIGSTOP and not words:
            # The end of a run that Landlock holds sends it no signal. It goes on, and finds its socket closed.
            os.kill(found[0], signal.SIGCONT)
        report.equal(title + ": the run's exit, lines that name the file",
                     (run.status, run.said.count("/g1: create: the process that opens files %s\n" % text)), (74, 1))
        report.check(title + ": gone when the run is, after %.1f s" % run.ended, ended(found[0]) is not None)


def asked(library, folder, report):
    """The functions that a run calls: names and things that are refused, files that are made."""
    place = os.path.join(folder, "asked")
    os.mkdir(place, 0o700)
    os.symlink("/etc/hostname", place + "/link")
    os.symlink(place + "/nowhere", place + "/link1")
    os.mkdir(place + "/folder")
    os.mkfifo(place + "/pipe")
    with open(place + "/kept", "w", encoding="utf-8") as file:
        file.write("of root")
    os.chmod(place + "/kept", 0o600)
    refused, no_file, made = -errno.EINVAL, -errno.ELOOP, 0
    # A template, whether it is a format, digits, how many, the number and the second asked for; what new and known ones give.
    cases = [("../outside", 0, 0, 1, 0, 0, refused, refused), ("/etc/x", 0, 0, 1, 0, 0, refused, refused),
             (".", 0, 0, 1, 0, 0, refused, refused), ("..", 0, 0, 1, 0, 0, refused, refused), ("", 0, 0, 1, 0, 0, refused, refused),
             ("%D", 1, 0, 1, 0, 0, refused, refused), ("x" * 256, 0, 0, 1, 0, 0, refused, refused),
             ("f", 0, 0, 1, 1, 0, refused, refused), ("f", 0, 0, 1, -1, 0, refused, refused), ("f", 0, 1, 3, 3, 0, refused, refused),
             ("link", 0, 0, 1, 0, 0, no_file, no_file), ("link", 0, 0, 9, 1, 0, no_file, no_file),
             ("folder", 0, 0, 1, 0, 0, no_file, no_file), ("pipe", 0, 0, 1, 0, 0, no_file, no_file),
             ("f", 0, 0, 9, 7, 0, made, made), ("%s.pcap", 1, 0, 1, 0, 1_000, made, made), ("f", 0, 3, 500, 7, 0, made, made)]
    for case in cases:
        *names, number, second, new, known = case
        outcome = ask(library, place, names, [(1, number, second), (0, number, second)])
        text = "opener asked for %s, number %d: " % (names[0][:20], number)
        report.equal(text + "made new, opened again", [min(file, 0) for file in outcome["files"]], [new, known])
        report.check(text + "gone at the end", outcome["gone"])
    outcome = ask(library, place, ("kept", 0, 0, 1), [(0, 0, 0)])
    report.check("opener: a file of root is opened for appending", outcome["files"][0] >= 0 and outcome["flags"] & os.O_APPEND)
    found = {name: os.lstat(os.path.join(place, name)) for name in os.listdir(place)}
    report.equal("opener: files made", sorted(name for name, state in found.items() if state.st_uid == 65534),
                 ["1000.pcap", "f007", "f7"])
    report.check("opener: what stood there still does", found["kept"].st_size == 7 and found["kept"].st_uid == 0
                 and stat.S_ISLNK(found["link"].st_mode) and not os.path.exists(folder + "/outside"))


def ask(library, place, names, requests):
    """What an opener answers, to a child of this process: descriptors or -errno."""
    return runs.told(lambda: answers(library, place, names, requests))


def answers(library, place, names, requests):
    sandbox, process = ctypes.CDLL(library), ctypes.c_int()
    template, is_timed, digits, count = names
    opener = sandbox.imdump_opener_start(65534, 65534, 1, b"opener", ctypes.byref(process))
    ready = sandbox.imdump_opener_begin(opener, sandbox.imdump_open_folder(place.encode()), template.encode(), b"", is_timed,
                                        digits, ctypes.c_longlong(count))
    files = [sandbox.imdump_opener_ask(opener, replaces, 0, ctypes.c_longlong(number), ctypes.c_longlong(second))
             for replaces, number, second in requests]
    flags = fcntl.fcntl(files[-1], fcntl.F_GETFL) if files[-1] >= 0 else 0
    sandbox.imdump_opener_end(opener, process)
    return {"ready": ready, "files": files, "flags": flags, "gone": children(os.getpid()) == []}


# What an opener may when its rights are gone, by Landlock and its capability, and then by its filter too.
BY_LANDLOCK = {"make a file": 0, "write a file of root": 0, "read a file of root": errno.EACCES, "list": errno.EACCES,
               "write beside": errno.EACCES, "make a folder": errno.EACCES, "remove beside": errno.EACCES,
               "change an owner": errno.EPERM, "become root": errno.EPERM}
BY_FILTER = {"make a file": 0, "write": errno.EPERM, "make a process": errno.EPERM, "make a socket": errno.EPERM,
             "run a program": errno.EPERM, "signal another": errno.EPERM, "ask who it is": errno.EPERM}


def confined(library, folder, report):
    """What the functions leave that an opener calls, each attempt in a child of this process."""
    place = os.path.join(folder, "opened")
    os.mkdir(place, 0o700)
    for path in (place + "/root", folder + "/near"):
        with open(path, "w", encoding="utf-8") as file:
            file.write("of root")
        os.chmod(path, 0o600)
    for title, expected in (("rights", BY_LANDLOCK), ("calls", BY_FILTER)):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        child = os.fork()
        if child == 0:
            try:
                attempt(library, place, folder, theirs, title == "calls")
            finally:
                os._exit(0)
        theirs.close()
        found = json.loads(ours.recv(4_096) or b"{}")
        ours.close()
        os.waitpid(child, 0)
        if found.get("unconfined"):
            report.skipped("an opener's %s: the kernel lacks what holds them" % title)
            continue
        for name, number in expected.items():
            outcome = found.get(name, -1)
            report.equal("opener, %s: %s" % (title, name), errno.errorcode.get(outcome, outcome), errno.errorcode.get(number, 0))


def attempt(library, place, folder, answer, is_filtered):
    """What comes of each attempt, as an error number, through the one socket that is left."""
    sandbox, system, other = ctypes.CDLL(library), ctypes.CDLL(None, use_errno=True), os.getppid()
    handle = sandbox.imdump_open_folder(place.encode())
    spare = os.open("/dev/null", os.O_WRONLY)

    def tried(function, *arguments):
        try:
            function(*arguments)
            return 0
        except OSError as error:
            return error.errno

    def opened(path, flags):
        return tried(lambda: os.close(os.open(path, flags | os.O_CLOEXEC, 0o600)))

    def called(function, *arguments):
        ctypes.set_errno(0)
        return 0 if function(*arguments) >= 0 else ctypes.get_errno()

    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    failed = sandbox.imdump_become_opener(65534, 65534) != 0 or sandbox.imdump_no_new_privileges() != 0
    failed = sandbox.imdump_restrict_opener(handle) < 0 or failed
    if is_filtered:
        failed = sandbox.imdump_filter_opener(answer.fileno()) != 0 or failed
        found = {"make a file": opened(place + "/called", new), "write": tried(os.write, spare, b"x"),
                 "make a process": called(system.fork), "make a socket": called(system.socket, socket.AF_INET, 2, 0),
                 "run a program": tried(os.execv, "/bin/true", ["true"]), "signal another": tried(os.kill, other, 0),
                 "ask who it is": called(system.getpriority, 0, 0)}
    else:
        found = {"make a file": opened(place + "/made", new), "write a file of root": opened(place + "/root", os.O_WRONLY),
                 "read a file of root": opened(place + "/root", os.O_RDONLY), "list": tried(os.listdir, place),
                 "write beside": opened(folder + "/near", os.O_WRONLY), "make a folder": tried(os.mkdir, place + "/more"),
                 "remove beside": tried(os.unlink, folder + "/near"), "change an owner": tried(os.chown, place + "/made", 0, 0),
                 "become root": tried(os.setuid, 0)}
    found["unconfined"] = failed
    answer.sendmsg([json.dumps(found).encode()])
