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
  }

  private let pointer: OpaquePointer

  /// A channel on `file` that has not shaken hands.
  init(_ context: TLSContext, on file: Int32) throws(TransportError) {
    guard let pointer = SSL_new(context.pointer) else { throw TransportError("TLS", reason: TLSContext.lastReason()) }
    self.pointer = pointer
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
    return step(SSL_do_handshake(pointer))
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
    default: return .failed
    }
  }
}
