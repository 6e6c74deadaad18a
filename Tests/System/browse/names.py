"""Names of clients' addresses, from a name server of our own."""
import os
import shutil
import sys

from . import traffic

COUNT = 60


def spaces():
    """Whether namespaces can be made; if not, that is said."""
    if os.geteuid() == 0 and shutil.which("ip") and shutil.which("unshare") and os.system("unshare -n -m true 2>/dev/null") == 0:
        return True
    print("check-browse: namespaces take root, iproute2 and util-linux: names from the DNS were not checked")
    return False


def opened(bench, store, log, *words):
    open(log, "w").close()
    within = ["unshare", "-n", "-m", sys.executable, os.path.join(os.path.dirname(__file__), "dns.py"), log]
    terminal = bench.terminal(store, *words, width=120, height=90, within=within)
    terminal.wait("%d of %d" % (COUNT, COUNT))
    return terminal


def asked(log):
    with open(log) as file:
        return sorted(file.read().split())


def check_names_from_the_dns(bench):
    """Each address is asked for once, and not again by who opens the store next; without -N, and with -n, nobody is asked."""
    if not spaces():
        return
    capture = traffic.write(os.path.join(bench.folder, "names.pcap"), ["client%d" % i for i in range(COUNT)])
    store, log = bench.store(capture), os.path.join(bench.folder, "dns.log")
    wanted = sorted("%d.0.0.10.in-addr.arpa" % (i + 1) for i in range(COUNT))
    for number, words in enumerate([("-N",), ("-N",), (), ("-nN",), ("-N", "-n")]):
        terminal = opened(bench, store, log, *words)
        if number < 2:
            terminal.wait(lambda text: all("h%d.test" % (i + 1) in text for i in range(COUNT) if i % 2))
        terminal.press("q")
        terminal.wait("status=0")
        assert asked(log) == (wanted if number == 0 else []), (words, asked(log))
        if number >= 2:
            assert "h2.test" not in terminal.text()
        rows = bench.imdump("query", store, "SELECT count(*), count(name) FROM name_cache WHERE source = 'dns'", "--format", "csv").stdout
        assert rows.splitlines()[1] == "%d,%d" % (COUNT, COUNT // 2), rows
        bench.close()


def check_a_file_goes_before_the_dns(bench):
    if not spaces():
        return
    capture = traffic.write(os.path.join(bench.folder, "names2.pcap"), ["client%d" % i for i in range(COUNT)])
    path, log = os.path.join(bench.folder, "hosts"), os.path.join(bench.folder, "dns2.log")
    with open(path, "w") as file:
        file.write("10.0.0.2 mine\n")
    terminal = opened(bench, capture, log, "-N", "--names", path)
    terminal.wait(lambda text: "mine" in text and "h4.test" in text)
    terminal.press("q")
    terminal.wait("status=0")
    assert "2.0.0.10.in-addr.arpa" not in asked(log) and len(asked(log)) == COUNT - 1, asked(log)


def resolvers():
    """The status of every process that looks up names, by process number."""
    found = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/status" % number) as file:
                facts = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if facts.get("Name") == "imdump-resolver":
            found[int(number)] = facts
    return found


def check_the_resolver_has_no_privileges(bench):
    """It runs only with -N and ends with the browser. It has no capabilities, no_new_privs and a system call filter."""
    before = set(resolvers())
    capture = bench.sample("tjp-clean-chat.pcap")
    terminal = bench.terminal(capture)
    terminal.wait("messages")
    assert set(resolvers()) == before
    terminal.press("q")
    terminal.wait("status=0")
    terminal = bench.terminal(capture, "-N")
    terminal.wait("messages")
    own = {number: facts for number, facts in resolvers().items() if number not in before}
    assert len(own) == 1, own
    (facts,) = own.values()
    assert facts["NoNewPrivs"] == "1" and facts["Seccomp"] == "2", facts
    assert all(int(facts[name], 16) == 0 for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")), facts
    terminal.press("q")
    terminal.wait("status=0")
    assert not set(resolvers()) - before
