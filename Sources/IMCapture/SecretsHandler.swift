/// What is done with the TLS secrets that a capture file brings: the text of a key log, whole lines.
package struct SecretsHandler {
  /// Takes the text of one block; the memory is valid during the call only.
  let take: (UnsafeRawBufferPointer) -> Void

  /// A handler that calls `take`.
  package init(_ take: @escaping (UnsafeRawBufferPointer) -> Void) { self.take = take }
}
