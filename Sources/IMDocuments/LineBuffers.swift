import IMOutput

/// The buffers of lines: one for all datasets, or one for each.
final class LineBuffers {
  /// Where they stand, and how many there are.
  private let buffers: UnsafeMutablePointer<JSONLines>
  private let count: Int
  private let flushSize: Int
  /// Takes the lines of a dataset.
  let handOn: (ECSDataset, UnsafeRawBufferPointer) -> Void

  init(separate: Bool, flushSize: Int, flush: @escaping (ECSDataset, UnsafeRawBufferPointer) -> Void) {
    count = separate ? ECSDataset.allCases.count : 1
    buffers = .allocate(capacity: count)
    for place in 0..<count { (buffers + place).initialize(to: JSONLines()) }
    self.flushSize = flushSize
    handOn = flush
  }

  deinit {
    buffers.deinitialize(count: count)
    buffers.deallocate()
  }

  /// Lets `body` write one line to the buffer of `dataset`, and hands the buffer on when it is full. Gives what `body` gives.
  @inline(__always)
  func write(_ dataset: ECSDataset, _ body: (inout JSONLines) -> Bool) -> Bool {
    let place = count == 1 ? 0 : dataset.rawValue
    let isWritten = body(&buffers[place])
    if buffers[place].writer.count > flushSize { flush(place) }
    return isWritten
  }

  /// Lines that were too long and were taken back.
  var refused: UInt64 { (0..<count).reduce(0) { $0 + buffers[$1].refused } }

  /// Hands on every buffer that holds lines.
  func flush() {
    for place in 0..<count { flush(place) }
  }

  private func flush(_ place: Int) {
    guard buffers[place].writer.count > 0 else { return }
    buffers[place].writer.withBytes { handOn(ECSDataset(rawValue: place) ?? .message, $0) }
    buffers[place].writer.removeAll()
  }
}
