"""Log files that are shipped while they are written: --ship to a receiver of _bulk that has troubles, --otlp to one of OpenTelemetry."""
import glob
import gzip
import http.server
import json
import os
import subprocess
import threading
import time

from elk import bulk
from . import logs, net


def within(space, begin):
    """What `begin` gives, called in a thread that is in a namespace: a server that it starts listens there."""
    given = []

    def run():
        net.enter(space)
        given.append(begin())
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return given[0]


def arrived(receiver, folder):
    """Whether a receiver has the documents in the files of a folder as they stand there, and how many of how many. The line that every
    file begins with is one document."""
    lines, ids = set(), set()
    for path in glob.glob(folder + "/imdump.*.ndjson"):
        with open(path, "rb") as file:
            for line in file:
                lines.add(line.rstrip(b"\n"))
                ids.add(json.loads(line)["event"]["id"])
    stored = {name for _, name in receiver.streams}
    return bool(ids) and stored == ids and lines.issuperset(receiver.streams.values()), "%d of %d documents" % (len(stored & ids), len(ids))


class Shipped(logs.Logs):
    def engine(self):
        """Documents arrive once each, whatever the engine answers, and the last ones with the end of the run."""
        receiver = bulk.Receiver()
        receiver.busy, receiver.fails = 2, 4
        within(self.space.far, receiver.begin)
        folder = self.fresh(own=False)
        run = self.start("--log-dir", folder, "--log-size", "256k", "--ship", "http://127.0.0.1:%d" % receiver.port)
        if not run:
            return
        self.send(self.sent)
        ended = run.stop()
        is_whole, counts = arrived(receiver, folder)
        self.report.check("--ship: each document is stored", is_whole, "%s, answers %s" % (counts, receiver.answers))
        self.report.check("--ship: the run ends well", ended.status == 0, "%s in %.1f s: %s" % (ended.status, ended.ended, ended.said[-200:]))
        self.report.check("--ship: nothing of the files is left to send", all(
            file["offset"] == os.path.getsize(os.path.join(folder, file["name"])) for file in self.state(folder)["files"]))
        receiver.end()

    def away(self):
        """An engine that is away holds up no end for long, and loses nothing."""
        receiver = bulk.Receiver()
        within(self.space.far, receiver.begin)
        receiver.end()
        folder = self.fresh(own=False)
        run = self.start("--log-dir", folder, "--ship", "http://127.0.0.1:%d" % receiver.port)
        if not run:
            return
        self.send(self.sent)
        ended = run.stop()
        self.report.check("--ship: the end waits for an engine that is away, at most 15 s", ended.status == 0 and ended.ended < 15,
                          "%s in %.1f s" % (ended.status, ended.ended))
        within(self.space.far, receiver.begin)
        # The process that shipped may still be at its last try: it holds the lock.
        deadline = time.monotonic() + 60
        while not arrived(receiver, folder)[0] and time.monotonic() < deadline:
            subprocess.run(net.inside(self.space.far, [self.binary, "ship", "-q", folder, "--to", "http://127.0.0.1:%d" % receiver.port]),
                           stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            time.sleep(0.1)
        self.report.check("--ship: imdump ship goes on with what stayed", *arrived(receiver, folder))
        receiver.end()

    def telemetry(self):
        """Metrics go to a receiver of OpenTelemetry, with its headers; what was sent is noted."""
        requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                requests.append((self.path, self.headers.get("Content-Type"), self.headers.get("X-Key"), len(gzip.decompress(body))))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        server = within(self.space.far, lambda: http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        folder, headers = self.fresh(own=False), os.path.join(self.parent, "headers")
        with open(headers, "w", encoding="utf-8") as file:
            file.write("X-Key: secret\n")
        os.chmod(headers, 0o600)
        run = logs.runs.Run(self.binary, self.space.far, self.parent, "-i", "wire0", "-q", "--otlp",
                            "http://127.0.0.1:%d" % server.server_address[1], "--otlp-queue", folder, "--otlp-headers", headers)
        if not run.listens():
            self.report.check("--otlp captures", False, run.wait().said)
            return
        self.send(self.sent)
        ended = run.stop()
        kinds = {request[:3] for request in requests}
        self.report.check("--otlp: metrics, compressed, with the headers", kinds == {("/v1/metrics", "application/x-protobuf", "secret")},
                          "%d requests, %s, status %s %s" % (len(requests), sorted(kinds), ended.status, ended.said[-200:]))
        files = self.state(folder)["files"]
        self.report.check("--otlp: nothing is left to send", files and all(
            not os.path.exists(path) or file["offset"] == os.path.getsize(path)
            for file in files for path in [os.path.join(folder, file["name"])]))
        server.shutdown()

    @staticmethod
    def state(folder):
        with open(os.path.join(folder, ".ship", "state"), encoding="utf-8") as file:
            return json.load(file)


def check(binary, space, folder, report, _):
    shipped = Shipped(binary, space, folder, report)
    shipped.engine()
    shipped.away()
    shipped.telemetry()
