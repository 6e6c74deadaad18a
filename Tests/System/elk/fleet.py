"""Documents go through Kafka and come out as they went in: a broker of librdkafka's, which kcat runs inside itself."""
import os
import re
import subprocess
import time

from . import documents


def check(binary, folder, report):
    lines = documents.made(binary, folder, 1_500)
    # The broker keeps 5 MB of a partition.
    report.note("%d documents, %.1f MB" % (len(lines), sum(map(len, lines)) / 1e6))
    # The broker lives as long as the kcat that has it, which waits for its standard input.
    said = os.path.join(folder, "broker")
    with open(said, "wb") as file:
        broker = subprocess.Popen(
            ["kcat", "-P", "-b", "mock:9092", "-X", "test.mock.num.brokers=1", "-t", "boot", "-d", "mock"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=file)
    try:
        address = None
        end = time.monotonic() + 10
        while address is None and time.monotonic() < end:
            time.sleep(0.1)
            with open(said, encoding="utf-8", errors="replace") as file:
                found = re.search(r"127\.0\.0\.1:\d+", file.read())
            address = found and found.group(0)
        if not report.check("the broker has an address: %s" % address, address):
            return
        done = subprocess.run(["kcat", "-P", "-b", address, "-t", "imdump", "-X", "acks=all", "-X", "enable.idempotence=true"],
                              input=b"\n".join(lines) + b"\n", stderr=subprocess.PIPE, timeout=60)
        report.check("produced", done.returncode == 0, done.stderr.decode())
        done = subprocess.run(["kcat", "-C", "-b", address, "-t", "imdump", "-o", "beginning", "-e", "-q"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        found = done.stdout.split(b"\n")[:-1]
        report.equal("consumed: documents", len(found), len(lines))
        # A topic has partitions, and order within each only.
        report.check("consumed: each as it was produced", sorted(found) == sorted(lines))
    finally:
        broker.kill()
        broker.wait()
