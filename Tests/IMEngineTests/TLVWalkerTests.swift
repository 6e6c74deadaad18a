import IMProfile
import IMTestSupport
import Testing

@testable import IMEngine

/// Lists of TLVs, walked the quick way where their layout allows it, against a model that knows no quick way.
@Suite struct TLVWalkerTests {
  /// What the model says of a body.
  private struct Outcome: Equatable, CustomStringConvertible {
    var references: [String] = []
    var flags: Frame.Flags = []
    var depth: Int32 = 0

    var description: String { "\(references.joined(separator: " ")) flags \(flags.rawValue) depth \(depth)" }
  }

  /// The rules of `tjp`: tags of two bytes, lengths of four; 0xffff holds a list; more than four levels are noted.
  private func model(_ body: [UInt8]) -> Outcome {
    var outcome = Outcome()
    func list(_ range: Range<Int>, _ depth: Int) {
      var position = range.lowerBound
      var tags: Set<Int> = []
      outcome.depth = max(outcome.depth, Int32(depth))
      while position < range.upperBound {
        let left = range.upperBound - position
        guard left >= 6 else {
          outcome.flags.insert(left < 2 ? .incompleteTag : .incompleteLength)
          return
        }
        let tag = Int(body[position]) << 8 | Int(body[position + 1])
        let count = body[position + 2..<position + 6].reduce(0) { $0 << 8 | Int($1) }
        position += 6
        guard count <= range.upperBound - position else {
          outcome.flags.insert(.incompleteValue)
          return
        }
        let isList = tag == 0xffff && depth < 16
        outcome.references.append("\(depth):\(tag)@\(position)+\(count)\(isList ? "L" : "")")
        if !tags.insert(tag).inserted { outcome.flags.insert(.duplicateTag) }
        if tag == 0xffff, depth >= 4 { outcome.flags.insert(.nestedTooDeep) }
        if isList { list(position..<position + count, depth + 1) }
        position += count
      }
    }
    list(0..<body.count, 0)
    // Tags of larger bodies are not compared.
    if outcome.references.count > 64 { outcome.flags.remove(.duplicateTag) }
    return outcome
  }

  /// A body of a few elements, some of them lists, that is damaged one time in three.
  private func draw(_ random: inout SeededRandom) -> [UInt8] {
    func list(_ levels: Int) -> [UInt8] {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        let isList = levels > 0 && random.once(in: 3)
        let value = isList ? list(levels - 1) : random.bytes(Int.random(in: 0...9, using: &random))
        let tags: [UInt16] = [0x0001, 0x0002, 0x1001, 0x1002, 0x2001, 0x7abc]
        bytes.append(big: isList ? 0xffff : random.one(of: tags))
        bytes.append(big: UInt32(value.count))
        bytes += value
      }
      return bytes
    }
    var body = list(random.once(in: 8) ? 6 : 2)
    if random.once(in: 3), !body.isEmpty {
      let place = Int.random(in: 0..<body.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: body[place] = UInt8(truncatingIfNeeded: random.next())
      case 1: body.removeSubrange(place...)
      default: body.remove(at: place)
      }
    }
    return body
  }

  @Test func drawnBodies() throws {
    let protocolPlan = try BuiltInProfiles.plan("tjp")
    let plans = PlanTable([protocolPlan])
    #expect(plans.current.pointee.tlv.shape == .tag2Length4)
    var walker = TLVWalker(maximumCount: 65_536)
    var random = SeededRandom(28)
    let frame = UnsafeMutablePointer<Frame>.allocate(capacity: 1)
    defer { frame.deallocate() }
    var lists = 0
    for number in 0..<20_000 {
      let body = draw(&random)
      let expected = model(body)
      if expected.depth > 0 { lists += 1 }
      frame.initialize(to: Frame(kind: plans.current.pointee.unknownKind))
      let bytes = body + [UInt8](repeating: 0xee, count: RawBuffer.slack)
      walker.clear()
      walker.walk(plans.current, Bytes(bytes.span.bytes), 0, body.count, frame)
      var found = Outcome(flags: frame.pointee.flags, depth: frame.pointee.tlvDepth)
      for i in 0..<walker.count {
        let element = walker.references[i]
        found.references.append(
          "\(element.depth):\(element.tag)@\(element.offset)+\(element.count)\(element.isList ? "L" : "")")
      }
      try #require(found == expected, "body \(number): \(body)")
    }
    #expect(lists > 5_000)
  }
}
