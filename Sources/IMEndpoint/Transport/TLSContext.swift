import CSSL
import Glibc

/// What all TLS connections of one client or one server share: certificates, what is trusted, and where secrets are logged.
public final class TLSContext {
  let pointer: OpaquePointer
  let isServer: Bool
  /// The name that the server's certificate must carry; nil when it is not looked at.
  let serverName: String?
  /// The only keys that the server's certificate may have: SHA-256 of each, 32 bytes. Empty for any.
  private(set) var pins: [[UInt8]] = []
  private var keyLog: Int32 = -1

  /// What is spoken in the channel (ALPN, RFC 7301): clients offer it, a server chooses it where it is offered.
  public static let applicationProtocol = "tjp/1"

  private init(_ pointer: OpaquePointer, isServer: Bool, serverName: String?) {
    self.pointer = pointer
    self.isServer = isServer
    self.serverName = serverName
  }

  deinit {
    SSL_CTX_free(pointer)
    if keyLog >= 0 { close(keyLog) }
  }

  /// A server's side with its certificate chain and private key, both PEM files. With `clientAuthorities`, a PEM file as well, a client is
  /// let in only with a certificate that one of these authorities has signed.
  public static func server(
    certificate: String, key: String, clientAuthorities: String? = nil
  ) throws(TransportError) -> TLSContext {
    let context = TLSContext(try make(TLS_server_method()), isServer: true, serverName: nil)
    try context.use(certificate, key: key)
    SSL_CTX_set_alpn_select_cb(
      context.pointer, { _, chosen, count, offered, size, _ in TLSContext.choose(chosen, count, offered, Int(size)) },
      nil)
    guard let clientAuthorities else { return context }
    guard SSL_CTX_load_verify_file(context.pointer, clientAuthorities) == 1,
      let names = SSL_load_client_CA_file(clientAuthorities)
    else { throw TransportError("TLS authorities " + clientAuthorities, reason: lastReason()) }
    // Clients are told whose certificates are taken.
    SSL_CTX_set_client_CA_list(context.pointer, names)
    SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    // A session that is resumed is one of the same server.
    SSL_CTX_set_session_id_context(context.pointer, applicationProtocol, UInt32(applicationProtocol.utf8.count))
    return context
  }

  /// A client's side that trusts the system's authorities, or those in the PEM file `authorities`, and wants a certificate
  /// for `serverName`; with nil any certificate will do, which is for tests and for `pin`. `certificate` and `key`, PEM files, are the
  /// client's own, for servers that ask for one; the key may be in the same file.
  public static func client(
    serverName: String?, authorities: String? = nil, certificate: String? = nil, key: String? = nil
  ) throws(TransportError) -> TLSContext {
    let context = TLSContext(try make(TLS_client_method()), isServer: false, serverName: serverName)
    if let certificate { try context.use(certificate, key: key ?? certificate) }
    let offer = [UInt8(applicationProtocol.utf8.count)] + Array(applicationProtocol.utf8)
    // This one function gives 0 where it succeeds.
    guard SSL_CTX_set_alpn_protos(context.pointer, offer, UInt32(offer.count)) == 0 else {
      throw TransportError("TLS", reason: lastReason())
    }
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

  /// Takes a server only if its certificate has one of these public keys: the SHA-256 of each as certificates have it
  /// (SubjectPublicKeyInfo), 32 bytes. Whatever else the certificate has to be, it still has to be.
  public func pin(_ keys: [[UInt8]]) { pins = keys }

  private func use(_ certificate: String, key: String) throws(TransportError) {
    guard SSL_CTX_use_certificate_chain_file(pointer, certificate) == 1 else {
      throw TransportError("TLS certificate " + certificate, reason: Self.lastReason())
    }
    guard SSL_CTX_use_PrivateKey_file(pointer, key, SSL_FILETYPE_PEM) == 1, SSL_CTX_check_private_key(pointer) == 1
    else {
      throw TransportError("TLS key " + key, reason: Self.lastReason())
    }
  }

  /// Chooses our protocol among those that a client offers, each with its length in front; none where it is not among them.
  private static func choose(
    _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ count: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?, _ size: Int
  ) -> Int32 {
    guard let chosen, let count, let offered else { return SSL_TLSEXT_ERR_NOACK }
    // SAFETY: OpenSSL hands over `size` bytes that stay there until the choice is copied; no place behind them is read.
    var at = 0
    while at < size {
      let length = Int(offered[at])
      guard length < size - at else { break }
      if UnsafeBufferPointer(start: offered + at + 1, count: length).elementsEqual(applicationProtocol.utf8) {
        chosen.pointee = offered + at + 1
        count.pointee = UInt8(length)
        return SSL_TLSEXT_ERR_OK
      }
      at += 1 + length
    }
    return SSL_TLSEXT_ERR_NOACK
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
