"""Captures of the protocols whose types stand in contents, in several parts, or in lines: short conversations of each.

The bytes are laid out here by hand from the protocols' documents; nothing of them is shared with the decoder. What each capture
has is counted while it is made: `COUNTS` has it by the capture's name, for the tests.
"""
import base64
import hashlib
import json
import struct

from .requests import Capture, Talk

# By capture: frames by type and direction, and messages by fate.
COUNTS = {}


def varint(number):
    out = b""
    while True:
        out += bytes([number & 127 | (128 if number > 127 else 0)])
        number >>= 7
        if not number:
            return out


def counted(start, size, plus):
    """Frames whose length is `size` bytes at `start`, to which `plus` is added."""
    def whole(data):
        if len(data) < start + size:
            return start + size
        return int.from_bytes(data[start:start + size], "big") + plus
    return whole


def variable(start, absent=()):
    """Frames with a varint at `start`; those whose first byte is in `absent` have none."""
    def whole(data):
        if data[0] in absent:
            return start
        value, at = 0, start
        while True:
            if at >= len(data):
                return at + 1
            value |= (data[at] & 127) << 7 * (at - start)
            at += 1
            if data[at - 1] < 128:
                return at + value
    return whole


def everything(data):
    return len(data)


class Script:
    """One connection of a capture: asks, answers and counts."""

    def __init__(self, capture, number, port, whole, counts):
        self.talk = Talk(capture, ("192.0.2.%d" % (80 + number), 46000 + number), ("203.0.113.20", port), number / 4, whole)
        self.counts, self.at = counts, 0.0

    def note(self, kind, side, fate=None):
        frames = self.counts["types"].setdefault(kind, [0, 0])
        frames[side] += 1
        if fate:
            fates = self.counts["fates"].setdefault(kind, {})
            fates[fate] = fates.get(fate, 0) + 1

    def note_fate(self, kind, fate):
        """What becomes of a frame whose answer is said by itself."""
        fates = self.counts["fates"].setdefault(kind, {})
        fates[fate] = fates.get(fate, 0) + 1

    def ask(self, side, kind, request, answer=None, answered="", fate="acked", delay=0.02):
        """`fate` is what becomes of the request; without an answer it is unanswered, or nothing where `fate` is empty."""
        self.at += 0.5
        self.note(kind, side, (fate if answer is not None else fate and "unanswered") or None)
        if answer is not None:
            self.note(answered, 1 - side)
        self.talk.ask(self.at, side, request, answer, delay)

    def say(self, side, kind, frame):
        self.at += 0.5
        self.note(kind, side)
        self.talk.say(self.at, side, frame)

    def close(self):
        self.talk.close(self.at + 10)


def conversation(name, port, whole, run, clients=2, seconds=60):
    def make():
        counts = COUNTS.setdefault(name, {"types": {}, "fates": {}})
        counts["types"].clear()
        counts["fates"].clear()
        capture = Capture(60 + len(name), small_cuts=40)
        for number in range(clients):
            script = Script(capture, number, port, whole, counts)
            run(script, number)
            script.close()
        return capture.run(seconds)
    return make


# Headers of numbers

def cmpp(s, n):
    def frame(kind, number, body=b""):
        return struct.pack(">III", 12 + len(body), kind, number) + body

    def submit(words):
        text = words.encode("utf-16-be")
        return (bytes(8) + b"\1\1\1\0" + b"SERVICE".ljust(10, b"\0") + b"\2" + bytes(32) + b"\0\0\0\x08" + b"900001" + b"01" + b"000000"
                + bytes(34) + b"10655000".ljust(21, b"\0") + b"\1" + b"13800000000".ljust(32, b"\0") + b"\0" + bytes([len(text)]) + text
                + bytes(20))
    s.ask(0, "connect", frame(1, 1, b"900001" + bytes(16) + b"\x30" + struct.pack(">I", 1010101010)),
          frame(0x80000001, 1, bytes(4) + bytes(16) + b"\x30"), "connect_resp")
    for i in range(2, 7):
        bad, mute = i == 4, i == 5
        s.ask(0, "submit", frame(4, i, submit("message %d" % i)),
              None if mute else frame(0x80000004, i, struct.pack(">QI", i, 8 if bad else 0)), "submit_resp", "rejected" if bad else "acked")
    s.ask(1, "deliver", frame(5, 9, struct.pack(">Q", 9) + bytes(77) + b"\5hello" + bytes(20)),
          frame(0x80000005, 9, struct.pack(">QI", 9, 0)), "deliver_resp")
    s.ask(0, "active_test", frame(8, 20), frame(0x80000008, 20, b"\0"), "active_test_resp")
    s.ask(0, "terminate", frame(2, 21), frame(0x80000002, 21), "terminate_resp")


