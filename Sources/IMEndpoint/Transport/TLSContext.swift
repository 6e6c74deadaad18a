import CSSL
import Glibc

/// What all TLS connections of one client or one server share: certificates, what is trusted, and where secrets are logged.
public final class TLSContext {
  let pointer: OpaquePointer
  let isServer: Bool
  /// The name that the server's certificate must carry; nil when it is not looked at.
  let serverName: String?
  private var keyLog: Int32 = -1

  private init(_ pointer: OpaquePointer, isServer: Bool, serverName: String?) {
    self.pointer = pointer
    self.isServer = isServer
    self.serverName = serverName
  }

  deinit {
    SSL_CTX_free(pointer)
    if keyLog >= 0 { close(keyLog) }
  }

  /// A server's side with its certificate chain and private key, both PEM files.
  public static func server(certificate: String, key: String) throws(TransportError) -> TLSContext {
    let context = TLSContext(try make(TLS_server_method()), isServer: true, serverName: nil)
    guard SSL_CTX_use_certificate_chain_file(context.pointer, certificate) == 1 else {
      throw TransportError("TLS certificate " + certificate, reason: lastReason())
    }
    guard SSL_CTX_use_PrivateKey_file(context.pointer, key, SSL_FILETYPE_PEM) == 1,
      SSL_CTX_check_private_key(context.pointer) == 1
    else { throw TransportError("TLS key " + key, reason: lastReason()) }
    return context
  }

  /// A client's side that trusts the system's authorities, or those in the PEM file `authorities`, and wants a certificate
  /// for `serverName`; with nil any certificate will do, which is for tests.
  public static func client(serverName: String?, authorities: String? = nil) throws(TransportError) -> TLSContext {
    let context = TLSContext(try make(TLS_client_method()), isServer: false, serverName: serverName)
    if serverName != nil {
      let loaded =
        if let authorities { SSL_CTX_load_verify_file(context.pointer, authorities) } else {
          SSL_CTX_set_default_verify_paths(context.pointer)
        }
      guard loaded == 1 else { throw TransportError("TLS authorities", reason: lastReason()) }
      SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
    }
    return context
  }

  private static func make(_ method: OpaquePointer?) throws(TransportError) -> OpaquePointer {
    guard let pointer = SSL_CTX_new(method) else { throw TransportError("TLS", reason: lastReason()) }
    _ = imdump_ssl_set_min_version(pointer, TLS1_2_VERSION)
    // Buffers only where bytes are: OpenSSL lets go of its own between records.
    _ = imdump_ssl_set_modes(pointer)
    return pointer
  }

  /// Appends every connection's secrets to `path`, in the format of NSS, so that a capture of them can be decrypted.
  public func logKeys(to path: String) throws(TransportError) {
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw TransportError("open " + path, errno) }
    if keyLog >= 0 { close(keyLog) }
    keyLog = file
    // The descriptor is what the callback gets to know; one is added since nothing is stored as 0.
    SSL_CTX_set_ex_data(pointer, 0, UnsafeMutableRawPointer(bitPattern: Int(file) + 1))
    SSL_CTX_set_keylog_callback(pointer) { connection, line in
      guard let connection, let line, let context = SSL_get_SSL_CTX(connection),
        let place = SSL_CTX_get_ex_data(context, 0)
      else { return }
      // One write a line: lines of other connections and processes do not mix with it.
      let text = Array(UnsafeRawBufferPointer(start: line, count: strlen(line))) + [UInt8(ascii: "\n")]
      _ = write(Int32(truncatingIfNeeded: Int(bitPattern: place) - 1), text, text.count)
    }
  }

  /// The reason of the library's last failure; its list of errors is empty afterwards.
  static func lastReason() -> String {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    guard code != 0, let text = ERR_reason_error_string(code) else { return "failed" }
    return String(cString: text)
  }
}
