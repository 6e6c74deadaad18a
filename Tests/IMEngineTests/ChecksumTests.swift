import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Checksums against published values and a model of each bit, and what frames say of theirs.
@Suite struct ChecksumTests {
  private func sum(_ algorithm: ChecksumAlgorithm, _ bytes: [UInt8], cuts: [Int] = []) -> UInt32 {
    let padded = bytes + [UInt8](repeating: 0xa5, count: 16)
    var running = RunningChecksum(algorithm)
    var from = 0
    for cut in cuts + [bytes.count] {
      running.add(Bytes(padded.span.bytes), from, cut - from)
      from = cut
    }
    return running.value
  }

  /// What the catalogue, RFC 1950 and the definitions publish for "123456789"; Fletcher's for three more texts.
  @Test func published() {
    #expect(ReferenceChecksum.checkValues.map(\.name) == ChecksumAlgorithm.allCases.map(\.name))
    for (algorithm, known) in zip(ChecksumAlgorithm.allCases, ReferenceChecksum.checkValues) {
      #expect(sum(algorithm, [UInt8]("123456789".utf8)) == known.value, "\(known.name)")
      #expect(ReferenceChecksum.value(known.name, [UInt8]("123456789".utf8)) == known.value, "model of \(known.name)")
      #expect(ReferenceChecksum.byteCount(known.name) == algorithm.byteCount)
    }
    for (text, short, long) in [
      ("abcde", 0xc8f0, 0xf04f_c729), ("abcdef", 0x2057, 0x5650_2d2a), ("abcdefgh", 0x0627, 0xebe1_9591),
    ] as [(String, UInt32, UInt32)] {
      #expect(sum(.fletcher16, [UInt8](text.utf8)) == short)
      #expect(sum(.fletcher32, [UInt8](text.utf8)) == long)
    }
  }

  /// Drawn bytes of all lengths to 600, whole and in pieces, against the model.
  @Test(arguments: ChecksumAlgorithm.allCases) func asTheModel(_ algorithm: ChecksumAlgorithm) {
    var random = SeededRandom(UInt64(algorithm.rawValue) + 1)
    for count in 0...600 {
      let bytes = random.bytes(count)
      let wanted = ReferenceChecksum.value(algorithm.name, bytes)
      #expect(sum(algorithm, bytes) == wanted)
      let cut = count == 0 ? 0 : Int(random.next() % UInt64(count))
      #expect(sum(algorithm, bytes, cuts: [cut / 2, cut]) == wanted)
      var zeros = RunningChecksum(algorithm)
      zeros.add(Bytes((bytes + [UInt8](repeating: 0, count: 16)).span.bytes), 0, count)
      zeros.addZeros(cut)
      #expect(zeros.value == ReferenceChecksum.value(algorithm.name, bytes + [UInt8](repeating: 0, count: cut)))
    }
  }

  /// Where a sum stands, and what it covers.
  enum Place: String, CaseIterable, CustomTestStringConvertible {
    case headerOfBody, headerOfFrame, trailerOfBody, trailerOfFrame, trailerFromByteTwo, trailerLittle
    var testDescription: String { rawValue }
    var isTrailer: Bool { rawValue.hasPrefix("trailer") }
  }

  private func profile(_ algorithm: ChecksumAlgorithm, _ place: Place, counts: String, counted: Bool) -> String {
    let width = algorithm.byteCount
    let header = place.isTrailer ? 8 : 8 + width
    let field = place.isTrailer ? "" : "  checksum: { offset: 8, size: \(width) }\n"
    let covers =
      switch place {
      case .headerOfBody, .trailerOfBody: "body"
      case .trailerFromByteTwo: "{ from: 2 }"
      default: "frame"
      }
    return """
      profile: sums
      version: 1
      header: { length: \(header), magic: { offset: 0, bytes: CAFE } }
      length: { offset: 2, size: 2, counts: \(counts) }
      \(place.isTrailer ? "trailer: { length: \(width), counted: \(counted) }" : "")
      fields:
        type: { offset: 4, size: 2 }
        sequence: { offset: 6, size: 2 }
      \(field)checksum: { algorithm: \(algorithm.name), covers: \(covers), in: \(place.isTrailer ? "trailer" : "header")\
      \(place == .trailerLittle ? ", order: little" : "") }
      sequence: { kind: counter, bits: 16 }
      types:
        1: { name: say, role: message, answered: true, numbered: true, body: raw }
        2: { name: ok, role: acknowledgment, answers: [say], body: raw, length: 3 }
      """
  }

