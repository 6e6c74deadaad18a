import Testing

@testable import IMBrowser

/// What the screen of messages says of the selected one, in sentences.
@Suite struct DetailWordsTests {
  private static let sent = [
    ("type", "data"), ("profile", "tjp"), ("role", "message"), ("dir", "c2s"), ("len", "20"), ("seq", "14209859"),
    ("packet", "13"), ("capture", "/var/pcap/night.pcap"), ("conn", "1"), ("client", "192.0.2.77:50110"),
    ("server", "203.0.113.10:8080"), ("session", "77"), ("crc", "be"), ("comp", "none"), ("retries", "0"),
    ("dup_after_ack", "0"), ("late", "0"),
  ]

  private func sentences(_ more: [(String, String)]) -> [String] {
    DetailWords((more + Self.sent).map { (name: $0.0, value: $0.1) }).sentences(time: "08:53:24.610")
  }

  private let begin = [
    "data of tjp, a message from client to server: 20 bytes, number 14209859",
    "sent at 08:53:24.610, in packet 13 of night.pcap",
  ]
  private let place = "connection #1 of 192.0.2.77:50110 to 203.0.113.10:8080, session 77"

  @Test func answered() {
    #expect(sentences([("fate", "acked"), ("rtt_us", "26600")]) == begin + ["answered after 26.6 ms", place])
    #expect(
      sentences([("fate", "acked"), ("rtt_us", "51"), ("status", "0"), ("status_name", "ok"), ("late", "1")])
        == begin + ["answered after 51 µs with status 0 (ok), later than its timeout", place])
    #expect(
      sentences([
        ("fate", "rejected"), ("rtt_us", "28000"), ("status", "135"), ("status_name", "not authorized"),
        ("cause", "status"),
      ])
        == begin + ["rejected after 28.0 ms with status 135 (not authorized)", place])
  }

  @Test func sentAgain() {
    #expect(
      sentences([
        ("fate", "acked_after_retry"), ("rtt_us", "3027000"), ("retries", "1"), ("dup_after_ack", "2"),
        ("read_us", "5030000"),
      ])
        == begin + [
          "answered after 3.03 s from the first copy, after a retry", "read after 5.03 s",
          "sent again once before the answer, twice after it", place,
        ])
    #expect(
      sentences([("fate", "unanswered"), ("cause", "peer"), ("retries", "4")])
        == begin + [
          "lost, without an answer: the other side's TCP acknowledged it, and no answer came", "sent again 4 times",
          place,
        ])
  }

  @Test func whatIsNotKnownIsNotSaid() {
    let none = DetailWords([(name: "type", value: "push"), (name: "fate", value: "pending")])
    #expect(
      none.sentences(time: "08:00:00.000") == [
        "push from client to server", "sent at 08:00:00.000", "still without an answer when the capture ended",
      ])
    #expect(DetailWords([]).sentences(time: "08:00:00.000") == ["sent at 08:00:00.000"])
    #expect(
      sentences([
        ("fate", "damaged"), ("crc", "bad"), ("carrier", "[\"tls\",\"websocket\"]"), ("via", "10.0.0.5:40107"),
      ])
        == begin + [
          "lost, damaged",
          "connection #1 of 192.0.2.77:50110 to 203.0.113.10:8080, through 10.0.0.5:40107, in tls, websocket, session 77",
          "the checksum of its first copy is wrong",
        ])
  }
}
