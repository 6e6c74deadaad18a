import IMTestSupport
import Testing

@testable import IMBrowser

/// When frames are painted, on drawn timelines.
@Suite struct FramePaceTests {
  /// Frames of a timeline in milliseconds: `k` is a key, `c` a change that nobody has asked for.
  private static func frames(_ timeline: [(at: Int, isKey: Bool)], end: Int) -> [Int] {
    var pace = FramePace()
    pace.paint(at: .zero)
    var frames: [Int] = []
    var isDirty = false
    for now in 1...end {
      for event in timeline where event.at == now {
        isDirty = true
        if event.isKey { pace.key(at: .milliseconds(now)) }
      }
      if isDirty, .milliseconds(now) >= pace.due {
        frames.append(now)
        isDirty = false
        pace.paint(at: .milliseconds(now))
      }
    }
    return frames
  }

  @Test func twoHundredChangesASecondAreThirtyFrames() {
    let frames = Self.frames((1...200).map { ($0 * 5, false) }, end: 1_100)
    #expect(frames.count <= 30)
    #expect(frames.last.map { $0 >= 1_000 && $0 < 1_037 } ?? false)
    for (one, next) in zip(frames.dropFirst(2), frames.dropFirst(3)) { #expect(next - one <= 36) }
  }

  @Test func keysNeverWait() {
    var random = SeededRandom(3)
    let timeline = (1...900).map { (at: $0, isKey: random.once(in: 9)) }.filter { $0.isKey || $0.at % 5 == 0 }
    let frames = Self.frames(timeline, end: 1_000)
    for event in timeline where event.isKey { #expect(frames.contains(event.at)) }
  }

  @Test func whatAKeyHasAskedForWaitsLess() {
    #expect(Self.frames([(100, true), (102, false)], end: 200) == [100, 108])
    #expect(Self.frames([(500, false), (502, false), (509, false)], end: 600) == [500, 508, 536])
    #expect(Self.frames([(500, false), (540, false), (542, false)], end: 600) == [500, 540, 548])
    #expect(Self.frames([(50, false)], end: 200) == [50])
  }
}
