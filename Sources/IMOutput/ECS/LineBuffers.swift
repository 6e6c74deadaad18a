/// The buffers of lines: one for all datasets, or one for each.
final class LineBuffers {
  private final class Buffer {
    @exclusivity(unchecked) var lines = JSONLines()
  }

  private let buffers: [Buffer]
  private let flushSize: Int
  /// Takes the lines of a dataset.
  let handOn: (ECSDataset, UnsafeRawBufferPointer) -> Void

  init(separate: Bool, flushSize: Int, flush: @escaping (ECSDataset, UnsafeRawBufferPointer) -> Void) {
    buffers = (0..<(separate ? ECSDataset.allCases.count : 1)).map { _ in Buffer() }
    self.flushSize = flushSize
    handOn = flush
  }

  /// Lets `body` write one line to the buffer of `dataset`, and hands the buffer on when it is full. Gives what `body` gives.
  func write(_ dataset: ECSDataset, _ body: (inout JSONLines) -> Bool) -> Bool {
    let place = buffers.count == 1 ? 0 : dataset.rawValue
    let isWritten = body(&buffers[place].lines)
    if buffers[place].lines.writer.count > flushSize { flush(place) }
    return isWritten
  }

  /// Lines that were too long and were taken back.
  var refused: UInt64 { buffers.reduce(0) { $0 + $1.lines.refused } }

  /// Hands on every buffer that holds lines.
  func flush() {
    for place in buffers.indices { flush(place) }
  }

  private func flush(_ place: Int) {
    guard buffers[place].lines.writer.count > 0 else { return }
    buffers[place].lines.writer.withBytes { handOn(ECSDataset(rawValue: place) ?? .message, $0) }
    buffers[place].lines.writer.removeAll()
  }
}
