/// A text that is made once and written often.
///
/// Its memory is never given back: a run makes a few for each profile, and what is written often is not to be counted often.
public struct Piece: CustomStringConvertible, BitwiseCopyable, @unchecked Sendable {
  /// The text's bytes.
  public let bytes: UnsafeRawBufferPointer

  /// The piece of a text.
  package init(_ text: String) {
    // A pen reads some bytes behind it.
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: text.utf8.count + UncheckedWriter.slack, alignment: 1)
    memory.copyBytes(from: text.utf8)
    for i in text.utf8.count..<memory.count { memory[i] = 0 }
    bytes = UnsafeRawBufferPointer(rebasing: memory[..<text.utf8.count])
  }

  /// The text again.
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}
