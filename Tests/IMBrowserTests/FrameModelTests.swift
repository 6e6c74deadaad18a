import IMOutput
import IMTestSupport
import Testing

@testable import IMBrowser

/// Parts and bytes of a message, each selected by the other.
@Suite struct FrameModelTests {
  private static func part(_ name: String, _ range: Range<Int>) -> FrameDissection.Part {
    FrameDissection.Part(name: name, value: "", range: range)
  }

  /// Elements in one another, sixteen deep, and one behind them.
  private static func deep() -> FrameModel {
    let parts = (0..<16).map { part("\($0)", $0 * 2..<100 - $0 * 2) } + [part("last", 100..<120)]
    return FrameModel(FrameDissection(bytes: Array(0..<120), parts: parts.reversed()))
  }

  @Test func aPartHighlightsItsBytes() {
    var model = Self.deep()
    for depth in 0..<16 {
      model.select(part: depth)
      #expect(model.anatomy.parts[depth].depth == depth)
      #expect(model.selected == depth * 2..<100 - depth * 2)
      #expect(model.byte == depth * 2)
    }
    model.select(part: 99)
    #expect(model.selected == 100..<120)
  }

  @Test func aByteSelectsTheInnermostPart() {
    var model = Self.deep()
    for byte in 0..<120 {
      model.select(byte: byte)
      // By the definition: of all parts that hold the byte, the one with the fewest.
      let holding = model.anatomy.parts.filter { $0.range.contains(byte) }
      #expect(model.anatomy.parts[model.part] == holding.min { $0.range.count < $1.range.count })
      #expect(model.byte == byte)
    }
  }

  @Test func partsOfChanceNest() {
    var random = SeededRandom(1)
    for _ in 0..<300 {
      let parts = (0..<40).map { i in
        let start = Int(random.next() % 200)
        return Self.part("\(i)", start..<start + Int(random.next() % 60))
      }
      let anatomy = FrameDissection(bytes: Array(repeating: 0, count: 150), parts: parts)
      for (i, a) in anatomy.parts.enumerated() {
        #expect(!a.range.isEmpty && a.range.lowerBound < 150)
        for b in anatomy.parts[(i + 1)...] {
          let isInside = a.range.lowerBound <= b.range.lowerBound && b.range.upperBound <= a.range.upperBound
          #expect(isInside || !a.range.overlaps(b.range))
          if isInside { #expect(b.depth > a.depth) }
        }
      }
    }
  }

  @Test func anyMovesStayInside() {
    var random = SeededRandom(2)
    for bytes in [0, 1, 15, 16, 17, 500] {
      var model = FrameModel(
        FrameDissection(
          bytes: [UInt8](repeating: 7, count: bytes),
          parts: [Self.part("a", 0..<bytes / 2), Self.part("b", bytes / 2..<bytes)]))
      for _ in 0..<500 {
        switch random.next() % 6 {
        case 0: model.move(Int(random.next() % 40) - 20)
        case 1: model.moveByte(Int(random.next() % 40) - 20)
        case 2: model.isInBytes.toggle()
        case 3: model.resize(Int(random.next() % 30))
        case 4:
          model.bytesColumn = Int(random.next() % 40)
          model.click(row: Int(random.next() % 40), column: Int(random.next() % 120))
        default: model.move(random.once(in: 2) ? .max / 4 : .min / 4)
        }
        #expect((0..<max(1, bytes)).contains(model.byte))
        #expect(model.topRow >= 0 && model.topPart >= 0)
        #expect(model.anatomy.parts.isEmpty || model.selected.contains(model.byte))
      }
    }
  }
}
