"""The right to capture: without it one line of advice, and cap_net_raw alone is enough."""
import ctypes
import errno
import fcntl
import glob
import os
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import termios

from . import load, net, opener, runs

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


# What a child that has been confined may do: a word for each attempt, and the outcome that is right.
ATTEMPTS = {"write in the folder": 0, "replace in the folder": 0, "write beside it": errno.EACCES,
            "remove beside it": errno.EACCES, "make a folder in the folder": errno.EPERM, "run a program": errno.EPERM,
            "make a process": errno.EPERM, "connect": errno.EPERM, "send": errno.EPERM, "memory to execute": errno.EPERM,
            "type into the terminal": errno.EPERM, "signal another": errno.EPERM, "read a file": 0,
    "accept from its own socket": errno.EAGAIN, "accept from another": errno.EPERM, "listen on another": errno.EPERM,
            "limit another": errno.EPERM, "priority of another": errno.EPERM, "signal another by a descriptor": errno.EPERM,
            "bind": errno.EPERM, "raw socket": errno.EPERM, "limit itself": 0,
}


def dropped(binary, space, folder, report):
    """Started by root: who the process is when it captures, and what it still may."""
    names = [entry.pw_name for entry in pwd.getpwall()]
    default = "tcpdump" if "tcpdump" in names else "nobody"
    for words, user, sandboxed in (([], default, True), (["-Z", "nobody"], "nobody", True),
                                   (["--no-sandbox"], default, False), (["-Z", "root"], "root", True)):
        run = runs.Run(binary, space.far, folder, "-i", "wire0", "-w", os.path.join(folder, "kept.pcap"), *words)
        name = " ".join(["root", *words])
        if not report.check(name + ": captures", run.listens()):
            report.note(run.wait().said)
            continue
        state = runs.state_of(run.process.pid)
        entry = pwd.getpwnam(user)
        report.equal(name + ": user, group", (state["Uid"], state["Gid"]), ([str(entry.pw_uid)] * 4, [str(entry.pw_gid)] * 4))
        if user != "root":
            report.equal(name + ": other groups", state["Groups"], [])
            report.equal(name + ": capabilities", {int(state[c][0], 16) for c in ("CapEff", "CapPrm", "CapInh", "CapAmb")}, {0})
        report.equal(name + ": no_new_privs, filter, threads", (state["NoNewPrivs"], state["Seccomp"], state["Threads"]),
                     (["1"], ["2" if sandboxed else "0"], ["1"]))
        run.stop()
        report.equal(name + ": exit", run.status, 0)
    run = runs.Run(binary, space.far, folder, "-i", "wire0", "-Z", "nobody-of-that-name").wait()
    report.equal("-Z with a user that is none: exit", run.status, 64)


