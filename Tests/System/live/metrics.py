"""Metrics of a live capture: a real Prometheus reads them, and clients that misbehave cost no packet."""
import json
import os
import resource
import socket
import subprocess
import threading
import time
import urllib.parse

from . import capture, load, net, runs
from .alerts import until

PORT, WEB = 9_464, 19_090
ADDRESS = "127.0.0.1:%d" % PORT
OPEN_METRICS = "application/openmetrics-text;version=1.0.0"


def fetch(space, *options, address="http://%s/metrics" % ADDRESS):
    """What curl gets in a namespace; None when it gets nothing."""
    done = subprocess.run(net.inside(space, ["curl", "-sf", "-m", "8", *options, address]), stdout=subprocess.PIPE)
    return done.stdout.decode() if done.returncode == 0 else None


def query(space, expression):
    """The values of a query to the Prometheus in a namespace, by their labels."""
    text = fetch(space, address="http://127.0.0.1:%d/api/v1/query?%s" % (WEB, urllib.parse.urlencode({"query": expression})))
    return [float(row["value"][1]) for row in json.loads(text)["data"]["result"]] if text else []


class Crowd(threading.Thread):
    """Clients in a namespace that do one thing that they should not, again and again."""

    def __init__(self, space, deed):
        super().__init__(daemon=True)
        self.space, self.deed, self.over, self.count = space, deed, threading.Event(), 0

    def run(self):
        net.enter(self.space)       # this thread only
        held = []
        while not self.over.is_set():
            try:
                held.append(self.deed(self.over))
                self.count += 1
            except OSError:
                self.over.wait(0.01)
            if len(held) > 50:
                held.pop(0).close()
        for one in held:
            one.close()

    def end(self):
        self.over.set()
        self.join(10)


def connected():
    return socket.create_connection(("127.0.0.1", PORT), timeout=3)


def silent(over):
    """Connects and says nothing."""
    over.wait(0.02)
    return connected()


def dripping(over):
    """Says a byte at a time."""
    one = connected()
    for byte in b"GET /metrics HTTP/1.1\r\nHost: " + b"x" * 100:
        one.send(bytes([byte]))
        if over.wait(0.02):
            break
    return one


def asking(over):
    """Asks as often as it can."""
    one = connected()
    one.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    while one.recv(65_536):
        pass
    return one


def deaf(over):
    """Asks and does not read."""
    one = connected()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    one.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
    over.wait(0.02)
    return one


def talking(over):
    """Says more than a request may have."""
    one = connected()
    one.sendall(b"GET /metrics HTTP/1.1\r\n" + b"X: " + b"y" * (1 << 20))
    return one


