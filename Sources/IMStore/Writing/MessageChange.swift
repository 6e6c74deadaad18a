import IMEngine
import IMOutput

/// What has become of a message of a file since its row went to the writer.
struct MessageChange: Sendable {
  /// What became of it.
  let exchange: Exchange
  /// The status that its answer gave; `nil` where there is none.
  let status: StatusCode?
  /// The name that the session's client gave; `nil` where it is not known.
  let name: String?
  /// Copies and answers that the row lacks.
  let later: Later

  /// The number of the message in the store.
  var id: Int64 { exchange.row }

  /// Copies and answers of a message that its row lacks.
  struct Later: Sendable {
    /// Copies, with their checksums, and answers, in microseconds since the epoch.
    private(set) var copies: [Int64] = [], checksums: [ChecksumStatus] = [], answers: [Int64] = []
    /// The remarks on these copies.
    private(set) var flags: UInt32 = 0
    /// Whether the row has a copy or an answer that its counts lack.
    var isTouched = false
    /// The time of an answer that the row tells of, and that is still to come.
    var awaited: Int64?

    mutating func add(_ frame: TimedFrame) {
      guard !frame.isAnswer else {
        if frame.time == awaited {
          awaited = nil
          return
        }
        if answers.count < TimedFrame.most { answers.append(frame.time) }
        return
      }
      flags |= frame.flags
      guard copies.count < TimedFrame.most else { return }
      copies.append(frame.time)
      checksums.append(frame.checksum)
    }
  }
}

/// The lists of a message as its row has them: JSON arrays.
enum MessageLists {
  static func text<Value>(_ values: some Sequence<Value>, _ element: (Value) -> String) -> String {
    "[" + values.map(element).joined(separator: ",") + "]"
  }

  static func quoted(_ checksum: ChecksumStatus) -> String { "\"\(checksum.name)\"" }

  /// The list `old` with further elements, `most` in all; `first` is the only one where there is no list yet. `nil` where there is no
  /// list and none to make.
  static func adding(_ further: [String], to old: String?, first: @autoclosure () -> String?) -> String? {
    guard !further.isEmpty else { return old }
    let begun = old?.dropFirst().dropLast() ?? first().map { $0[...] }
    let room = TimedFrame.most - (begun.map { $0.utf8.count { $0 == UInt8(ascii: ",") } + 1 } ?? 0)
    let parts = [begun.map(String.init)].compactMap { $0 } + further.prefix(max(0, room))
    return parts.isEmpty ? old : "[" + parts.joined(separator: ",") + "]"
  }
}
