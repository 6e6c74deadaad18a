import CSSL
import Glibc

/// One connection's TLS on its socket.
final class TLSStream {
  /// What a step came to.
  enum Step: Equatable {
    /// So many bytes, or the handshake is complete.
    case done(Int)
    /// The socket has to be readable first.
    case wantsReading
    /// The socket has to be writable first.
    case wantsWriting
    /// The peer has closed the channel in order.
    case ended
    /// It is broken.
    case failed
    /// The peer has refused it: our certificate, or that there is none.
    case refused
  }

  private let pointer: OpaquePointer
  /// See `TLSContext.pins`.
  private let pins: [[UInt8]]

  /// A channel on `file` that has not shaken hands.
  init(_ context: TLSContext, on file: Int32) throws(TransportError) {
    guard let pointer = SSL_new(context.pointer) else { throw TransportError("TLS", reason: TLSContext.lastReason()) }
    self.pointer = pointer
    pins = context.pins
    guard SSL_set_fd(pointer, file) == 1 else { throw TransportError("TLS", reason: TLSContext.lastReason()) }
    if context.isServer {
      SSL_set_accept_state(pointer)
    } else {
      SSL_set_connect_state(pointer)
      if let name = context.serverName {
        // An address is no server name (RFC 6066, section 3).
        if !Self.isAddress(name) { _ = imdump_ssl_set_server_name(pointer, name) }
        guard SSL_set1_host(pointer, name) == 1 else { throw TransportError("TLS", reason: TLSContext.lastReason()) }
      }
    }
  }

  deinit { SSL_free(pointer) }

  /// Goes on with the handshake.
  func shakeHands() -> Step {
    ERR_clear_error()
    let step = step(SSL_do_handshake(pointer))
    if case .done = step, !pins.isEmpty, !hasPinnedKey { return .failed }
    return step
  }

  /// Whether the peer has shown one of the keys that it may have.
  private var hasPinnedKey: Bool {
    var digest = [UInt8](repeating: 0, count: 32)
    return imdump_ssl_peer_key_digest(pointer, &digest) == 1 && pins.contains(digest)
  }

  /// Reads plain bytes.
  func read(_ region: UnsafeMutableRawBufferPointer) -> Step {
    ERR_clear_error()
    return step(SSL_read(pointer, region.baseAddress, Int32(clamping: region.count)))
  }

  /// Takes plain bytes to be sent.
  func write(_ bytes: RawSpan) -> Step {
    ERR_clear_error()
    return step(bytes.withUnsafeBytes { SSL_write(pointer, $0.baseAddress, Int32(clamping: $0.count)) })
  }

  /// Whether plain bytes wait that no readiness of the socket will announce.
  var hasPending: Bool { SSL_has_pending(pointer) == 1 && SSL_pending(pointer) > 0 }

  /// Tells the peer that nothing more comes.
  func end() {
    ERR_clear_error()
    _ = SSL_shutdown(pointer)
  }

  private static func isAddress(_ name: String) -> Bool {
    var address = in6_addr()
    return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1
  }

  private func step(_ result: Int32) -> Step {
    if result > 0 { return .done(Int(result)) }
    switch SSL_get_error(pointer, result) {
    case SSL_ERROR_WANT_READ: return .wantsReading
    case SSL_ERROR_WANT_WRITE: return .wantsWriting
    case SSL_ERROR_ZERO_RETURN: return .ended
    // An alert of the peer's: it comes behind the handshake of TLS 1.3.
    case SSL_ERROR_SSL: return ERR_peek_last_error() & 0x7f_ffff >= 1_000 ? .refused : .failed
    default: return .failed
    }
  }
}
