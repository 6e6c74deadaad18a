import CSSL
import Synchronization

/// Lines of key logs by the context that wrote them: libssl's callback has no argument of its own.
private let keyLogs = Mutex<[UInt: [String]]>([:])

/// What a connection of `TLSPeers` is made with.
struct TLSPeerOptions {
  var version = TLS1_3_VERSION
  /// A suite of TLS 1.3 or a cipher string of TLS 1.2.
  var suites = "TLS_AES_128_GCM_SHA256"
  var options: UInt64 = 0
  var clientOptions: UInt64 = 0
  var serverGroups: String?
  var asksForCertificate = false
  /// Plaintext of TLS 1.3 is padded to a multiple of this.
  var padding = 0
  var earlyDataLimit: UInt32 = 0
  var serverName: String?
  /// Whether the ClientHello has the extension of an encrypted one.
  var offersEncryptedHello = false
}

/// A client and a server of OpenSSL, joined in memory, and all that they send.
final class TLSPeers {
  /// Bytes in the order in which they were sent.
  struct Flight: Equatable {
    var direction: Int
    var bytes: [UInt8]
  }

  private let clientContext: OpaquePointer
  private let serverContext: OpaquePointer
  private(set) var client: OpaquePointer
  private(set) var server: OpaquePointer
  private(set) var flights: [Flight] = []
  /// Application data that each direction sent, a write each.
  private(set) var sent: [[[UInt8]]] = [[], []]
  private let options: TLSPeerOptions

  init(_ options: TLSPeerOptions) {
    self.options = options
    clientContext = Self.context(options, isServer: false)
    serverContext = Self.context(options, isServer: true)
    client = Self.connection(clientContext, options, isServer: false)
    server = Self.connection(serverContext, options, isServer: true)
  }

  deinit {
    SSL_free(client)
    SSL_free(server)
    for context in [clientContext, serverContext] {
      _ = keyLogs.withLock { $0.removeValue(forKey: UInt(bitPattern: context)) }
      SSL_CTX_free(context)
    }
  }

  /// The client's key log.
  var keyLog: [String] { keyLogs.withLock { $0[UInt(bitPattern: clientContext)] ?? [] } }

  /// The bytes of one direction.
  func stream(_ direction: Int) -> [UInt8] { flights.filter { $0.direction == direction }.flatMap(\.bytes) }

