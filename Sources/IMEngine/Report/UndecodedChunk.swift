/// Bytes of a stream that are no frame read where it stands: what carriers put around frames, and frames as they travel.
///
/// Reported with `EngineOptions.Needs.undecoded`, for sinks that rewrite a stream.
package struct UndecodedChunk: Sendable, BitwiseCopyable {
  /// What they are.
  package enum Kind: Sendable, BitwiseCopyable {
    /// A PROXY header of this version; 0 for one that cannot be believed.
    case proxyHeader(version: UInt8)
    /// The HTTP request or answer that makes a connection one of WebSocket frames.
    case upgrade
    /// The header of a WebSocket frame with data.
    case webSocketHeader
    /// A whole control frame of WebSocket, of whose bytes `header` are its header.
    case webSocketControl(header: Int, key: UInt32?)
    /// Payload of WebSocket frames: the bytes from `inner` on of the stream that they carry. Of its mask's key `phase` bytes came
    /// before.
    case payload(inner: UInt64, key: UInt32?, phase: Int)
    /// Compressed payload.
    case packed(key: UInt32?, phase: Int)
    /// The end of a compressed message, which stands at no byte: what it holds ends in front of `inner` of the stream that frames
    /// carry. `keepsWindow`: whether the next one may refer to it.
    case packedEnd(inner: UInt64, keepsWindow: Bool)
    /// The frame that is told next, with its delimiters and escapes. `isCarried`: its offset is one of the stream that a carrier's
    /// frames carry.
    case frame(isCarried: Bool)
  }

  /// What they are.
  package var kind: Kind
  /// Where the first of them stands in the stream.
  package var streamOffset: UInt64

  /// A chunk of its parts.
  package init(_ kind: Kind, at streamOffset: UInt64) { (self.kind, self.streamOffset) = (kind, streamOffset) }
}
