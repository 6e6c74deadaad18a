import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// However a stream is cut into segments, the same messages come out of it.
@Suite struct CutTests {
  static let protocols = Chat.allCases

  /// One 1-byte piece after the other, every single cut, pairs of cuts (in a long run all), and cuts at random.
  @Test(arguments: protocols) func everyCut(_ chat: Chat) {
    let stream = CutStreams.messages(chat).flatMap { $0 }
    var cuts: [[Int]] = [[], Array(1..<stream.count)]
    for first in 1..<stream.count {
      cuts.append([first])
      for second in LongRun.some(first + 1..<stream.count) { cuts.append([first, second]) }
    }
    var random = SeededRandom(3)
    for _ in 0..<200 {
      let count = Int.random(in: 3...20, using: &random)
      cuts.append(Set((0..<count).map { _ in Int.random(in: 1..<stream.count, using: &random) }).sorted())
    }
    // Each cutting is a connection of its own; a few thousand go through one engine.
    for first in stride(from: 0, to: cuts.count, by: 4_000) {
      let part = Array(cuts[first..<min(first + 4_000, cuts.count)])
      let packets = part.enumerated().flatMap {
        CutStreams.connection(
          $0.offset, chat, CutStreams.messages(chat, $0.offset).flatMap { $0 }, cuts: $0.element)
      }
      expect(Run(packets) { $0.verifiesChecksums = false }, chat, part)
    }
  }

  /// What every connection must give: the frames, each at the time of the segment that had its last byte, and their fates.
  private func expect(_ run: Run, _ chat: Chat, _ cuts: [[Int]]) {
    run.expectLedgerAddsUp()
    let frames = Dictionary(grouping: run.frames.filter { $0.direction == .clientToServer }, by: \.connection)
    let exchanges = Dictionary(grouping: run.heard.finished, by: \.connection)
    #expect(frames.count == cuts.count)
    for (i, cut) in cuts.enumerated() {
      let found = frames[UInt32(i + 1)] ?? []
      let messages = CutStreams.messages(chat, i)
      var ends: [Int] = []
      for message in messages { ends.append((ends.last ?? 0) + message.count) }
      let times = ends.map { end in CutStreams.time(i, cut.count { $0 < end }) }
      if found.map(\.bytes) != messages { Testing.Issue.record("\(chat) cut at \(cut): other frames") }
      if found.map(\.timestamp) != times { Testing.Issue.record("\(chat) cut at \(cut): other times") }
      if found.map(\.streamOffset) != [0] + ends.dropLast().map(UInt64.init) {
        Testing.Issue.record("\(chat) cut at \(cut): other offsets")
      }
      let fates = (exchanges[UInt32(i + 1)] ?? []).sorted { $0.id < $1.id }.map(\.fate)
      if fates != CutStreams.fates(chat) { Testing.Issue.record("\(chat) cut at \(cut): \(fates)") }
    }
  }

  /// Every prefix gives its whole frames, and what is left of it is told to the byte.
  @Test(arguments: protocols) func everyPrefix(_ chat: Chat) {
    let messages = CutStreams.messages(chat)
    let stream = messages.flatMap { $0 }
    for count in 1...stream.count {
      let prefix = [UInt8](stream[..<count])
      let run = Run(CutStreams.connection(0, chat, prefix, cuts: [], answers: false)) { $0.verifiesChecksums = false }
      var whole: [[UInt8]] = []
      var used = 0
      for message in messages {
        guard used + message.count <= count else { break }
        whole.append(message)
        used += message.count
      }
      // A protocol without a magic number is known by its first whole message.
      let isKnown = !whole.isEmpty || (chat == .tjp && count >= 28)
      #expect(run.frames.map(\.bytes) == whole, "\(count) bytes")
      #expect(run.ledger.strayBytes == (isKnown ? UInt64(count - used) : 0), "\(count) bytes")
      #expect(run.ledger.unreadBytes == (isKnown ? 0 : UInt64(count)), "\(count) bytes")
      let cut = run.issues.filter { $0.kind == .frameCut }
      let expected = isKnown && count > used ? [[UInt64(used), UInt64(count - used)]] : []
      #expect(cut.map { [$0.streamOffset, $0.byteCount] } == expected, "\(count) bytes")
      run.expectLedgerAddsUp("\(count) bytes")
    }
  }

