"""Captures of the two relatives of tjp: the older header of 20 bytes, and the header of 28 with the article's types.

The bytes are laid out here by hand; nothing of them is shared with the decoder, or with wire.py.
"""
import struct
import zlib

from .requests import START, Capture, Talk
from .tcp import SECOND

START_SECOND = 1_760_000_000


def whole(data, header, place):
    """Bytes of the first frame; more than there are as long as its header is not whole."""
    return header + struct.unpack_from(">I", data, place)[0] if len(data) >= header else header


def older(kind, sequence, body=b"", turned=False):
    """A frame of tjp-v2. Its client writes the checksum in its machine's byte order: `turned`."""
    sum_ = zlib.crc32(body) if body else 0
    return (struct.pack(">IBBHII", 0xDECAFBAD, 0, 0, kind, sequence, len(body))
            + struct.pack("<I" if turned else ">I", sum_) + body)


def tjp_v2():
    capture = Capture(44, small_cuts=90)
    server = ("203.0.113.11", 8080)
    for n, client in enumerate(("192.0.2.61", "192.0.2.62")):
        talk = Talk(capture, (client, 44000 + n), server, n / 4, lambda b: whole(b, 20, 12))
        numbers = iter(range(1 + 100 * n, 1000))
        talk.ask(0.05, 0, *beat(next(numbers)), 0.02)
        for said in range(6):
            words = ("message %d of client %d" % (said, n)).encode() + b"." * (said * 700)
            number = next(numbers)
            # The second client's fourth message gets no answer, and is sent again after 3 s with the same number.
            answer = older(3, number)
            if (n, said) == (1, 3):
                request = older(1, number, words, turned=True)
                talk.say(2 + said, 0, request)
                talk.say(5 + said, 0, request)
                talk.clock.at(START + 7 * SECOND, talk.answers.__setitem__, (1, request), [(answer, 0.03)])
            else:
                talk.ask(2 + said, 0, older(1, number, words, turned=True), answer, 0.02 + said / 200)
        for number in range(2):
            # What the server says has numbers of its own, and sums the right way round; two of them in one go.
            talk.answers[(0, older(1, 1 + number, b"from the server"))] = [(older(3, 1 + number), 0.02)]
        talk.say(10, 1, older(1, 1, b"from the server"), older(1, 2, b"from the server"))
        for turn in range(3):
            request, answer = beat(next(numbers))
            # One heartbeat stays without an answer.
            talk.ask(30 + 30 * turn, 0, request, None if (n, turn) == (0, 1) else answer, 0.01)
        talk.ask(95, 0, older(1, next(numbers), b"nobody answers", turned=True))
        talk.close(110 + n)
    return capture.run(115)


def beat(sequence):
    return older(2, sequence), older(2, sequence) if sequence % 2 else older(3, sequence)


def article(at, kind, sequence, session, body=b"", turned=False):
    """A frame of tjp-article, sent `at` seconds after the beginning."""
    sum_ = zlib.crc32(body) if body else 0
    return (struct.pack(">IBBHIIBBHI", 0xDECAFBAD, 1, 0, kind, sequence, START_SECOND + int(at), 0, 0, session, len(body))
            + struct.pack("<I" if turned else ">I", sum_) + body)


def field(tag, value):
    return struct.pack(">HI", tag, len(value)) + value


def tjp_article():
    capture = Capture(45, small_cuts=90)
    server = ("203.0.113.12", 8080)
    for n, (client, session) in enumerate((("192.0.2.71", 0x4D2A), ("192.0.2.72", 0x9B01))):
        talk = Talk(capture, (client, 45000 + n), server, n / 4, lambda b: whole(b, 28, 20))

        def ask(at, kind, number, body=b"", answered=True, delay=0.02):
            talk.ask(at, 0, article(at, kind, number, session, body),
                     article(at, 0x2001, number, session) if answered else None, delay)

        first = 500 + 40 * n
        ask(0.05, 0x3001, 0x01000000 + first)
        ask(1, 0x1001, first, field(0x1001, "第一条消息 %d".encode() % n))
        ask(2, 0x1002, first + 1, field(0x1002, bytes(range(256)) * 20), delay=0.05)
        ask(3, 0x1003, first + 2, field(0x1003, b"%PDF-1.4") + field(0xFFFF, field(0x1001, b"paper.pdf")))
        ask(4, 0xF000, first + 3, field(0xF001, b"custom"))
        # The application's own types go on: the fifth has no name in the profile.
        ask(5, 0xF005, first + 4, field(0xF005, b"no name"))
        ask(6, 0x1001, first + 5, field(0x1001, b"nobody answers"), answered=False)
        talk.ask(9, 0, article(9, 0x1001, first + 5, session, field(0x1001, b"nobody answers")),
                 article(9, 0x2001, first + 5, session) if n else None, 0.03)
        # The client acknowledges with a number of its own, and names the server's in the body.
        pushed = article(12, 0x1001, 700 + n, session, field(0x1001, b"pushed"), turned=True)
        talk.ask(12, 1, pushed, article(12, 0x2001, first + 6, session, struct.pack(">I", 700 + n)), 0.02)
        for turn in range(3):
            ask(30 + 29 * turn, 0x3001, 0x01000001 + first + turn, answered=(n, turn) != (1, 2), delay=0.008)
        talk.close(104 + n)
    return capture.run(108)


ALL = {"tjp-v2-chat.pcap": tjp_v2, "tjp-article-chat.pcap": tjp_article}
