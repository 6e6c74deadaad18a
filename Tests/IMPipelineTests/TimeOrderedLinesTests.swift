import IMOutput
import IMTestSupport
import IMWire
import Testing

@testable import IMPipeline

@Suite struct TimeOrderedLinesTests {
  /// Messages in a drawn order, some of them at the same time: by time, then by number.
  @Test(arguments: 0..<4) func linesComeInOrder(seed: UInt64) {
    var random = SeededRandom(seed)
    var lines = TimeOrderedLines()
    var expected: [(time: Int64, number: UInt32)] = []
    for number in 0..<UInt32(200) {
      let time = Int64(number) / 2 - Int64.random(in: 0...20, using: &random)
      expected.append((time, number))
      var line = ByteWriter()
      line.text("\(time) \(number)\n")
      lines.add(line, Timestamp(milliseconds: time), number)
    }
    expected.sort { $0 < $1 }
    var out = ByteWriter()
    #expect(!lines.isFull)
    lines.takeOldest(to: &out)
    #expect(out.text == expected.prefix(100).map { "\($0.time) \($0.number)\n" }.joined())
    lines.takeAll(to: &out)
    #expect(out.text == expected.map { "\($0.time) \($0.number)\n" }.joined())
    lines.takeAll(to: &out)
    #expect(out.text.split(separator: "\n").count == 200)
  }

  /// The lines of a stream come out ten seconds after the newest one, in order.
  @Test func linesOfAStreamDoNotWaitForItsEnd() {
    var lines = TimeOrderedLines()
    var out = ByteWriter()
    for (number, second) in [0, 3, 1, 9, 12, 11, 25].enumerated() as EnumeratedSequence<[Int64]> {
      var line = ByteWriter()
      line.text("\(second) ")
      lines.add(line, Timestamp(milliseconds: second * 1_000), UInt32(number))
      lines.takeSettled(to: &out)
    }
    #expect(out.text == "0 1 3 9 11 12 ")
    lines.takeAll(to: &out)
    #expect(out.text == "0 1 3 9 11 12 25 ")
  }

  /// However many there are, what waits is bounded.
  @Test func whatWaitsIsBounded() {
    var lines = TimeOrderedLines()
    var line = ByteWriter()
    line.text(String(repeating: "x", count: 1_000))
    var count = 0
    while !lines.isFull {
      lines.add(line, Timestamp(milliseconds: Int64(count)), UInt32(count))
      count += 1
    }
    #expect(count * 1_000 < (8 << 20) + 1_000)
    var out = ByteWriter()
    lines.takeOldest(to: &out)
    #expect(!lines.isFull && out.count == count / 2 * 1_000)
  }
}
