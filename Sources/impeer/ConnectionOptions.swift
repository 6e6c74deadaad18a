import IMCommandLine
import IMEndpoint
import IMWire

/// Where a server is, and how it is spoken to: what every command that connects has.
struct ConnectionOptions: OptionGroup {
  var host = "127.0.0.1"
  var port: UInt16 = 8_080
  var usesTLS = false
  var authorities: String?
  var isInsecure = false
  var keyLog: String?
  var tokenFile: String?
  var certificate: String?
  var key: String?
  var pins: [String] = []

  static var table: [Option<Self>] {
    [
      .value("--host <host>", \.host, "Connect to this name or address."),
      .value("--port <port>", \.port, in: 1...65_535, "Connect to this port."),
      .flag("--tls", \.usesTLS, "Use TLS, and verify the server certificate against --host."),
      .value("--ca <file>", \.authorities, "Trust the authorities in this PEM file instead of the system's."),
      .flag("--insecure", \.isInsecure, "Accept any certificate, for tests."),
      .list(
        "--pin <digest>", \.pins,
        "Accept only a server with this public key: its SHA-256, 64 hexadecimal digits. Repeatable."),
      .value("--client-cert <file>", \.certificate, "Present the certificate chain in this PEM file to the server."),
      .value("--client-key <file>", \.key, "The private key of --client-cert, a PEM file."),
      .value(
        "--keylog <file>", \.keyLog, "Append TLS secrets to this file, so that a capture can be decrypted."),
      .value("--token-file <file>", \.tokenFile, "Authenticate with the token in this file."),
    ]
  }

  private static func digest(_ text: String) -> [UInt8]? {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count == 64, text.utf8.count == 64 else { return nil }
    return stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  /// The addresses of the server.
  func resolved() throws(Complaint) -> [Endpoint] {
    do throws(TransportError) { return try resolve(host: host, port: port) } catch {
      throw Complaint(error.description, .unavailable)
    }
  }

  /// The token that the server is shown; nil for none.
  func token() throws(Complaint) -> [UInt8]? {
    guard let tokenFile else { return nil }
    return Array(try readText(tokenFile).prefix { !$0.isNewline }.utf8)
  }

  /// What connections are secured with; nil for plain ones.
  func security() throws(Complaint) -> TLSContext? {
    guard usesTLS || authorities != nil || isInsecure || certificate != nil || key != nil || !pins.isEmpty
    else { return nil }
    if key != nil, certificate == nil { throw Complaint("--client-key needs --client-cert", .usage) }
    var digests: [[UInt8]] = []
    for pin in pins {
      guard let digest = Self.digest(pin) else {
        throw Complaint("--pin: '\(pin)' is not 64 hexadecimal digits", .usage)
      }
      digests.append(digest)
    }
    do throws(TransportError) {
      let context = try TLSContext.client(
        serverName: isInsecure ? nil : host, authorities: authorities, certificate: certificate, key: key)
      context.pin(digests)
      if let keyLog { try context.logKeys(to: keyLog) }
      return context
    } catch {
      throw Complaint(error.description, .noInput)
    }
  }
}

/// Whose way of speaking the protocol is followed.
enum Quirks: String, CaseIterable, OptionValue {
  /// As the protocol is meant.
  case none
  /// As the article's code does, defects included.
  case seed
}