def scraped(binary, space, folder, report):
    """A Prometheus has what `imdump stats` prints of the same packets."""
    config = os.path.join(folder, "prometheus.yml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("global: { scrape_interval: 1s, scrape_timeout: 1s }\n"
                   "scrape_configs: [ { job_name: imdump, static_configs: [ { targets: ['%s'] } ] } ]\n" % ADDRESS)
    server = subprocess.Popen(
        net.inside(space.far, ["prometheus", "--config.file=" + config, "--storage.tsdb.path=" + os.path.join(folder, "tsdb"),
                               "--web.listen-address=127.0.0.1:%d" % WEB]),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        captures = capture.Captures(binary, space, folder, report)
        written, texts = os.path.join(folder, "written.pcap"), os.path.join(folder, "texts")
        os.mkdir(texts)
        os.chmod(texts, 0o777)
        run = captures.run("--format", "json", "--metrics-listen", ADDRESS, "-w", written,
                           "--metrics-file", os.path.join(texts, "imdump.prom"), "--metrics-interval", "1")
        if run is None:
            return
        sample = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Samples", "tjp-weak-network.pcap")
        # Two minutes of a weak network in eleven seconds: round trips from 3 to 300 ms.
        replay = subprocess.run(net.inside(space.near, ["tcpreplay", "-q", "-x", "10", "-i", "wire0", sample]),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        sent = runs.number(r"Successful packets:\s+(\d+)", replay.stdout)
        report.check("tcpreplay sent %s packets" % sent, sent, replay.stdout)
        seen = until(15, lambda: query(space.far, "imdump_capture_packets_processed_total") == [sent])
        report.check("Prometheus has counted them all", seen, query(space.far, "imdump_capture_packets_processed_total"),
                     run.told())
        report.equal("up, at worst", query(space.far, "min_over_time(up[10s])"), [1])
        report.equal("packets dropped, as Prometheus has it",
                     query(space.far, 'imdump_capture_packets_dropped_total{by="kernel"}'), [0])
        interpolated = query(space.far, "histogram_quantile(0.95, sum by (le) (imdump_rtt_seconds_bucket{direction=\"client_to_server\"}))")
        exact = query(space.far, 'imdump_run_rtt_seconds{direction="client_to_server",quantile="0.95"}')
        counts = query(space.far, 'imdump_rtt_seconds_count{direction="client_to_server"}')
        bounds = sorted(float(line.split(',le="')[1].split('"')[0]) for line in fetch(space.far).split("\n")
                        if line.startswith("imdump_rtt_seconds_bucket"))
        for accept, name in (("", "text"), (OPEN_METRICS, "OpenMetrics")):
            text = fetch(space.far, "-H", "Accept: " + accept) or ""
            report.equal("as %s: ends in # EOF" % name, text.endswith("# EOF\n"), name == "OpenMetrics")
            if name == "text":
                linted(text, report)
        run.stop()
        captures.ended("under a Prometheus", run)
        linted(open(os.path.join(texts, "imdump.prom"), encoding="utf-8").read(), report)
        report.equal("files left beside the metrics", os.listdir(texts), ["imdump.prom"])
        done = subprocess.run([binary, "stats", "--json", "-q", written], stdout=subprocess.PIPE)
        trips = json.loads(done.stdout)["total"]["rtt_us"]
        report.equal("round trips, as Prometheus has them", counts, [trips["count"]])
        report.equal("their p95, as imdump stats prints it", [round(value * 1e6) for value in exact], [trips["p95"]])
        width = [(low, high) for low, high in zip([0.0] + bounds, bounds) if low < trips["p95"] / 1e6 <= high][0]
        report.check("histogram_quantile says %s ms, exact are %.3f: the bucket from %g to %g ms" % (
            ", ".join("%.3f" % (1e3 * value) for value in interpolated), trips["p95"] / 1e3, 1e3 * width[0], 1e3 * width[1]),
            interpolated and width[0] <= interpolated[0] <= width[1])
    finally:
        server.terminate()
        server.wait()


def linted(text, report):
    done = subprocess.run(["promtool", "check", "metrics"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    report.check("promtool check metrics: %d lines" % text.count("\n"), done.returncode == 0 and not done.stdout.strip(),
                 done.stdout)


def beset(binary, space, folder, report, is_long):
    """Clients of every bad kind at once, while 5,000 messages a second are captured."""
    made = load.Load(os.path.join(folder, "full.pcap"), 5_000, 60 if is_long else 15)
    captures = capture.Captures(binary, space, folder, report)
    run = captures.run("--format", "json", "--metrics-listen", ADDRESS)
    if run is None:
        return
    crowds = [Crowd(space.far, deed) for deed in (silent, dripping, asking, deaf, talking)]
    for crowd in crowds:
        crowd.start()
    replay = captures.replay(made)
    asked, answered, slowest = 0, 0, 0.0
    while replay.poll() is None:
        begun = time.monotonic()
        asked += 1
        answered += (fetch(space.far, "-H", "Accept: " + OPEN_METRICS) or "").endswith("# EOF\n")
        slowest = max(slowest, time.monotonic() - begun)
        time.sleep(0.5)
    for crowd in crowds:
        crowd.end()
    report.check("there were clients: " + ", ".join("%d %s" % (crowd.count, crowd.deed.__name__) for crowd in crowds),
                 all(crowd.count > 0 for crowd in crowds))
    left = until(12, lambda: descriptors(run.process.pid) <= 20)
    report.check("descriptors afterwards: %d" % descriptors(run.process.pid), left)
    # A text is up to a second old.
    wanted = "imdump_capture_packets_processed_total %d\n" % made.packets
    report.check("who asks afterwards is answered", until(5, lambda: wanted in (fetch(space.far) or "")))
    run.stop()
    rate = captures.replayed(made, replay)
    report.note("%.0f messages a second; %s" % (rate, run.figures))
    captures.ended("with clients that misbehave", run, limit=2)
    report.equal("packets captured", run.counts["captured"], made.packets)
    report.equal("frames printed", run.lines(), made.frames)
    report.check("of %d that asked as they should, %d were answered, in %.2f s at most" % (asked, answered, slowest),
                 answered >= asked - 1)


ASK = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
ANSWERS = [
    ("GET", ASK, 200),
    ("HEAD", b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 200),
    ("the absolute form", b"GET http://x:9464/metrics HTTP/1.1\r\nHost: x:9464\r\n\r\n", 200),
    ("another path", b"HEAD / HTTP/1.0\r\n\r\n", 404),
    ("another method", b"PUT /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n" + b"x" * (1 << 20), 405),
    ("a long head", b"GET /metrics HTTP/1.1\r\nX: " + b"y" * (1 << 20), 431),
    ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ("a folded line", b"GET /metrics HTTP/1.1\r\nHost: x\r\n y\r\n\r\n", 400),
    ("a blank before the colon", b"GET /metrics HTTP/1.1\r\nHost : x\r\n\r\n", 400),
    ("LF alone", b"GET /metrics HTTP/1.1\nHost: x\n\n", 400),
    ("two lengths", b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
]


def answer(request, is_half_closed):
    """All that is answered to a request, or the error that came instead."""
    try:
        with connected() as one:
            one.sendall(request)
            if is_half_closed:
                one.shutdown(socket.SHUT_WR)
            text = b""
            while piece := one.recv(65_536):
                text += piece
            return text
    except OSError as error:
        return str(error).encode()


def within(space, deed):
    """What a function gives in a namespace."""
    given = []

    def run():
        net.enter(space)        # this thread only
        given.append(deed())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return given[0] if given else None


def serving(pid):
    """Seconds of CPU that the thread which serves has taken."""
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, task), encoding="utf-8") as file:
            name, figures = file.read().split("(", 1)[1].rsplit(") ", 1)
        if name == "imdump-web":
            return sum(int(word) for word in figures.split()[11:13]) / os.sysconf("SC_CLK_TCK")
    return 0.0


def promised(binary, space, folder, report):
    """Each kind of request has its answer, whole; and a process that is out of descriptors waits until there are some."""
    captures = capture.Captures(binary, space, folder, report)
    # The limits of another user's process are for CAP_SYS_RESOURCE.
    run = captures.run("--format", "json", "--metrics-listen", ADDRESS, "-Z", "root")
    if run is None:
        return
    for name, request, status in ANSWERS:
        for is_half_closed in (False, True):
            text = within(space.far, lambda: answer(request, is_half_closed)) or b""
            fields = text.split(b"\r\n\r\n")[0].split(b"\r\n")
            whole = {b"Connection: close", b"X-Content-Type-Options: nosniff"} <= set(fields)
            report.check("%s%s: %d" % (name, ", and no more" if is_half_closed else "", status),
                         fields[0].startswith(b"HTTP/1.1 %d " % status) and whole, text[:200])
    limits = resource.prlimit(run.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(run.process.pid, resource.RLIMIT_NOFILE, (descriptors(run.process.pid), limits[1]))

    def waited():
        before = serving(run.process.pid)
        crowd = [connected() for _ in range(10)]
        time.sleep(2)
        used = serving(run.process.pid) - before
        crowd[0].sendall(ASK)
        resource.prlimit(run.process.pid, resource.RLIMIT_NOFILE, limits)
        start = crowd[0].recv(12)
        for one in crowd:
            one.close()
        return used, start

    used, start = within(space.far, waited) or (None, None)
    report.check("out of descriptors for 2 s: %s s of CPU" % used, used is not None and used < 0.1)
    report.equal("who waited is answered when there are some", start, b"HTTP/1.1 200")
    run.stop()
    captures.ended("with requests of every kind", run, limit=2)


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def check(binary, space, folder, report, is_long):
    """All of metrics that a live capture tells."""
    work = os.path.join(folder, "metrics")
    os.mkdir(work)
    os.chmod(work, 0o777)
    promised(binary, space, work, report)
    beset(binary, space, work, report, is_long)
    tool = runs.missing("prometheus", "promtool")
    if tool:
        report.skipped("a real Prometheus: %s is not installed" % tool)
        return
    scraped(binary, space, work, report)
