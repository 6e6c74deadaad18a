import IMEngine
import IMInference
import IMProfile
import IMTestSupport
import Testing

/// Protocols whose headers are drawn, and what is guessed of them.
@Suite struct FramingTests {
  @Test(arguments: 0..<(LongRun.isWanted ? 96 : 12)) func drawnHeadersAreFound(seed: Int) throws {
    var random = SeededRandom(UInt64(seed) &* 0x9e37_79b9 &+ 11)
    let truth = DrawnProtocol(&random)
    let (samples, boundaries) = truth.samples(&random)
    let guess = try #require(GuessedProtocol(samples, seconds: 0...0), "\(truth)")
    #expect(guess.framing.frameCount == boundaries.count, "\(truth): \(guess.framing.hypothesis)")
    #expect(guess.framing.explainedCount == guess.framing.byteCount, "\(truth)")
    #expect(guess.table.entries.count == boundaries.count)
    guard case .length(let place, let adds) = guess.framing.hypothesis else {
      Issue.record("\(truth): \(guess.framing.hypothesis)")
      return
    }
    #expect(adds == truth.countsFrom, "\(truth)")
    #expect(place.offset < truth.length.end && truth.length.offset < place.end, "\(truth): \(place)")
    // The number that both read is the same in a frame of any length that the samples have.
    #expect(place.size == 1 || place.isLittleEndian == truth.length.isLittleEndian, "\(truth): \(place)")
    if let sum = truth.checksum {
      let found = try #require(guess.checksum, "\(truth)")
      #expect(found.algorithm == sum.algorithm && found.place == .header(sum.offset), "\(truth)")
      #expect(found.range == .from(truth.header) && found.right == found.count, "\(truth): \(found)")
    } else {
      #expect(guess.checksum == nil, "\(truth): \(String(describing: guess.checksum))")
    }
    let type = try #require(guess.type, "\(truth)")
    #expect(type.place.offset <= truth.type.offset && truth.type.end <= type.place.end, "\(truth): \(type.place)")
    #expect(guess.kinds.count == truth.types.count, "\(truth): \(type.place)")
    if let sequence = truth.sequence {
      let found = try #require(guess.number, "\(truth)")
      #expect(found.isCounter)
      #expect(found.place.offset < sequence.end && sequence.offset < found.place.end, "\(truth): \(found.place)")
    }
  }

  /// What is written is a profile, whatever was drawn.
  @Test(arguments: 0..<(LongRun.isWanted ? 32 : 8)) func skeletonsCompile(seed: Int) throws {
    var random = SeededRandom(UInt64(seed) &+ 7_000)
    let truth = DrawnProtocol(&random)
    let guess = try #require(GuessedProtocol(truth.samples(&random, frames: 30).samples, seconds: 0...0), "\(truth)")
    #expect(ProfileSkeleton.refusal(guess) == nil)
    for proof in ProfileSkeleton.proofs(guess) {
      let text = ProfileSkeleton.text(guess, name: "drawn", ports: [7000], notes: [], proof: proof, outcome: nil)
      let plan = try ProfileCompiler.compile(text, source: "drawn.yaml")
      #expect(plan.name == "drawn" && plan.ports == [7000])
      #expect(plan.typeNames.count == max(1, guess.kinds.count))
    }
  }

  /// A capture that begins in the midst of connections, and lacks a chunk of each.
  @Test(arguments: 0..<(LongRun.isWanted ? 40 : 6)) func gapsAreSteppedOver(seed: Int) throws {
    var random = SeededRandom(UInt64(seed) &+ 300)
    let truth = DrawnProtocol(&random)
    let (samples, _) = truth.samples(&random)
    let cut = samples.map { sample -> StreamSample in
      let first = sample.starts.first { $0.offset > 0 }?.offset ?? 0
      let hole = sample.starts[sample.starts.count / 2].offset
      let after = sample.starts[sample.starts.count / 2 + 1].offset
      let bytes = Array(sample.bytes[first..<hole]) + Array(sample.bytes[after...])
      let starts = sample.starts.compactMap { start -> SegmentStart? in
        if start.offset < first || hole..<after ~= start.offset { return nil }
        let offset = start.offset < hole ? start.offset - first : start.offset - after + hole - first
        return SegmentStart(offset: offset, packet: start.packet)
      }
      return StreamSample(
        connection: sample.connection, direction: sample.direction, isFromStart: false, bytes: bytes,
        runs: [0..<hole - first, hole - first..<bytes.count], starts: starts)
    }
    let guess = try #require(GuessedProtocol(cut, seconds: 0...0), "\(truth)")
    guard case .length(_, let adds) = guess.framing.hypothesis else {
      Issue.record("\(truth): \(guess.framing.hypothesis)")
      return
    }
    #expect(adds == truth.countsFrom, "\(truth)")
    #expect(guess.framing.explainedCount * 100 >= guess.framing.byteCount * 97, "\(truth)")
  }

