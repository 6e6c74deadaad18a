"""Runs a command where a name server of our own answers: dns.py LOG command ...

In a network and a mount namespace, which unshare(1) has made: 10.0.0.N has the name hN.test where N is even, and no name else. Each
question has a line in LOG."""
import os
import socket
import struct
import subprocess
import sys
import threading


def answer(question, log):
    number, place, labels = question[:2], 12, []
    while question[place]:
        labels.append(question[place + 1: place + 1 + question[place]].decode())
        place += 1 + question[place]
    name, asked = ".".join(labels), question[12: place + 5]
    with open(log, "a") as file:
        file.write(name + "\n")
    host = int(labels[0]) if name.endswith(".0.0.10.in-addr.arpa") else 1
    if host % 2:
        return number + struct.pack(">HHHHH", 0x8183, 1, 0, 0, 0) + asked
    text = b"".join(bytes([len(word)]) + word for word in (b"h%d" % host, b"test")) + b"\0"
    return number + struct.pack(">HHHHH", 0x8180, 1, 1, 0, 0) + asked + b"\xc0\x0c" + struct.pack(">HHIH", 12, 1, 60, len(text)) + text


def serve(server, log):
    while True:
        question, client = server.recvfrom(4096)
        server.sendto(answer(question, log), client)


def main(log, command):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for name, text in [("/etc/resolv.conf", "nameserver 127.0.0.1\n"), ("/etc/nsswitch.conf", "hosts: files dns\n")]:
        mine = log + os.path.basename(name)
        with open(mine, "w") as file:
            file.write(text)
        subprocess.run(["mount", "--bind", mine, name], check=True)
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    threading.Thread(target=serve, args=(server, log), daemon=True).start()
    return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