def sgip(s, n):
    def frame(kind, number, body=b""):
        return struct.pack(">IIIII", 20 + len(body), kind, 3_010_000_001, 1010101010, number) + body

    def answer(status):
        return bytes([status]) + bytes(8)
    s.ask(0, "bind", frame(1, 1, b"\1" + b"user".ljust(16, b"\0") + b"secret".ljust(16, b"\0") + bytes(8)), frame(0x80000001, 1, answer(0)),
          "bind_resp")
    for i in range(2, 7):
        bad, mute = i == 4, i == 5
        s.ask(0, "submit", frame(3, i, b"1065500".ljust(21, b"\0") + bytes(21) + b"\1" + b"8613000000000".ljust(21, b"\0") + bytes(59)
                                 + struct.pack(">I", 5) + b"hello" + bytes(8)),
              None if mute else frame(0x80000003, i, answer(5 if bad else 0)), "submit_resp", "rejected" if bad else "acked")
    s.ask(1, "deliver", frame(4, 9, b"8613000000000".ljust(21, b"\0") + b"1065500".ljust(21, b"\0") + bytes(3) + struct.pack(">I", 5) + b"reply"
                              + bytes(8)), frame(0x80000004, 9, answer(0)), "deliver_resp")
    s.ask(0, "unbind", frame(2, 21), frame(0x80000002, 21), "unbind_resp")


def smgp(s, n):
    def frame(kind, number, body=b""):
        return struct.pack(">III", 12 + len(body), kind, number) + body
    s.ask(0, "login", frame(1, 1, b"client01" + bytes(16) + b"\2" + struct.pack(">I", 1010101010) + b"\x30"),
          frame(0x80000001, 1, bytes(4) + bytes(16) + b"\x30"), "login_resp")
    for i in range(2, 7):
        bad, mute = i == 4, i == 5
        s.ask(0, "submit", frame(2, i, b"\6\0\1" + b"SERVICE".ljust(10, b"\0") + bytes(114) + b"\5hello" + bytes(8)),
              None if mute else frame(0x80000002, i, struct.pack(">10sI", b"\1\2\3", 12 if bad else 0)), "submit_resp",
              "rejected" if bad else "acked")
    s.ask(1, "deliver", frame(3, 9, bytes(77) + b"reply" + bytes(8)), frame(0x80000003, 9, bytes(14)), "deliver_resp")
    s.ask(0, "active_test", frame(4, 20), frame(0x80000004, 20), "active_test_resp")
    s.ask(0, "exit", frame(6, 21), frame(0x80000006, 21), "exit_resp")


def gbt32960(s, n):
    vin = b"TESTVIN000000000%d" % n

    def frame(kind, flag, body=b""):
        inner, sum_ = bytes([kind, flag]) + vin + b"\1" + struct.pack(">H", len(body)) + body, 0
        for byte in inner:
            sum_ ^= byte
        return b"##" + inner + bytes([sum_])
    clock = bytes([25, 1, 1, 10, 0, 0])
    s.ask(0, "login", frame(1, 0xFE, clock + b"\0\1" + b"89860000000000000000" + b"\1\0"), frame(1, 1, clock), "login_resp")
    for i in range(6):
        bad, mute = i == 3, i == 5
        body = clock + b"\1" + bytes([1, 3, 1]) + struct.pack(">HIHHBBBHBB", 300, 1_234_560 + i, 3600, 10_000, 80, 1, 15, 2_000, 0, 0)
        s.ask(0, "report", frame(2, 0xFE, body), None if mute else frame(2, 2 if bad else 1, clock), "report_resp",
              "rejected" if bad else "acked")
        if i == 2:
            s.ask(0, "heartbeat", frame(7, 0xFE), frame(7, 1), "heartbeat_resp")


