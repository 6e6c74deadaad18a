"""What TCP does under loss: retransmissions and round trips of connections on a link that loses packets, as the kernel counts them for
the sockets of this host (`ss -ti`)."""
import json
import os
import re
import signal
import socket
import subprocess
import sys

CONNECTIONS, FRAMES = 60, 30
SERVER, PORT = "10.77.0.1", 18081
LINK = ["--loss", "0.03", "--delay", "20~3", "--seed", "7"]
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../Scripts")


def client(binary, folder):
    """In the client's namespace: imdump, connections, what the kernel says of them while they are open, and their end."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    from live import owners, runs
    scope = {}
    exec(owners.FRAME, scope)
    run = runs.Run(binary, None, folder, "--format", "ecs", "--port", str(PORT), "-i", "wn0", "tcp", enter=lambda _, command: command)
    if not run.listens():
        print(run.wait().said, file=sys.stderr)
        return 1
    made = [socket.create_connection((SERVER, PORT), 30) for _ in range(CONNECTIONS)]
    for number in range(FRAMES):
        for n, each in enumerate(made):
            each.settimeout(60)
            each.sendall(scope["frame"](0, 100 + number, b"\x10\x01\0\0\0\2hi"))
        for each in made:
            left = 28
            while left:
                left -= len(each.recv(left))
    done = subprocess.run(["ss", "-Htin", "state", "established"], stdout=subprocess.PIPE, text=True)
    known = {}
    for head, info in zip(*[iter(done.stdout.splitlines())] * 2):
        words = head.split()
        if words[3] == "%s:%d" % (SERVER, PORT):
            again = re.search(r"retrans:\d+/(\d+)", info)
            known[words[2]] = (int(again.group(1)) if again else 0, float(re.search(r"minrtt:([0-9.]+)", info).group(1)))
    for each in made:
        each.close()
    run.stop(signal.SIGINT)
    with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as out:
        json.dump(known, out)
    return 0


def check(binary, space, folder, report, is_long):
    from . import owners
    serve = owners.SERVER.replace("127.0.0.1", "0.0.0.0")
    done = subprocess.run(
        [sys.executable, os.path.join(SCRIPTS, "weaknet"), "run", *LINK, "--timeout", "180", "--", sys.executable, "-c",
         serve, str(PORT), "--", sys.executable, os.path.abspath(__file__), binary, folder],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not report.check("connections on a link with loss", done.returncode == 0, done.stdout[-300:]):
        return
    with open(os.path.join(folder, "kernel.json"), encoding="utf-8") as file:
        known = json.load(file)
    report.equal("connections that ss knows", len(known), CONNECTIONS)
    same, total, differences, far, quiet = 0, 0, [], [], 0
    with open(os.path.join(folder, "out"), encoding="utf-8") as lines:
        for document in map(json.loads, lines):
            if document["event"]["dataset"] != "imdump.connection" or not document["imdump"]["conn"]["final"]:
                continue
            name = "%s:%d" % (document["source"]["ip"], document["source"]["port"])
            if name not in known:
                continue
            conn = document["imdump"]["conn"]
            tcp = conn["tcp"]
            # The kernel does not count SYNs that were sent again among them, and neither does imdump.
            mine = tcp["client_to_server"]["retransmits"]
            again, least = known[name]
            total += again
            same += mine == again
            if mine != again:
                differences.append((name, mine, again))
            # Of what was sent again the kernel times by TCP's own timestamps, in whole milliseconds; imdump does not time it.
            if again == 0:
                quiet += 1
                trips = [tcp["client_to_server"]["ack_rtt"]["min_ms"], tcp.get("rtt_ms", 1e9)]
                if abs(min(trips) - least) > 1:
                    far.append((name, trips, least))
    report.check("the link made the kernel send again", total > 10, total)
    report.equal("connections whose retransmissions are the kernel's", (same, differences[:3]), (len(known), []))
    report.check("round trips of %d connections without any are within 1 ms of the kernel's" % quiet, quiet > 5 and not far, far[:3])


if __name__ == "__main__":
    sys.exit(client(*sys.argv[1:3]))