  /// How packets are put into batches makes no difference.
  @Test(arguments: [1, 2, 7, 64]) func everyBatchSize(_ size: Int) throws {
    let packets = Chat.tjp.talk(.across).packets + Chat.mqtt.talk(.several).packets
    let whole = Run(packets)
    let parts = Run(packets, batches: size)
    #expect(parts.frames == whole.frames)
    #expect(parts.heard.finished.map(\.fate) == whole.heard.finished.map(\.fate))
  }

  /// The same of captures that are drawn: in every thing that is told, and in its order and time.
  @Test(arguments: UInt64(0)..<UInt64(LongRun.times(6, of: 32))) func everyBatchOfDrawn(_ seed: UInt64) throws {
    let capture = DrawnCapture.capture(seed)
    func told(_ batches: Int) -> Told {
      Told(Run(capture.packets, plans: Plans.usual, snapLength: capture.snapLength, batches: batches))
    }
    let whole = told(.max)
    for size in [1, 2, 7, 64, 1_024] { #expect(told(size) == whole, "batches of \(size)") }
  }

  /// One batch ends behind any packet.
  @Test(arguments: [UInt64(101), 105, 108, 110]) func everyPlaceOfACut(_ seed: UInt64) throws {
    var capture = DrawnCapture.capture(seed)
    capture.packets = Array(capture.packets.prefix(LongRun.times(40, of: 120)))
    let whole = Told(Run(capture.packets, plans: Plans.usual, snapLength: capture.snapLength))
    for place in 1..<capture.packets.count {
      let run = Run(capture.packets, plans: Plans.usual, snapLength: capture.snapLength, cut: place)
      #expect(Told(run) == whole, "behind \(place) packets")
    }
  }

  /// Everything that an engine tells, to be compared.
  private struct Told: Equatable {
    var frames: [SeenFrame]
    var issues, opened, ended, finished, carriers: [String]
    var last: Timestamp?

    init(_ run: Run) {
      frames = run.frames
      issues = run.heard.issues.map { "\($0)" }
      opened = run.heard.opened.map { "\($0)" }
      ended = run.heard.reports.map {
        "\($0.info) \($0.madeAt) \($0.reason) \($0.isFinal) \($0.lastSeen) \(String(describing: $0.closedAt)) "
          + "\(String(describing: $0.figures)) \($0.rare) \($0.segments[0]) \($0.segments[1]) \($0.gapCount)"
      }
      finished = run.heard.finished.map { "\($0)" }
      carriers = run.heard.carriers.map { "\($0)" }
      last = run.ledger.lastAt
    }
  }

  /// What the bodies hold, counted out by hand.
  @Test func bodies() throws {
    let run = Run(CutStreams.connection(0, .tjp, CutStreams.messages(.tjp).flatMap { $0 }, cuts: [30])) {
      $0.verifiesChecksums = false
    }
    let frames = run.frames.filter { $0.direction == .clientToServer }
    try #require(frames.count == 5)
    #expect(frames.map(\.type) == [3, 0, 0, 1, 4])
    #expect(frames.map(\.sequence) == [0x0200_0001, 7, 8, 0x0100_0001, 9])
    #expect(frames.map(\.status) == [.be, .be, .le, .none, .be])
    #expect(frames[1].fields.map(\.tag) == [0x1001, 0xffff, 0x1001])
    #expect(frames[1].fields.map(\.depth) == [0, 0, 1])
    #expect(frames[1].fields.map(\.isList) == [false, true, false])
    #expect(frames[1].fields[2].value == [UInt8]("in".utf8))
    #expect(frames[2].flags.contains(.inflated))
    #expect(frames[2].fields.map(\.value) == [[UInt8]("zzzzzzzzzzzz".utf8)])
  }
}
