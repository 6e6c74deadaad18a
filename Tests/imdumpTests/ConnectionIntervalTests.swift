import Foundation
import IMTestSupport
import IMWire
import Testing

/// `--connection-interval`: documents of connections that live.
@Suite struct ConnectionIntervalTests {
  private static let server = Endpoint(address: IPAddress(v4: 0xc000_0201), port: 8080)
  private static let start: Int64 = 1_700_000_000_000

  /// A client that sends a heartbeat every 30 s for `minutes`; those in `missed` are not answered, and messages are sent at `messages`, in seconds.
  private static func client(
    _ number: UInt32, minutes: Int64, missed: Set<Int64> = [], messages: [Int64] = [], lost: Set<Int64> = []
  ) -> [TimedPacket] {
    func at(_ milliseconds: Int64) -> Timestamp {
      Timestamp(milliseconds: start + Int64(number) * 7 + milliseconds)
    }
    let session = UInt16(truncatingIfNeeded: number)
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0001 + number), port: 20_000), server: server)
    talk.open(at: at(0))
    var sequence: UInt32 = 0
    let beats = Array(stride(from: Int64(10), to: minutes * 60, by: 30))
    for second in (beats + messages).sorted() {
      sequence += 1
      let isMessage = messages.contains(second)
      var frame =
        isMessage
        ? TJPFrameBuilder(text: "hello", sequence: sequence, session: session)
        : TJPFrameBuilder.heartbeat(sequence: sequence, session: session)
      frame.timestamp = UInt32(at(second * 1_000).seconds)
      talk.send(frame.bytes, .clientToServer, at: at(second * 1_000))
      guard !missed.contains(second), !lost.contains(second) else { continue }
      var answer = TJPFrameBuilder.echoACK(of: sequence, session: session)
      answer.timestamp = frame.timestamp
      talk.send(answer.bytes, .serverToClient, at: at(second * 1_000 + 20))
    }
    talk.close(.fin(by: .clientToServer), at: at(minutes * 60_000))
    return talk.packets
  }

  private static func documents(_ packets: [TimedPacket], _ words: [String]) throws -> [(
    line: Substring, object: [String: Any]
  )] {
    let scratch = try Scratch()
    let sorted = packets.sorted { $0.timestamp < $1.timestamp }
    let path = try scratch.file("a.pcap", CaptureBuilder(sorted).pcap())
    let result = try Command.run(["-r", path, "--format", "ecs", "-q"] + words)
    #expect(result.status == 0 && result.errors == "")
    return try result.output.split(separator: "\n").map { line in
      (line, try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:])
    }
  }

  private static func value(_ object: [String: Any], _ path: String) -> Any? {
    path.split(separator: ".").reduce(object as Any?) { ($0 as? [String: Any])?[String($1)] }
  }

  /// The minutes, counted from its first frame, at whose ends a client's connection has a document; -1 for its end.
  private static func minutes(_ packets: [TimedPacket], _ which: String?) throws -> [Int] {
    let words = which.map { ["--connection-interval", $0] } ?? []
    return try documents(packets, words).compactMap { _, object in
      guard value(object, "event.dataset") as? String == "imdump.connection" else { return nil }
      if value(object, "imdump.conn.final") as? Bool == true { return -1 }
      let time = value(object, "@timestamp") as? String ?? ""
      let date = try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(time)
      return Int(((date.timeIntervalSince1970 - Double(start) / 1_000) / 60).rounded())
    }
  }

  /// An answered heartbeat is nothing to tell of; a message, a lost one and a missed heartbeat are.
  @Test func onlyWhereSomethingHappened() throws {
    let quiet = Self.client(1, minutes: 8)
    #expect(try Self.minutes(quiet, nil) == [-1])
    #expect(try Self.minutes(quiet, "active") == [-1])
    #expect(try Self.minutes(quiet, "off") == [-1])
    #expect(try Self.minutes(quiet, "all").count >= 7)
    let message = Self.client(1, minutes: 8, messages: [200])
    #expect(try Self.minutes(message, nil) == [4, -1])
    // What is lost is known 6 s and more after it was sent.
    let lost = Self.client(1, minutes: 8, messages: [290], lost: [290])
    #expect(try Self.minutes(lost, nil) == [5, -1])
    let missed = Self.client(1, minutes: 8, missed: [130])
    #expect(try Self.minutes(missed, nil) == [3, -1])
    #expect(try Self.minutes(missed, "off") == [-1])
  }

  /// A document counts what came since the one before that was written: the sum over all is that of the connection.
  @Test(arguments: ["active", "all", "off"])
  func differencesAddUp(_ which: String) throws {
    let packets = Self.client(1, minutes: 9, missed: [130], messages: [75, 77, 305], lost: [77])
    let documents = try Self.documents(packets, ["--connection-interval", which]).map(\.object).filter {
      Self.value($0, "event.dataset") as? String == "imdump.connection"
    }
    // The only document of a connection that has no others counts everything.
    let all = try Self.documents(packets, ["--connection-interval", "off"]).map(\.object).last {
      Self.value($0, "imdump.conn.final") as? Bool == true
    }
    for (name, expected) in [("messages", 3), ("unanswered", 1), ("heartbeats_missed", 1), ("bytes", nil)] {
      let sum = documents.compactMap { Self.value($0, "imdump.conn.delta.\(name)") as? Int }.reduce(0, +)
      #expect(sum == all.flatMap { Self.value($0, "imdump.conn.delta.\(name)") as? Int } && sum > 0, "\(name)")
      if let expected { #expect(sum == expected, "\(name)") }
    }
    #expect(documents.last.flatMap { Self.value($0, "imdump.conn.final") as? Bool } == true)
    let numbers = documents.compactMap { Self.value($0, "imdump.conn.report") as? Int }
    #expect(numbers == Array(1...documents.count))
  }

  /// 100,000 clients that connect once a day and only send heartbeats, which are answered, cost less than 1 GB of JSON a day: from 100 of them in
  /// 10 minutes, the documents of each client times 100,000, and all others by the minute.
  @Test func aDayOfHeartbeats() throws {
    let minutes: Int64 = 10, clients: UInt32 = 100
    let packets = (0..<clients).flatMap { Self.client($0, minutes: minutes) }
    var ofClients = 0, others = 0, ends = 0
    for (line, object) in try Self.documents(packets, []) {
      let dataset = Self.value(object, "event.dataset") as? String
      if dataset == "imdump.connection" || dataset == "imdump.weird" || dataset == "imdump.message" {
        ofClients += line.utf8.count + 1
        ends += 1
      } else {
        others += line.utf8.count + 1
      }
    }
    #expect(ends == Int(clients))
    let day = Double(ofClients) / Double(clients) * 100_000 + Double(others) / Double(minutes) * 1_440
    #expect(day < 1e9 && day > 1e8, "\(day) of \(ofClients / Int(clients)) and \(others)")
    // With documents every 60 s it would be a thousand times as much.
    let all = try Self.documents(packets, ["--connection-interval", "all"]).filter {
      Self.value($0.object, "event.dataset") as? String == "imdump.connection"
    }
    #expect(all.count >= Int(clients) * 10)
    let bytes = all.filter { Self.value($0.object, "imdump.conn.final") as? Bool == false }.map {
      $0.line.utf8.count + 1
    }
    let each = Double(bytes.reduce(0, +)) / Double(max(1, bytes.count))
    #expect(each * 1_440 * 100_000 > 400 * day, "\(each)")
  }
}
