import IMProfile
import IMYAML
import Testing

@testable import IMEngine

/// What profiles compile to.
@Suite struct PlanTests {
  /// The built-in profiles, by what their protocols' documents say.
  @Test func tjp() throws {
    let plan = try BuiltInProfiles.plan("tjp")
    let numbers = plan.pointer.pointee
    #expect(plan.ports == [8_080])
    #expect(plan.typeNames == ["data", "heartbeat", "ack", "control", "receipt"])
    #expect(plan.typeRoles == [.message, .heartbeat, .acknowledgment, .control, .receipt])
    #expect(numbers.magicMask == 0xffff_ffff_ff00_0000)
    #expect(numbers.magic == 0xdeca_fbad_0100_0000)
    #expect(numbers.headerCount == 28)
    #expect(numbers.maximumBody == 10 << 20)
    #expect(numbers.counterWrap == 0xff_0000)
    #expect(numbers.counterBits == 24)
    #expect(plan.tagNames[0x1001] == "text")
    #expect(plan.hasSession)
    #expect(plan.kind(at: 2)?.answers == UInt64(0b11011) | 1 << 63)
  }

  @Test func mqtt() throws {
    let plan = try BuiltInProfiles.plan("mqtt")
    #expect(plan.typeValues == Array(1...15))
    #expect(plan.pointer.pointee.lengthRule == .varint)
    #expect(plan.pointer.pointee.sequenceCounts == false)
    #expect(!plan.hasSession)
    for (index, name) in plan.typeNames.enumerated() where name == "pingreq" || name == "pingresp" {
      #expect(plan.kind(at: index)?.maximumBody == 0)
    }
  }

  @Test func unknownName() {
    #expect(
      throws: ProfileError(
        source: "gopher",
        message: "no such profile; built in are: \(BuiltInProfiles.names.joined(separator: ", "))")
    ) {
      try BuiltInProfiles.plan("gopher")
    }
  }

  /// Every width, offset, byte order and bit range against reading byte by byte.
  @Test(arguments: 1...8, [false, true]) func fields(_ byteCount: Int, _ littleEndian: Bool) {
    let bytes: [UInt8] = (0..<64).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 89) }
    for offset in 0...40 {
      for base in [0, 3] {
        var whole: UInt64 = 0
        for i in 0..<byteCount {
          let byte = UInt64(bytes[base + offset + (littleEndian ? byteCount - 1 - i : i)])
          whole = whole << 8 | byte
        }
        for low in 0..<byteCount * 8 {
          for bits in Set([1, 4, byteCount * 8 - low]) where low + bits <= byteCount * 8 {
            let field = Field(
              offset: offset, byteCount: byteCount, littleEndian: littleEndian, lowBit: low, bits: bits)
            let expected = (whole >> UInt64(low)) & (bits == 64 ? .max : (1 << UInt64(bits)) - 1)
            if field.read(Bytes(bytes.span.bytes), base) != expected {
              Testing.Issue.record("\(byteCount) bytes at \(offset), bits \(low) and \(bits) more")
            }
          }
        }
      }
    }
  }

  @Test func absentField() {
    let bytes = [UInt8](repeating: 0xff, count: 16)
    #expect(Field().read(Bytes(bytes.span.bytes), 0) == 0)
    #expect(!Field().isPresent)
  }

  /// Every type of a plan is found, and no other value is taken for one.
  @Test(arguments: [1, 2, 5, 16, 40, 63]) func perfectHash(_ count: Int) {
    var state: UInt64 = UInt64(count)
    for round in 0..<10 {
      var values: Set<UInt64> = []
      while values.count < count {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        // Dense ones, as protocols have them, and any.
        values.insert(round % 2 == 0 ? state >> 57 : state >> 32)
      }
      var draft = ProtocolPlan.Draft()
      for value in values {
        var kind = FrameKind()
        kind.value = value
        draft.kinds.append(kind)
      }
      let plan = ProtocolPlan(
        name: "x", version: "1", ports: [], typeNames: values.map { "t\($0)" }, tagNames: [:], checksumName: nil,
        draft: draft)
      for (index, kind) in draft.kinds.enumerated() {
        #expect(plan.pointer.kind(kind.value).pointee.index == UInt8(index))
      }
      for other in (0..<300).map({ UInt64($0) }) + [UInt64(UInt32.max), 1 << 40] where !values.contains(other) {
        if plan.pointer.kind(other).pointee.index != FrameKind.unknownIndex {
          Testing.Issue.record("\(other) is taken for a type")
        }
      }
    }
  }
}
