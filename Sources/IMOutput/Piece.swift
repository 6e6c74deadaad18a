/// Text that is written again and again: made once, then copied as it is.
final class Piece: CustomStringConvertible {
  /// The text's bytes; they live as long as the piece.
  let bytes: UnsafeRawBufferPointer

  init(_ text: String) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, text.utf8.count), alignment: 1)
    memory.copyBytes(from: text.utf8)
    bytes = UnsafeRawBufferPointer(rebasing: memory[..<text.utf8.count])
  }

  /// The text again.
  var description: String { String(decoding: bytes, as: UTF8.self) }

  deinit { bytes.deallocate() }
}