  /// What the clients of four connections send: `count` packets, each of the bytes that `packet` makes of its number.
  private static func connections(
    of count: Int, seed: UInt64, _ packet: (Int, inout SeededRandom) -> [UInt8]
  ) -> [StreamSample] {
    var random = SeededRandom(seed)
    return (0..<4).map { connection in
      var bytes: [UInt8] = []
      var starts: [SegmentStart] = []
      for number in 0..<count {
        starts.append(SegmentStart(offset: bytes.count, packet: UInt64(number)))
        bytes += packet(number, &random)
      }
      return StreamSample(
        connection: connection, direction: 0, isFromStart: true, bytes: bytes, runs: [0..<bytes.count], starts: starts)
    }
  }

  /// A length of four bytes in front of JSON: its upper half is 0, and no length of empty frames.
  @Test(arguments: [2, 4]) func aLongLengthIsOne(size: Int) throws {
    let samples = Self.connections(of: 60, seed: 7) { packet, random in
      let text = String(repeating: "x", count: Int.random(in: 0...150, using: &random))
      let body = Array(#"{"id":\#(packet),"op":"say","text":"\#(text)"}"#.utf8)
      return (0..<size).reversed().map { UInt8(truncatingIfNeeded: body.count >> (8 * $0)) } + body
    }
    let framing = try #require(GuessedProtocol(samples, seconds: 0...0)).framing
    #expect(framing.hypothesis == .length(NumberPlace(offset: 0, size: size), adds: size))
    #expect(framing.frameCount == 240)
  }

  @Test func linesAreFound() throws {
    let samples = Self.connections(of: 40, seed: 5) { _, random in
      let word = ["NICK", "JOIN", "PRIVMSG", "PING"][Int.random(in: 0..<4, using: &random)]
      return Array("\(word) \(Int.random(in: 0...99_999, using: &random)) :x\r\n".utf8)
    }
    let guess = try #require(GuessedProtocol(samples, seconds: 0...0))
    #expect(guess.framing.hypothesis == .line)
    #expect(guess.kinds.compactMap(\.word) == ["JOIN", "NICK", "PING", "PRIVMSG"])
    let text = ProfileSkeleton.text(guess, name: "lines", ports: [], notes: [], proof: .none, outcome: nil)
    #expect(
      try ProfileCompiler.compile(text, source: "lines.yaml").typeNames == [
        "line_join", "line_nick", "line_ping", "line_privmsg",
      ])
  }

  // MARK: What is nothing

  private func noise(_ random: inout SeededRandom, _ byte: (inout SeededRandom) -> UInt8) -> [StreamSample] {
    (0..<6).map { index in
      var bytes: [UInt8] = []
      var starts: [SegmentStart] = []
      for packet in 0..<60 {
        starts.append(SegmentStart(offset: bytes.count, packet: UInt64(packet)))
        bytes += (0..<Int.random(in: 1...200, using: &random)).map { _ in byte(&random) }
      }
      return StreamSample(
        connection: index / 2, direction: index % 2, isFromStart: true, bytes: bytes, runs: [0..<bytes.count],
        starts: starts)
    }
  }

  @Test(arguments: 0..<4) func randomBytesHaveNoFraming(seed: Int) {
    var random = SeededRandom(UInt64(seed) &+ 90)
    #expect(GuessedProtocol(noise(&random) { .random(in: 0...255, using: &$0) }, seconds: 0...0) == nil)
    #expect(GuessedProtocol(noise(&random) { .random(in: 0...3, using: &$0) }, seconds: 0...0) == nil)
    #expect(GuessedProtocol(noise(&random) { .random(in: 0x61...0x7a, using: &$0) }, seconds: 0...0) == nil)
  }

  @Test(arguments: [UInt8(0), 1, 0x7e, 0x0a, 0x41, 0xff]) func oneByteHasNoFraming(byte: UInt8) {
    var random = SeededRandom(4)
    let guess = GuessedProtocol(noise(&random) { _ in byte }, seconds: 0...0)
    // Empty lines are lines, but of no type.
    #expect(guess.map { ProfileSkeleton.refusal($0) != nil } ?? true)
  }

  @Test func nothingHasNoFraming() {
    #expect(GuessedProtocol([], seconds: 0...0) == nil)
    let empty = StreamSample(connection: 1, direction: 0, isFromStart: true, bytes: [], runs: [], starts: [])
    #expect(GuessedProtocol([empty], seconds: 0...0) == nil)
    // Runs and starts that do not fit the bytes are left out.
    let odd = StreamSample(
      connection: 1, direction: 0, isFromStart: true, bytes: [1, 2, 3], runs: [0..<9, 1..<3, 2..<3],
      starts: [
        SegmentStart(offset: 7, packet: 1), SegmentStart(offset: 1, packet: 1), SegmentStart(offset: 0, packet: 1),
      ])
    #expect(odd.runs == [1..<3] && odd.starts.map(\.offset) == [1])
    #expect(GuessedProtocol([odd], seconds: 0...0) == nil)
  }
}
