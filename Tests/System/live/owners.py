"""Whose connections are: a thousand of processes in three control groups, as `ss --cgroup` has them, and what the kernel says of
their round trips and retransmissions."""
import json
import os
import re
import subprocess
import sys

from . import runs

CONNECTIONS = 334
CONTAINER = "0123456789abcdef" * 4
POD = "1f0d1c5e-9a30-4c0b-8a55-2f6b6f1e7d10"
# A group's path, and what it says.
GROUPS = {
    18081: ("imdump-check.slice/im-gateway.service", {"unit": "im-gateway.service"}),
    18082: ("imdump-check.slice/docker-%s.scope" % CONTAINER, {"container": CONTAINER}),
    18083: ("imdump-check.slice/kubepods-pod%s.slice/cri-containerd-%s.scope" % (POD.replace("-", "_"), CONTAINER[::-1]),
            {"container": CONTAINER[::-1], "pod": POD}),
}
# A frame of tjp, and a server that answers each; the clients send once more when standard input ends: of more
# connections than 1,000 a second the owners are known a little later.
FRAME = "import struct, zlib\ndef frame(kind, number, body=b''):\n" \
    "    return struct.pack('>IBBHIIBBHII', 0xDECAFBAD, 1, 0, kind, number, 0, 0, 0, 7, len(body), zlib.crc32(body) if body else 0) + body\n"
SERVER = FRAME + """
import asyncio, sys
async def serve(reader, writer):
    while True:
        try: head = await reader.readexactly(28)
        except Exception: return
        await reader.readexactly(struct.unpack('>I', head[20:24])[0])
        writer.write(frame(2, struct.unpack('>I', head[8:12])[0]))
async def main():
    async with await asyncio.start_server(serve, '127.0.0.1', int(sys.argv[1]), backlog=1024) as server:
        print('ready', flush=True)
        await server.serve_forever()
asyncio.run(main())
"""
CLIENTS = FRAME + """
import socket, sys, time
ports, count = [int(word) for word in sys.argv[2:]], int(sys.argv[1])
made = []
for n in range(count):
    for port in ports:
        client = socket.create_connection(('127.0.0.1', port))
        client.sendall(frame(0, 100 + len(made), b'\\x10\\x01\\0\\0\\0\\2hi'))
        made.append(client)
for client in made: client.recv(28)
print('ready', flush=True)
sys.stdin.read()
for n, client in enumerate(made): client.sendall(frame(0, 5000 + n))
for client in made: client.recv(28)
"""


def inside(space, command):
    """As `net.inside`, but with /sys as it was: the control groups are there."""
    return ["nsenter", "--net=/run/netns/" + space, *command]