  // SAFETY: written once; libssl's reference counts are for all threads.
  nonisolated(unsafe) private static let identity: (key: OpaquePointer, certificate: OpaquePointer) = {
    let maker = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    EVP_PKEY_keygen_init(maker)
    EVP_PKEY_CTX_set_group_name(maker, "P-256")
    var key: OpaquePointer?
    EVP_PKEY_generate(maker, &key)
    EVP_PKEY_CTX_free(maker)
    let certificate = X509_new()
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1)
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0)
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86_400)
    X509_set_pubkey(certificate, key)
    let name = X509_get_subject_name(certificate)
    X509_NAME_add_entry_by_txt(name, "CN", 0x1000 | 1, "im.example", -1, -1, 0)
    X509_set_issuer_name(certificate, name)
    X509_sign(certificate, key, EVP_sha256())
    guard let key, let certificate else { preconditionFailure("libcrypto made no certificate") }
    return (key, certificate)
  }()

  private static func context(_ options: TLSPeerOptions, isServer: Bool) -> OpaquePointer {
    guard let context = SSL_CTX_new(TLS_method()) else { preconditionFailure("no context") }
    // SSL_CTRL_SET_MIN_PROTO_VERSION and its fellow, which are macros.
    SSL_CTX_ctrl(context, 123, Int(options.version), nil)
    SSL_CTX_ctrl(context, 124, Int(options.version), nil)
    if options.version == TLS1_3_VERSION {
      SSL_CTX_set_ciphersuites(context, options.suites)
    } else {
      SSL_CTX_set_cipher_list(context, options.suites + ":@SECLEVEL=0")
    }
    SSL_CTX_set_options(context, options.options | (isServer ? 0 : options.clientOptions))
    SSL_CTX_use_certificate(context, identity.certificate)
    SSL_CTX_use_PrivateKey(context, identity.key)
    SSL_CTX_set_session_id_context(context, [1], 1)
    if isServer {
      if let groups = options.serverGroups {
        _ = groups.withCString { SSL_CTX_ctrl(context, 92, 0, UnsafeMutableRawPointer(mutating: $0)) }
      }
      if options.asksForCertificate { SSL_CTX_set_verify(context, SSL_VERIFY_PEER) { _, _ in 1 } }
      SSL_CTX_set_max_early_data(context, options.earlyDataLimit)
    } else {
      imdump_ssl_cache_sessions(context, 1)
      if options.offersEncryptedHello {
        // SSL_EXT_CLIENT_HELLO.
        SSL_CTX_add_custom_ext(context, 0xfe0d, 0x80, nil, nil, nil, nil, nil)
      }
      SSL_CTX_set_keylog_callback(context) { connection, line in
        guard let line else { return }
        let context = UInt(bitPattern: SSL_get_SSL_CTX(connection))
        keyLogs.withLock { $0[context, default: []].append(String(cString: line)) }
      }
    }
    return context
  }

  private static func connection(_ context: OpaquePointer, _ options: TLSPeerOptions, isServer: Bool) -> OpaquePointer {
    guard let connection = SSL_new(context) else { preconditionFailure("no connection") }
    SSL_set_bio(connection, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()))
    if options.padding > 0 { SSL_set_block_padding(connection, options.padding) }
    if isServer {
      SSL_set_accept_state(connection)
    } else {
      SSL_set_connect_state(connection)
      if let name = options.serverName { imdump_ssl_set_server_name(connection, name) }
    }
    return connection
  }

  /// Carries what one side wrote to the other, and keeps it.
  @discardableResult
  private func carry(_ direction: Int) -> Bool {
    let (from, to) = direction == 0 ? (client, server) : (server, client)
    var bytes = [UInt8](repeating: 0, count: 1 << 17)
    let count = BIO_read(SSL_get_wbio(from), &bytes, Int32(bytes.count))
    guard count > 0 else { return false }
    bytes.removeLast(bytes.count - Int(count))
    BIO_write(SSL_get_rbio(to), bytes, count)
    flights.append(Flight(direction: direction, bytes: bytes))
    return true
  }

  /// Shakes hands until nothing moves.
  func shakeHands() -> Bool {
    for _ in 0..<20 {
      let isClientDone = SSL_do_handshake(client) == 1
      carry(0)
      let isServerDone = SSL_do_handshake(server) == 1
      carry(1)
      if isClientDone, isServerDone { break }
    }
    // Tickets, and answers to what came.
    read(0)
    read(1)
    return SSL_is_init_finished(client) == 1 && SSL_is_init_finished(server) == 1
  }

  /// Sends application data in a record.
  func send(_ direction: Int, _ bytes: [UInt8]) {
    let from = direction == 0 ? client : server
    if SSL_write(from, bytes, Int32(bytes.count)) == Int32(bytes.count) { sent[direction].append(bytes) }
    carry(direction)
    read(1 - direction)
  }

  /// The side that sends `direction` reads what came for it, and what it answers is carried.
  func read(_ direction: Int) {
    let side = direction == 0 ? client : server
    var bytes = [UInt8](repeating: 0, count: 1 << 17)
    while SSL_read(side, &bytes, Int32(bytes.count)) > 0 {}
    carry(direction)
  }

  /// Renews the keys of a direction, and of the other one too when asked.
  func updateKeys(_ direction: Int, isAskedBack: Bool) {
    SSL_key_update(direction == 0 ? client : server, isAskedBack ? 1 : 0)
  }

  /// A handshake within the connection.
  func renegotiate() -> Bool {
    guard SSL_renegotiate(client) == 1 else { return false }
    for _ in 0..<8 {
      SSL_do_handshake(client)
      carry(0)
      read(1)
      read(0)
    }
    return SSL_is_init_finished(client) == 1 && SSL_renegotiate_pending(client) == 0
  }

  /// A further connection that resumes the session of the last one. Flights and what was sent begin anew.
  func reconnect(early: [UInt8] = [], isAccepted: Bool = true) -> Bool {
    let session = SSL_get1_session(client)
    // Closed well, or the session is not resumed.
    SSL_shutdown(client)
    SSL_shutdown(server)
    SSL_free(client)
    SSL_free(server)
    flights = []
    sent = [[], []]
    client = Self.connection(clientContext, options, isServer: false)
    server = Self.connection(serverContext, options, isServer: true)
    SSL_set_session(client, session)
    SSL_SESSION_free(session)
    if !early.isEmpty {
      var count = 0
      guard SSL_write_early_data(client, early, early.count, &count) == 1 else { return false }
      carry(0)
      // A server that does not ask for early data rejects it.
      if isAccepted {
        sent[0].append(early)
        var room = [UInt8](repeating: 0, count: 1 << 15)
        SSL_read_early_data(server, &room, room.count, &count)
      }
      carry(1)
    }
    let isDone = shakeHands()
    return isDone && SSL_session_reused(client) == 1
  }

  /// Whether the server took the early data.
  var isEarlyDataAccepted: Bool { SSL_get_early_data_status(client) == 2 }

  /// Both sides say that they close.
  func close() {
    SSL_shutdown(client)
    carry(0)
    SSL_shutdown(server)
    carry(1)
  }
}