  private func frame(
    _ algorithm: ChecksumAlgorithm, _ place: Place, _ type: UInt16, _ number: UInt16, _ body: [UInt8], counts: String,
    counted: Bool
  ) -> [UInt8] {
    let width = algorithm.byteCount
    let header = place.isTrailer ? 8 : 8 + width
    var length = counts == "frame" ? header + body.count : body.count
    if place.isTrailer, counted { length += width }
    var bytes: [UInt8] = [0xca, 0xfe]
    bytes.append(big: UInt16(length))
    bytes.append(big: type)
    bytes.append(big: number)
    if !place.isTrailer { bytes += [UInt8](repeating: 0, count: width) }
    bytes += body
    let covered: [UInt8] =
      switch place {
      case .headerOfBody, .trailerOfBody: body
      case .trailerFromByteTwo: [UInt8](bytes[2...])
      default: bytes
      }
    let value = ReferenceChecksum.value(algorithm.name, covered) ?? 0
    var sum: [UInt8] = []
    if place == .trailerLittle { sum.append(little: value) } else { sum.append(big: value) }
    sum = place == .trailerLittle ? [UInt8](sum.prefix(width)) : [UInt8](sum.suffix(width))
    if place.isTrailer { return bytes + sum }
    bytes.replaceSubrange(8..<8 + width, with: sum)
    return bytes
  }

  /// Every algorithm at every place: right ones are right, and one bit anywhere in what is covered is damage. The body
  /// ends where the trailer begins.
  @Test(arguments: ChecksumAlgorithm.allCases, Place.allCases)
  func inFrames(_ algorithm: ChecksumAlgorithm, _ place: Place) throws {
    for (counts, counted) in [("body", false), ("frame", true), ("frame", false)] {
      let plan = try ProfileCompiler.compile(
        profile(algorithm, place, counts: counts, counted: counted), source: "sums.yaml")
      var random = SeededRandom(5)
      var talk = Talk(port: 9_000, segmentSize: 200)
      var bodies: [[UInt8]] = []
      for number in 1...6 {
        let body = random.bytes(number * 40)
        bodies += [body, [1, 2, 3]]
        talk.say(
          .clientToServer, frame(algorithm, place, 1, UInt16(number), body, counts: counts, counted: counted))
        talk.say(
          .serverToClient, frame(algorithm, place, 2, UInt16(number), [1, 2, 3], counts: counts, counted: counted))
      }
      let run = Run(talk.packets, plans: [plan])
      let ends = run.frames.map(\.body)
      // The quick way says "none" of a body that is not there; here all are.
      let isEmptyRight = run.frames.allSatisfy { $0.status == .be }
      #expect(ends == bodies && isEmptyRight, "\(counts) \(counted)")
      #expect(run.heard.finished.allSatisfy { $0.fate == .acked } && run.heard.finished.count == 6)
      run.expectLedgerAddsUp()
    }
    // One bit in the middle of a body.
    let plan = try ProfileCompiler.compile(
      profile(algorithm, place, counts: "body", counted: false), source: "sums.yaml")
    var talk = Talk(port: 9_000)
    let good = frame(algorithm, place, 1, 1, [9, 8, 7, 6, 5], counts: "body", counted: false)
    var bad = frame(algorithm, place, 1, 2, [9, 8, 7, 6, 5], counts: "body", counted: false)
    bad[(place.isTrailer ? 8 : 8 + algorithm.byteCount) + 2] ^= 0x10
    talk.say(.clientToServer, good, bad, frame(algorithm, place, 1, 3, [1], counts: "body", counted: false))
    let run = Run(talk.packets, plans: [plan])
    #expect(run.frames.map(\.status) == [.be, .bad, .be])
    run.expectLedgerAddsUp()
  }
}
