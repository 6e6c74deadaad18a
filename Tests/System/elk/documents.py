"""Documents to ship: those of 20,000 messages, as imdump writes them."""
import json
import os
import subprocess

from live import load


def made(binary, folder, messages=20_000):
    """The lines of a run over a load with a document for each message."""
    path = os.path.join(folder, "load.pcap")
    load.Load(path, 5_000, messages / 5_000)
    done = subprocess.run([binary, "-q", "-r", path, "--format", "ecs", "--message-log", "all"], check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    lines = done.stdout.split(b"\n")
    assert lines.pop() == b""
    os.unlink(path)
    return lines


def key(line):
    """The stream and the id of a document."""
    document = json.loads(line)
    stream = document["data_stream"]
    return "%(type)s-%(dataset)s-%(namespace)s" % stream, document["event"]["id"]
