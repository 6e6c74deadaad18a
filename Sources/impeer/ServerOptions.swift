import IMCommandLine
import IMEndpoint
import IMWire

/// Where a server listens, and how.
struct ServerOptions: OptionGroup {
  var host = "127.0.0.1"
  var port: UInt16 = 8_080
  var certificate: String?
  var key: String?
  var keyLog: String?
  var clientAuthorities: String?

  static var table: [Option<Self>] {
    [
      .value("--host <address>", \.host, "Listen on this address; 0.0.0.0 or :: is all addresses."),
      .value("--port <port>", \.port, "Listen on this port; 0 lets the system choose."),
      .value("--cert <file>", \.certificate, "Use TLS with the certificate chain in this PEM file."),
      .value("--key <file>", \.key, "The private key of --cert, a PEM file."),
      .value(
        "--client-ca <file>", \.clientAuthorities,
        "With --cert: accept only clients with a certificate of an authority in this PEM file."),
      .value(
        "--keylog <file>", \.keyLog, "Append TLS secrets to this file, so that a capture can be decrypted."),
    ]
  }

  /// Where to listen.
  func endpoint() throws(Complaint) -> Endpoint {
    do throws(TransportError) {
      let found = try resolve(host: host, port: port)
      return found[0]
    } catch {
      throw Complaint(error.description, .unavailable)
    }
  }

  /// What connections are secured with; nil for plain ones.
  func security() throws(Complaint) -> TLSContext? {
    guard let certificate else {
      // Without it nobody would be asked for a certificate.
      if clientAuthorities != nil { throw Complaint("--client-ca needs --cert", .usage) }
      return nil
    }
    do throws(TransportError) {
      let context = try TLSContext.server(
        certificate: certificate, key: key ?? certificate, clientAuthorities: clientAuthorities)
      if let keyLog { try context.logKeys(to: keyLog) }
      return context
    } catch {
      throw Complaint(error.description, .noInput)
    }
  }
}
