import IMOutput
import IMRun
import IMSystem
import IMWire

/// Prints lines of messages: those of captures in the order in which the messages began, those of a live run as they come.
final class MessageLines {
  private let output: Output
  private let isLive: Bool, isFile: Bool
  /// The times at the beginning of lines; `nil` for lines without.
  @exclusivity(unchecked) private var times: TimeText?
  @exclusivity(unchecked) private var out = ByteWriter(capacity: 300 << 10)
  @exclusivity(unchecked) private var line = ByteWriter(capacity: 4 << 10)
  @exclusivity(unchecked) private var waiting = TimeOrderedLines()

  /// Lines of messages of `run`, which begin with a time as `style` has it; without one, they have none.
  init(_ run: Run, _ output: Output, style: TextStyle?) {
    self.output = output
    (isLive, isFile) = (run.isLive, run.isReadTwice)
    times = style.map { TimeText($0) }
  }

  /// Takes what `write` appends: the rest of the line of the message with the number `number`, which began at `time`.
  func add(_ time: Timestamp, _ number: UInt32, _ write: (inout ByteWriter) -> Void) {
    guard !isLive else {
      times?.write(time, to: &out)
      return write(&out)
    }
    line.removeAll()
    write(&line)
    waiting.add(line, time, number)
    if waiting.isFull {
      waiting.takeOldest(to: &out) { times?.write($0, to: &$1) }
      drain()
    }
  }

  /// Prints what need not wait any more: of a file there is time until its end, but the reader of a pipe may be watching. To be called
  /// after each batch.
  func endBatch() {
    guard !isFile else { return }
    if !isLive { waiting.takeSettled(to: &out) { times?.write($0, to: &$1) } }
    drain()
  }

  /// Prints what waits. To be called at the end of the run.
  func end() {
    waiting.takeAll(to: &out) { times?.write($0, to: &$1) }
    drain()
  }

  private func drain() { output.drain(&out) }
}
