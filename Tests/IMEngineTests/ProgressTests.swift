import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Reports on connections while they live.
@Suite struct ProgressTests {
  /// One connection with a message every 10 s for `seconds`; its handshake at 0.
  private func talk(_ seconds: Int64, closes: Bool = false) -> [TimedPacket] {
    Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      for second in stride(from: Int64(1), to: seconds, by: 10) {
        talk.send(Scene.text(UInt32(second)), .clientToServer, at: Scene.ms(second * 1_000))
      }
      if closes { talk.close(.fin(by: .clientToServer), at: Scene.ms(seconds * 1_000)) }
    }
  }

  private func run(_ packets: [TimedPacket], batches: Int = .max) -> Run {
    Run(packets, batches: batches) { $0.needs.insert(.progress) }
  }

  @Test func everyMinuteOfAConnectionIsReported() {
    let reports = run(talk(200)).heard.reports
    #expect(reports.map(\.isFinal) == [false, false, false, true])
    // The plan is chosen with the first message, at 1 s; a report is made with the first packet behind its minute.
    #expect(
      reports.map { $0.madeAt.nanoseconds(since: Scene.ms(0)) / 1_000_000 } == [61_000, 121_000, 181_000, 191_000])
    #expect(reports.map(\.reason) == [.open, .open, .open, .open])
    let frames = reports.compactMap(\.figures).map { $0.frames[0] }
    #expect(frames == [6, 12, 18, 20])
  }

  @Test func nobodyIsToldWhoDidNotAsk() {
    #expect(Run(talk(200)).heard.reports.map(\.isFinal) == [true])
  }

  @Test func theReportsDoNotDependOnTheBatches() {
    func times(_ batches: Int) -> [Timestamp] { run(talk(400), batches: batches).heard.reports.map(\.madeAt) }
    #expect(times(1) == times(.max))
    #expect(times(7) == times(.max))
  }

  @Test func aConnectionThatIsOverIsReportedOnceMore() {
    let closed = talk(70, closes: true)
    let later = Scene.talk(initial: (70_000, 90_000)) { talk in
      for second in stride(from: Int64(71), to: 300, by: 5) {
        talk.send(Scene.text(UInt32(second)), .clientToServer, at: Scene.ms(second * 1_000))
      }
    }
    let reports = run(closed + later).heard.reports.filter { $0.info.serial == 1 }
    // Its messages were not answered: that it is over is told at once, and what it counted when no answer can come.
    #expect(reports.map(\.isFinal) == [false, false, true])
    #expect(reports.map { $0.reason == .open } == [true, false, false])
  }

  /// The packets after a silence trigger the report for the minute in which the silence began. The reports after it are the same as
  /// without the silence.
  @Test func aLongSilenceIsOneReport() {
    var packets = talk(30)
    packets += Scene.talk { talk in
      talk.send(Scene.text(1), .serverToClient, at: Scene.ms(3_600_000))
      talk.send(Scene.text(2), .serverToClient, at: Scene.ms(3_630_000))
      talk.send(Scene.text(3), .serverToClient, at: Scene.ms(3_661_000))
    }
    let reports = run(packets).heard.reports
    #expect(reports.map(\.isFinal) == [false, false, false, true])
    #expect(reports.map { $0.madeAt.nanoseconds(since: Scene.ms(0)) / 1_000_000_000 } == [61, 3_601, 3_661, 3_661])
  }

  /// Reports are made at clock ticks. They are the same if packets of other connections advance the clock during a connection's silences.
  @Test func reportsDependOnTheConnectionAlone() throws {
    let own = Scene.talk { talk in
      talk.open(at: Scene.ms(17))
      for second in [1, 11, 55, 61, 62, 300, 302, 359, 365, 430] {
        talk.send(Scene.text(UInt32(second)), .clientToServer, at: Scene.ms(Int64(second) * 1_000 + 33))
      }
    }
    var other = ConversationBuilder(
      client: Endpoint(address: Talk.phone.address, port: 40_002), server: Talk.server(8_080), initial: (7, 9))
    other.open(at: Scene.ms(-900))
    for step in Int64(0)..<1_500 {
      let frame = TJPFrameBuilder(text: "other", sequence: UInt32(step + 1), session: 77)
      other.send(frame.bytes, .clientToServer, at: Scene.ms(step * 301))
    }
    let both = (own + other.packets).enumerated().sorted {
      ($0.element.timestamp, $0.offset) < ($1.element.timestamp, $1.offset)
    }.map(\.element)
    func reports(_ run: Run) -> [Timestamp: String] {
      let own = run.heard.reports.filter { $0.info.client == Talk.phone && !$0.isFinal }
      #expect(Set(own.map(\.madeAt)).count == own.count)
      let texts = own.map { report in
        let frames = report.figures.map { "\($0.frames[0]) frames, \($0.unsettled) open" } ?? "-"
        return (report.madeAt, "\(report.packets[0]) packets, \(frames), last \(report.lastSeen)")
      }
      return Dictionary(texts) { first, _ in first }
    }
    let (alone, together) = (reports(run(own)), reports(run(both)))
    let times = alone.keys.sorted().map { $0.nanoseconds(since: Scene.ms(0)) / 1_000_000 }
    // The silence from 62 to 300 s has one report instead of four.
    #expect(times == [61_000, 121_000, 301_000, 361_000, 421_000])
    #expect(together.count == 7)
    for (at, text) in alone { #expect(together[at] == text) }
  }

  @Test(.timeLimit(.minutes(1)))
  func theEndOfTimeIsNoTrap() {
    var packets = talk(30)
    let last = packets[packets.count - 1]
    packets.append(TimedPacket(last, at: .distantFuture))
    packets.append(TimedPacket(last, at: .distantFuture))
    #expect(run(packets).heard.reports.last?.isFinal == true)
  }

  /// A connection whose beginning was not captured is counted, however it ends.
  @Test(arguments: [false, true])
  func connectionsWithoutASYNAreCounted(_ closes: Bool) {
    let packets = Scene.talk { talk in
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(0))
      talk.send(Scene.text(2), .clientToServer, at: Scene.ms(500))
      if closes { talk.close(.fin(by: .clientToServer), at: Scene.ms(1_000)) }
    }
    #expect(Run(packets).ledger.midstreamConnections == 1)
    #expect(Run(talk(10, closes: closes)).ledger.midstreamConnections == 0)
  }

  @Test func bytesBehindTheLastFrameAreTold() {
    let run = Run(
      Scene.talk { talk in
        talk.open(at: Scene.ms(0))
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(100))
        talk.send([UInt8](repeating: 0x55, count: 500), .clientToServer, at: Scene.ms(200))
        talk.close(.fin(by: .clientToServer), at: Scene.ms(300))
      })
    let told = run.issues.filter { $0.kind == .resynchronised }
    #expect(told.map(\.byteCount) == [500])
    #expect(told.map(\.streamOffset) == [UInt64(Scene.text(1).count)])
    #expect(run.ledger.strayBytes == 500)
  }
}