def modbus(s, n):
    def frame(number, pdu):
        return struct.pack(">HHHB", number, 0, 1 + len(pdu), 17) + pdu
    for i in range(6):
        bad, mute = i == 3, i == 4
        s.ask(0, "read_holding_registers", frame(i, struct.pack(">BHH", 3, 100 + i, 2)),
              None if mute else frame(i, b"\x83\x02" if bad else b"\3\4" + struct.pack(">HH", i, 2 * i)), "exception" if bad else "response",
              "rejected" if bad else "acked")
    s.ask(0, "write_single_register", frame(9, struct.pack(">BHH", 6, 7, 8)), frame(9, struct.pack(">BHH", 6, 7, 8)), "response")


def wukongim(s, n):
    def frame(kind, body, flags=0):
        return bytes([kind << 4 | flags]) + varint(len(body)) + body

    def text(words):
        return struct.pack(">H", len(words)) + words.encode()
    s.ask(0, "connect", frame(1, b"\5\0" + text("device-%d" % n) + text("anna") + text("token") + struct.pack(">q", 1_760_000_000) + text("key")),
          frame(2, struct.pack(">bqB", 5, 0, 1) + text("serverkey") + text("salt") + struct.pack(">Q", 1), 1), "connack")
    for i in range(1, 7):
        bad, mute = i == 4, i == 5
        s.ask(0, "send", frame(3, b"\x10" + struct.pack(">I", i) + text("0000-%d" % i) + text("room") + b"\1" + struct.pack(">I", 0)
                               + text("0123456789abcdef") + b'{"content":"hello %d"}' % i),
              None if mute else frame(4, struct.pack(">qIIB", 100 + i, i, i, 11 if bad else 1)), "sendack", "rejected" if bad else "acked")
    s.ask(1, "recv", frame(5, b"\x10" + text("key") + text("ben") + text("room") + b"\1" + struct.pack(">I", 0) + text("0001-1")
                           + struct.pack(">qIi", 777, 1, 1_760_000_000) + b'{"content":"hi"}', 2), frame(6, struct.pack(">qI", 777, 1)), "recvack")
    s.ask(0, "ping", b"\x70", b"\x80", "pong")
    s.say(0, "disconnect", frame(9, b"\0" + text("")))


# Protocol Buffers

def pb(*fields):
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def turms(s, n):
    def frame(body):
        return varint(len(body)) + body
    for i in range(1, 8):
        bad, mute, first = i == 4, i == 6, i == 1
        body = pb((1, 1000 + i), (3 if first else 22, pb((1, 2), (4, 9), (5, "text %d" % i + "." * 40 * i))))
        s.ask(0, "create_session" if first else "create_message", frame(body),
              None if mute else frame(pb((1, 1_760_000_000_000 + i), (4, 1000 + i), (5, 3000 if bad else 1000), (6, "reason"))), "response",
              "rejected" if bad else "acked")
    s.say(1, "notification", frame(pb((1, 1_760_000_000_009), (10, pb((1, 3), (22, pb((5, "hello"))))), (11, 7))))
    s.say(0, "heartbeat", b"\0")


def teamtalk(s, n):
    def frame(service, command, number, body=b""):
        return struct.pack(">IHHHHHH", 16 + len(body), 1, 0, service, command, number, 0) + body
    s.ask(0, "login", frame(1, 0x103, 1, pb((1, "anna"), (2, "secret"), (3, 1))), frame(1, 0x104, 1, pb((1, 1_760_000_000), (2, 0), (3, "ok"))),
          "login_res")
    for i in range(2, 7):
        mute = i == 5
        s.ask(0, "msg_data", frame(3, 0x301, i, pb((1, 7), (2, 8), (3, 0), (4, 1_760_000_000), (5, 1), (6, "hello" * i))),
              None if mute else frame(3, 0x302, i, pb((1, 7), (2, 8), (3, 500 + i), (4, 1))), "msg_data_ack")
    s.ask(0, "heartbeat", frame(7, 0x701, 0), frame(7, 0x701, 0), "heartbeat")
    s.ask(0, "time_req", frame(3, 0x305, 20), frame(3, 0x306, 20, pb((1, 1_760_000_000))), "time_rsp")


# WebSocket

KEY = "AAAAAAAAAAAAAAAAAAAAAA=="