def hierarchy():
    """Where control groups of version 2 are mounted; None where they are not."""
    with open("/proc/self/mountinfo", encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words[words.index("-") + 1] == "cgroup2":
                return words[4]
    return None


def start(space, group, *command):
    """A process of a namespace and of a control group, when it is ready."""
    enter = "echo $$ > %s/cgroup.procs && exec \"$@\"" % group if group else "exec \"$@\""
    made = subprocess.Popen(inside(space, ["sh", "-c", enter, "sh", *command]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    made.stdout.readline()
    return made


def kernel(space):
    """What ss says of the servers' sockets, by their clients' ends and their ports."""
    done = subprocess.run(inside(space, ["ss", "-Htine", "--cgroup", "state", "established"]), stdout=subprocess.PIPE, text=True)
    found = {}
    for head, info in zip(*[iter(done.stdout.splitlines())] * 2):
        words = head.split()
        port = int(words[2].rpartition(":")[2])
        if port in GROUPS:
            found[words[3], port] = ( re.search(r"cgroup:(\S+)", head), re.search(r"minrtt:([0-9.]+)", info),
                               re.search(r"retrans:\d+/(\d+)", info))
    return found


def check(binary, space, folder, report, is_long):
    root = hierarchy()
    if root is None or not os.access(root, os.W_OK):
        report.check("control groups of version 2 can be made", False, root)
        return
    folders, processes = [], []
    try:
        for path, _ in GROUPS.values():
            os.makedirs(os.path.join(root, path), exist_ok=True)
            folders.append(os.path.join(root, path))
        for port, (path, _) in GROUPS.items():
            processes.append(start(space.far, os.path.join(root, path), sys.executable, "-c", SERVER, str(port)))
        ports = [word for port in GROUPS for word in ("--port", str(port))]
        places = [os.path.join(folder, name) for name in ("json", "chosen", "ecs", "alerts", "packets")]
        for place in places:
            os.mkdir(place)
        run = runs.Run(binary, space.far, places[0], "--json", *ports, "-i", "lo", "tcp", enter=inside)
        chosen = runs.Run(binary, space.far, places[1], "-Y", 'owner == "im-gateway.service" and copy == 1', *ports, "-i", "lo", "tcp", enter=inside)
        ecs = runs.Run(binary, space.far, places[2], "--format", "ecs", *ports, "-i", "lo", "tcp", enter=inside)
        rules = os.path.join(folder, "rules.yml")
        with open(rules, "w", encoding="utf-8") as out:
            out.write("version: 1\nrules:\n  - { name: busy, metric: messages, scope: owner, window: 1s, op: '>=', threshold: 100 }\n")
        alerts = runs.Run(binary, space.far, places[3], "-q", "--rules", rules, *ports, "-i", "lo", "tcp", enter=inside)
        # Fewer connections than requests of a second: only the first server's.
        written = os.path.join(folder, "live.pcapng")
        packets = runs.Run(binary, space.far, places[4], "-w", written, "-Z", "root", "-i", "lo", "tcp", "port", "18082", enter=inside)
        if not (packets.listens(5) and alerts.listens(5) and run.listens() and chosen.listens(2) and ecs.listens(3)):
            report.check("imdump captures", False, run.wait().said)
            return
        clients = start(space.far, None, sys.executable, "-c", CLIENTS, str(CONNECTIONS), *map(str, GROUPS))
        processes.append(clients)
        known = kernel(space.far)
        clients.stdin.close()
        clients.wait(20)
        for each in (run, chosen, ecs, alerts, packets):
            each.stop()
        owners = {}
        with open(run.out, encoding="utf-8") as lines:
            for line in lines:
                frame = json.loads(line)
                if frame.get("copy") == 1 and frame.get("seq", 0) >= 5000:
                    owners[frame["client"], int(frame["server"].rpartition(":")[2])] = frame.get("owner")
        report.equal("connections that ss and imdump know", len(owners), len(known))
        expected = {}
        for client, (group, _, _) in known.items():
            path, names = GROUPS[client[1]]
            if group is None or group.group(1) != "/" + path:
                report.check("ss tells the group of %s" % client[0], False, group and group.group(1))
            expected[client] = dict(names, user=0)
        wrong = [(client, owners.get(client), names) for client, names in expected.items() if owners.get(client) != names]
        report.check("owners of %d connections are those of ss" % len(expected), len(expected) == 3 * CONNECTIONS and not wrong, wrong[:3])
        with open(chosen.out, encoding="utf-8") as lines:
            report.equal("connections of -Y owner", len({line.split()[1] for line in lines if " tjp data" in line}), CONNECTIONS)
        with open(alerts.out, encoding="utf-8") as lines:
            fired = {line.rpartition(" on ")[2].split(";")[0].strip() for line in lines if " busy firing " in line}
        report.equal("owners of alerts", fired, {names.get("unit", names.get("container")) for _, names in GROUPS.values()})
        done = subprocess.run(["tshark", "-r", written, "-Y", "frame.comment", "-T", "fields", "-e", "tcp.srcport", "-e", "tcp.dstport",
                               "-e", "frame.comment"], stdout=subprocess.PIPE, text=True)
        told = [line.split("\t") for line in done.stdout.splitlines()]
        report.equal("connections with an owner in pcapng", len({tuple(sorted(line[:2])) for line in told}), CONNECTIONS)
        report.equal("what it says", {line[2] for line in told}, {"imdump: owner container %s, user 0" % CONTAINER})
        services, trips, again = 0, 0, 0
        with open(ecs.out, encoding="utf-8") as lines:
            for document in map(json.loads, lines):
                if document["event"]["dataset"] != "imdump.connection" or not document["imdump"]["conn"]["final"]:
                    continue
                port = document["destination"]["port"]
                client = "%s:%d" % (document["source"]["ip"], document["source"]["port"])
                _, least, retransmitted = known.get((client, port), (None, None, None))
                services += (document.get("service", {}).get("name") == "im-gateway.service") == (port == 18081)
                tcp = document["imdump"]["conn"]["tcp"]
                # The kernel times with a microsecond's clock what the capture sees a little later.
                mine = tcp["server_to_client"].get("ack_rtt", {}).get("min_ms")
                trips += least is not None and mine is not None and abs(mine - float(least.group(1))) < 5
                again += tcp["server_to_client"]["retransmissions"] == (int(retransmitted.group(1)) if retransmitted else 0)
        for name, found in (("services in documents", services), ("round trips near the kernel's", trips),
                            ("retransmissions that are the kernel's", again)):
            report.equal(name, found, len(known))
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for path in folders:
            while path != root:
                try:
                    os.rmdir(path)
                except OSError:
                    break
                path = os.path.dirname(path)