def compiled(folder):
    """The functions of CSandbox as a library; None without a compiler."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Sources", "CSandbox")
    library = os.path.join(folder, "sandbox.so")
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        return None
    # What tells of crashes looks for the program that it is part of, and a library is none.
    files = [path for path in glob.glob(source + "/*.c") if not path.endswith("/Crash.c")]
    subprocess.run([compiler, "-shared", "-fPIC", "-I", source + "/include", "-o", library, *files], check=True)
    return library


def confined(library, folder, report):
    """The functions themselves, in a child of this process: each attempt fails as it should."""
    inside = os.path.join(folder, "confined")
    os.mkdir(inside)
    for name in (inside + "/old", folder + "/beside"):
        with open(name, "w", encoding="utf-8") as file:
            file.write("here before")
    found = runs.told(lambda: attempt(library, inside, folder))
    landlock = found.pop("Landlock", -1)
    report.note("Landlock's version here: %d" % landlock)
    for name, expected in ATTEMPTS.items():
        if landlock < 1 and expected == errno.EACCES:
            continue
        report.equal("confined: %s" % name, errno.errorcode.get(found.get(name), found.get(name)),
                     errno.errorcode.get(expected, 0))


def attempt(library, inside, folder):
    """What comes of each attempt, as an error number."""
    sandbox, system = ctypes.CDLL(library), ctypes.CDLL(None, use_errno=True)
    handle = sandbox.imdump_open_folder(inside.encode())
    other, pair = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), os.getppid()
    own, another, idle = (socket.socket() for _ in range(3))
    for one in (own, another, idle):
        one.bind(("127.0.0.1", 0))
        one.setblocking(False)
    own.listen()
    another.listen()
    sandbox.imdump_no_new_privileges()
    landlock = sandbox.imdump_restrict_writing((ctypes.c_int * 1)(handle), 1)
    if sandbox.imdump_filter_system_calls(1, None, 0, own.fileno(), 0, 0) != 0:
        return {"Landlock": landlock}

    def call(function, *arguments):
        ctypes.set_errno(0)
        return 0 if function(*arguments) >= 0 else ctypes.get_errno()

    def made(path):
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
            return 0
        except OSError as error:
            return error.errno

    def tried(function, *arguments):
        try:
            function(*arguments)
            return 0
        except OSError as error:
            return error.errno

    def replace():
        system.unlinkat.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
        return call(system.unlinkat, handle, b"old", 0) or made(inside + "/old")

    system.mmap.restype = ctypes.c_ssize_t
    return {
        "Landlock": landlock, "write in the folder": made(inside + "/new"), "replace in the folder": replace(),
        "write beside it": made(folder + "/beside"),
        "remove beside it": call(system.unlinkat, -100, (folder + "/beside").encode(), 0),
        "make a folder in the folder": tried(os.mkdir, inside + "/more"),
        "run a program": tried(os.execv, "/bin/true", ["true"]), "make a process": call(system.fork),
        "connect": tried(other.connect, ("127.0.0.1", 9)), "send": tried(other.sendto, b"x", ("127.0.0.1", 9)),
        "memory to execute": call(system.mmap, None, 4_096, 7, 0x22, -1, 0),
        "type into the terminal": tried(fcntl.ioctl, 0, termios.TIOCSTI, b"x"),
        "accept from its own socket": tried(own.accept), "accept from another": tried(another.accept),
        "listen on another": tried(idle.listen),
        "signal another": tried(os.kill, pair, 0),
        "limit another": tried(resource.prlimit, pair, resource.RLIMIT_CPU),
        "limit itself": tried(resource.getrlimit, resource.RLIMIT_CPU),
        "priority of another": tried(os.setpriority, os.PRIO_PROCESS, pair, 19),
        "signal another by a descriptor": tried(fcntl.fcntl, other, fcntl.F_SETOWN, pair),
        "bind": tried(other.bind, ("127.0.0.1", 0)), "raw socket": tried(socket.socket, socket.AF_INET, socket.SOCK_RAW, 6),
        "read a file": tried(lambda: os.close(os.open("/etc/hostname", os.O_RDONLY))),
    }


def check(binary, space, folder, report, is_long):
    """As root, and as nobody with a copy of the command that nobody may run."""
    dropped(binary, space, folder, report)
    library = compiled(folder)
    if library:
        confined(library, folder, report)
        opener.asked(library, folder, report)
        opener.confined(library, folder, report)
    else:
        report.skipped("what is confined: no C compiler")
    opener.started(binary, space, folder, report)
    copy = os.path.join(folder, "imdump")
    shutil.copyfile(binary, copy)
    os.chmod(copy, 0o755)
    started = subprocess.run([*NOBODY, copy, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if started.returncode != 0:
        report.skipped("rights: nobody cannot run a copy of imdump: " + started.stderr.strip())
        return

    os.chmod(copy, 0o4755)
    refused = subprocess.run([*NOBODY, copy, "--version"], capture_output=True, text=True)
    report.equal("setuid: exit, output", (refused.returncode, refused.stdout), (77, ""))
    os.chmod(copy, 0o755)
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
    state = runs.state_of(run.process.pid)
    report.check("nobody, cap_net_raw: runs as nobody", state["Uid"] == ["65534"] * 4, state["Uid"])
    report.equal("nobody, cap_net_raw: capabilities while capturing", int(state["CapEff"][0], 16), 0)
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