def web(words, side):
    """One message of text in one frame; the client's has a mask."""
    data = words.encode() if isinstance(words, str) else words
    mask = 0x80 if side == 0 else 0
    head = b"\x81" + (bytes([mask | len(data)]) if len(data) < 126 else bytes([mask | 126]) + struct.pack(">H", len(data)))
    key = b"\x11\x22\x33\x44" if side == 0 else b""
    return head + key + (bytes(byte ^ key[i % 4] for i, byte in enumerate(data)) if key else data)


def web_size(data):
    """Bytes of the first request, answer or frame."""
    if data[:4] in (b"GET ", b"HTTP"):
        end = data.find(b"\r\n\r\n")
        return end + 4 if end >= 0 else len(data) + 1
    if len(data) < 2:
        return 2
    length, size = data[1] & 127, 2 + (4 if data[1] & 128 else 0)
    if length == 126:
        if len(data) < 4:
            return 4
        return size + 2 + struct.unpack(">H", data[2:4])[0]
    return size + length


def upgrade(s, path, protocol=""):
    accept = base64.b64encode(hashlib.sha1((KEY + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    more = "Sec-WebSocket-Protocol: %s\r\n" % protocol if protocol else ""
    s.at += 0.05
    s.talk.ask(s.at, 0, ("GET %s HTTP/1.1\r\nHost: chat.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                         "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n%s\r\n" % (path, KEY, more)).encode(),
               ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Accept: %s\r\n%s\r\n" % (accept, more)).encode())


def dumps(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def socketio(s, n):
    upgrade(s, "/socket.io/?EIO=4&transport=websocket")
    s.say(1, "open", web("0" + dumps({"sid": "abc%d" % n, "pingInterval": 25000}), 1))
    s.ask(0, "connect", web("40", 0), web("40" + dumps({"sid": "def%d" % n}), 1), "connected")
    for i in range(6):
        mute = i == 4
        s.ask(0, "event", web("42%d%s" % (i, dumps(["chat", {"text": "hello %d" % i, "decoy": "43%d[]" % i}])), 0),
              None if mute else web("43%d%s" % (i, dumps(["ok"])), 1), "ack")
    s.ask(1, "ping", web("2", 1), web("3", 0), "pong")
    s.say(1, "event", web("42" + dumps(["news", "hé"]), 1))


def ocpp(s, n):
    upgrade(s, "/ocpp/CP%d" % n, "ocpp1.6")
    for i in range(6):
        bad, mute = i == 3, i == 4
        number = "00000000-0000-4000-8000-00000000000%d" % i
        action = "BootNotification" if i == 0 else "MeterValues"
        s.ask(0, "call", web(dumps([2, number, action, {"connectorId": i, "note": "[3,\"%s\",{}]" % number}]), 0),
              None if mute else web(dumps([4, number, "NotImplemented", "", {}] if bad else [3, number, {}]), 1),
              "call_error" if bad else "call_result", "rejected" if bad else "acked")
    s.ask(0, "heartbeat", web(dumps([2, "hb", "Heartbeat", {}]), 0), web(dumps([3, "hb", {"currentTime": "2025-10-09"}]), 1), "call_result")
    s.ask(1, "call", web(dumps([2, "srv", "Reset", {"type": "Soft"}]), 1), web(dumps([3, "srv", {"status": "Accepted"}]), 0), "call_result")


def phoenix(s, n):
    upgrade(s, "/socket/websocket?vsn=2.0.0")

    def reply(number, status="ok"):
        return web(dumps(["1", number, "room:1", "phx_reply", {"status": status, "response": {}}]), 1)
    s.ask(0, "join", web(dumps(["1", "1", "room:1", "phx_join", {}]), 0), reply("1"), "reply")
    for i in range(2, 8):
        bad, mute = i == 4, i == 5
        s.ask(0, "push", web(dumps(["1", str(i), "room:1", "say", {"body": "hello", "status": "error"}]), 0),
              None if mute else reply(str(i), "error" if bad else "ok"), "reply", "rejected" if bad else "acked")
    s.ask(0, "heartbeat", web(dumps([None, "20", "phoenix", "heartbeat", {}]), 0),
          web(dumps([None, "20", "phoenix", "phx_reply", {"status": "ok", "response": {}}]), 1), "reply")
    s.say(1, "push", web(dumps(["1", None, "room:1", "said", {"body": "hello"}]), 1))
    s.ask(0, "leave", web(dumps(["1", "21", "room:1", "phx_leave", {}]), 0), reply("21"), "reply")


def signalr(s, n):
    upgrade(s, "/chat")

    def record(value, side):
        return web(dumps(value) + "\x1e", side)
    s.ask(0, "handshake", record({"protocol": "json", "version": 1}, 0), record({}, 1), "handshake_response")
    for i in range(6):
        bad, mute = i == 3, i == 4
        s.ask(0, "invocation", record({"type": 1, "target": "Send", "invocationId": str(i), "arguments": ["hello", {"type": 3}]}, 0),
              None if mute else record(dict({"type": 3, "invocationId": str(i)}, **({"error": "denied"} if bad else {"result": 1})), 1),
              "completion", "rejected" if bad else "acked")
    s.say(0, "ping", record({"type": 6}, 0))
    s.say(1, "ping", record({"type": 6}, 1))
    s.say(1, "invocation", record({"type": 1, "target": "Receive", "arguments": ["hi"]}, 1))
    s.say(0, "close", record({"type": 7}, 0))


# Lines

def stomp_size(data):
    if data[:1] == b"\n":
        return 1
    end = data.find(b"\n\n")
    if end < 0:
        return len(data) + 1
    for line in data[:end].split(b"\n"):
        if line.startswith(b"content-length:"):
            return end + 2 + int(line[15:]) + 1
    close = data.find(b"\0", end)
    return close + 1 if close >= 0 else len(data) + 1


def stomp(s, n):
    def frame(command, headers, body=b""):
        lines = [command] + ["%s:%s" % pair for pair in headers.items()]
        if body:
            lines.append("content-length:%d" % len(body))
        return "\n".join(lines).encode() + b"\n\n" + body + b"\0"
    s.ask(0, "connect", frame("CONNECT", {"accept-version": "1.2", "host": "example"}), frame("CONNECTED", {"version": "1.2"}), "connected")
    s.ask(0, "subscribe", frame("SUBSCRIBE", {"id": "0", "destination": "/queue/a", "ack": "client-individual", "receipt": "s1"}),
          frame("RECEIPT", {"receipt-id": "s1"}), "receipt")
    for i in range(6):
        bad, mute = i == 5, i == 4
        s.ask(0, "send", frame("SEND", {"destination": "/queue/a", "receipt": "r%d" % i}, b"SEND\n\nbody\0 %d" % i),
              None if mute else frame("ERROR" if bad else "RECEIPT", {"receipt-id": "r%d" % i, "message": "refused"}),
              "error" if bad else "receipt", "rejected" if bad else "acked")
    s.ask(1, "message", frame("MESSAGE", {"destination": "/queue/a", "message-id": "m1", "subscription": "0", "ack": "a1"}, b"hello"),
          frame("ACK", {"id": "a1"}), "ack")
    s.say(0, "heartbeat", b"\n")
    s.say(1, "heartbeat", b"\n")
    s.ask(0, "disconnect", frame("DISCONNECT", {"receipt": "bye"}), frame("RECEIPT", {"receipt-id": "bye"}), "receipt")


def nats_size(data):
    end = data.find(b"\r\n")
    if end < 0:
        return len(data) + 1
    words = data[:end].split()
    if words and words[0] in (b"PUB", b"HPUB", b"MSG", b"HMSG"):
        return end + 2 + int(words[-1]) + 2
    return end + 2


def nats(s, n):
    verbose = n == 0
    ok, fate = (b"+OK\r\n", "acked") if verbose else (None, "")
    s.say(1, "info", b'INFO {"server_id":"N1","verbose":true,"max_payload":1048576}\r\n')
    s.ask(0, "connect", b'CONNECT {"name":"PUB","verbose":%s,"lang":"none"}\r\n' % (b"true" if verbose else b"false"), ok, "ok", fate)
    s.ask(0, "sub", b"SUB room.* 1\r\n", ok, "ok", fate)
    for i in range(5):
        bad, mute = verbose and i == 3, verbose and i == 4
        body = b"PUB x 3\r\n%d" % i
        s.ask(0, "pub", b"PUB room.%d %d\r\n%s\r\n" % (i, len(body), body),
              None if mute else b"-ERR 'Permissions Violation'\r\n" if bad else ok, "err" if bad else "ok", "rejected" if bad else fate)
    s.say(1, "msg", b"MSG room.1 1 5\r\nhello\r\n")
    if not verbose:
        s.say(1, "hmsg", b"HMSG room.1 1 12 17\r\nNATS/1.0\r\n\r\nhello\r\n")
        s.ask(0, "ping", b"PING\r\n", b"PONG\r\n", "pong")


def redis_size(data):
    """Bytes of the first value, or one more than there are."""
    def value(at):
        end = data.find(b"\r\n", at)
        if end < 0:
            return None
        kind, rest = data[at:at + 1], data[at + 1:end]
        at = end + 2
        if kind == b"$" and rest != b"-1":
            return at + int(rest) + 2
        if kind in b"*>~":
            for _ in range(int(rest)):
                if at is None or at >= len(data):
                    return None
                at = value(at)
        return at
    end = value(0)
    return end if end is not None else len(data) + 1


def redis(s, n):
    def command(*words):
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
    s.ask(0, "ping", command(b"PING"), b"+PONG\r\n", "reply")
    for i in range(5):
        bad = i == 3
        words = (b"INCR", b"text") if bad else [(b"SET", b"k%d" % i, b"*1\r\n$4\r\nPING\r\n"), (b"GET", b"none%d" % i), (b"MGET", b"k1", b"k2")][i % 3]
        answer = b"-ERR value is not an integer or out of range\r\n" if bad else [b"+OK\r\n", b"$-1\r\n", b"*2\r\n$1\r\na\r\n$-1\r\n"][i % 3]
        s.ask(0, "command", command(*words), answer, "error" if bad else "reply", "rejected" if bad else "acked")
    s.ask(0, "command", command(b"SUBSCRIBE", b"room"), b"*3\r\n$9\r\nsubscribe\r\n$4\r\nroom\r\n:1\r\n", "reply")
    s.say(1, "message", b"*3\r\n$7\r\nmessage\r\n$4\r\nroom\r\n$5\r\nhello\r\n")
    s.ask(0, "command", command(b"UNSUBSCRIBE", b"room"))


# Numbers that only counting tells

def iec104(s, n):
    """Each side's I frames are acknowledged by those of the other, or by S frames, all up to a number."""
    sent, received = [0, 0], [0, 0]

    def apdu(body):
        return bytes([0x68, len(body)]) + body

    def frame(side, kind, cause, body):
        head = struct.pack("<HH", sent[side] << 1, received[side] << 1)
        sent[side] += 1
        return apdu(head + bytes([kind, 1, cause, 0]) + struct.pack("<H", 47) + body)

    def acknowledge(side):
        return apdu(struct.pack("<BBH", 1, 0, received[side] << 1))
    s.ask(0, "startdt_act", apdu(b"\7\0\0\0"), apdu(b"\x0b\0\0\0"), "startdt_con")
    for i in range(3):
        # Two measurements, acknowledged together.
        for _ in range(2):
            s.say(1, "i_frame", frame(1, 13, 3, b"\x0b\0\0" + struct.pack("<f", i) + b"\0"))
            s.note_fate("i_frame", "acked")
            received[0] += 1
        s.say(0, "s_frame", acknowledge(0))
    # A command, whose confirmation acknowledges it beside what it says.
    s.say(0, "i_frame", frame(0, 45, 6, b"\x0c\0\0\1"))
    s.note_fate("i_frame", "acked")
    received[1] += 1
    s.say(1, "i_frame", frame(1, 45, 7, b"\x0c\0\0\1"))
    s.note_fate("i_frame", "acked")
    received[0] += 1
    s.say(0, "s_frame", acknowledge(0))
    # One that the connection ends before.
    s.say(0, "i_frame", frame(0, 45, 6, b"\x0c\0\0\0"))
    s.note_fate("i_frame", "unanswered")
    s.ask(1, "testfr_act", apdu(b"\x43\0\0\0"), apdu(b"\x83\0\0\0"), "testfr_con")


def amqp_size(data):
    return 8 if data[:4] == b"AMQP" else counted(3, 4, 8)(data)


def amqp091(s, n):
    """Two channels, the first with confirms; both sides acknowledge one by one and up to a number."""
    def frame(kind, channel, body=b""):
        return struct.pack(">BHI", kind, channel, len(body)) + body + b"\xce"

    def method(channel, group, number, body=b""):
        return frame(1, channel, struct.pack(">HH", group, number) + body)

    def short(text):
        return bytes([len(text)]) + text

    def pair(side, channel, name, group, number, request=b"", answer=b""):
        s.ask(side, name, method(channel, group, number, request), method(channel, group, number + 1, answer), name + "_ok")

    def publish(channel, fate):
        s.say(0, "basic_publish", method(channel, 60, 40, b"\0\0" + short(b"") + short(b"rooms") + b"\0"))
        if fate:
            s.note_fate("basic_publish", fate)
        # The second of them looks like a frame's end and a method.
        s.say(0, "content_header", frame(2, channel, struct.pack(">HHQH", 60, 0, 5, 0)))
        s.say(0, "content_body", frame(3, channel, b"\xce\1\0\1\0"))

    def deliver(channel, tag, fate):
        s.say(1, "basic_deliver", method(channel, 60, 60, short(b"ctag") + struct.pack(">QB", tag, 0) + short(b"") + short(b"rooms")))
        s.note_fate("basic_deliver", fate)
        s.say(1, "content_header", frame(2, channel, struct.pack(">HHQH", 60, 0, 2, 0)))
        s.say(1, "content_body", frame(3, channel, b"hi"))

    def settle(side, channel, name, number, tag, bits):
        s.say(side, name, method(channel, 60, number, struct.pack(">QB", tag, bits)))
    s.say(0, "protocol_header", b"AMQP\0\0\x09\1")
    s.ask(1, "connection_start", method(0, 10, 10, b"\0\x09" + bytes(12)), method(0, 10, 11, bytes(4) + short(b"PLAIN") + bytes(4) + short(b"en_US")),
          "connection_start_ok")
    s.ask(1, "connection_tune", method(0, 10, 30, bytes(8)), method(0, 10, 31, bytes(8)), "connection_tune_ok")
    pair(0, 0, "connection_open", 10, 40, short(b"/") + b"\0\0", b"\0")
    for channel in (1, 2):
        pair(0, channel, "channel_open", 20, 10, b"\0", bytes(4))
    publish(1, None)
    pair(0, 1, "confirm_select", 85, 10, b"\0")
    for fate in ("acked", "acked", "acked", "rejected", "acked", "unanswered"):
        publish(1, fate)
    publish(2, None)
    settle(1, 1, "basic_ack", 80, 3, 1)
    settle(1, 1, "basic_nack", 120, 4, 0)
    settle(1, 1, "basic_ack", 80, 5, 0)
    for i, fate in enumerate(("acked", "rejected", "acked", "acked", "unanswered")):
        deliver(2, i + 1, fate)
    settle(0, 2, "basic_reject", 90, 2, 1)
    # Up to 4, one of which has its answer already.
    settle(0, 2, "basic_ack", 80, 4, 1)
    s.say(0, "heartbeat", frame(8, 0))
    s.say(1, "heartbeat", frame(8, 0))
    pair(0, 0, "connection_close", 10, 50, struct.pack(">HB", 200, 0) + bytes(4))


ALL = {name: conversation(name, port, whole, run) for name, port, whole, run in [
    ("cmpp-gateway.pcap", 7890, counted(0, 4, 0), cmpp),
    ("sgip-gateway.pcap", 8801, counted(0, 4, 0), sgip),
    ("smgp-gateway.pcap", 8890, counted(0, 4, 0), smgp),
    ("gbt32960-vehicles.pcap", 32960, counted(22, 2, 25), gbt32960),
    ("modbus-registers.pcap", 502, counted(4, 2, 6), modbus),
    ("wukongim-chat.pcap", 5100, variable(1, (0x70, 0x80)), wukongim),
    ("turms-chat.pcap", 11510, variable(0), turms),
    ("teamtalk-chat.pcap", 8000, counted(0, 4, 0), teamtalk),
    ("socketio-chat.pcap", 3000, web_size, socketio),
    ("ocpp-charging.pcap", 9000, web_size, ocpp),
    ("phoenix-room.pcap", 4000, web_size, phoenix),
    ("signalr-hub.pcap", 5000, web_size, signalr),
    ("stomp-queue.pcap", 61613, stomp_size, stomp),
    ("nats-rooms.pcap", 4222, nats_size, nats),
    ("redis-keys.pcap", 6379, redis_size, redis),
    ("iec104-station.pcap", 2404, counted(1, 1, 2), iec104),
    ("amqp091-confirms.pcap", 5672, amqp_size, amqp091),
]}
