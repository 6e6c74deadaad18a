import Foundation
import IMTestSupport
import Testing

/// Connections that begin in the clear and go on in TLS: Samples/tls/starttls.pcap, of which Samples/make-starttls.py says what it holds.
/// Both ends are OpenSSL; beginnings are those of XMPP, SMTP, IMAP, POP3, PostgreSQL, LDAP, AMQP, NATS and MQTT, with TLS 1.2 and 1.3.
@Suite struct StartTLSTests {
  private static let capture = Samples.path("tls/starttls.pcap")
  private static let keys = Samples.path("tls/starttls.keys")

  private struct Connection {
    let port: String
    let beginning: String
    let clear: Int
    let messages: Int
  }

  private static func truth() throws -> [Connection] {
    let data = try Data(contentsOf: URL(fileURLWithPath: Samples.path("tls/starttls.truth.json")))
    let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: [String: Any]])
    return try object.map { port, fields in
      try Connection(
        port: port, beginning: #require(fields["beginning"] as? String),
        clear: #require(fields["clear"] as? Int), messages: #require(fields["messages"] as? Int))
    }
  }

  /// The publications by the client's port.
  private static func published(_ words: [String]) throws -> [String: Int] {
    var result: [String: Int] = [:]
    for frame in try Store.objects(["-q", "--format", "json", "-r", capture] + words) {
      guard let client = frame["client"] as? String, frame["dir"] as? String == "c2s",
        ["publish", "pub"].contains(frame["type"] as? String ?? "")
      else { continue }
      result[String(client.split(separator: ":").last ?? ""), default: 0] += 1
    }
    return result
  }

  @Test func everyMessageInsideIsRead() throws {
    let truth = try Self.truth()
    #expect(truth.count == 18)
    let found = try Self.published(["--keylog", Self.keys])
    for connection in truth {
      #expect(found[connection.port] == connection.messages, "\(connection.beginning) on \(connection.port)")
    }
    #expect(try Self.published([]).isEmpty)
  }

  /// In the server's direction alone, the ServerHello shows that TLS begins. The first text of POP3's server belongs to another protocol.
  @Test func theServerAloneIsRead() throws {
    var found: [String: Int] = [:]
    for frame in try Store.objects([
      "-q", "--format", "json", "-r", Self.capture, "--keylog", Self.keys, "src host 10.0.0.2",
    ]) {
      guard let client = frame["client"] as? String, ["puback", "msg"].contains(frame["type"] as? String ?? "") else {
        continue
      }
      found[String(client.split(separator: ":").last ?? ""), default: 0] += 1
    }
    for connection in try Self.truth() where connection.beginning != "pop3" {
      #expect(found[connection.port] == connection.messages, "\(connection.beginning) on \(connection.port)")
    }
  }

  /// What nothing decodes before TLS is counted with its reason.
  @Test func whatComesBeforeIsCounted() throws {
    let stats = try #require(try Store.objects(["stats", "--json", "-q", Self.capture, "--keylog", Self.keys]).first)
    let tls = (stats["ledger"] as? [String: Any])?["tls"] as? [String: Any]
    let unread = try #require(tls?["unread_bytes"] as? [String: Any])
    let clear = try Self.truth().filter { !["nats", "mqtt"].contains($0.beginning) }.reduce(0) { $0 + $1.clear }
    #expect((unread["before_tls"] as? NSNumber)?.intValue == clear)
    #expect((tls?["decrypted_connections"] as? NSNumber)?.intValue == 18)
    #expect((tls?["handshakes"] as? NSNumber)?.intValue == 18)
    // Packets are a millisecond apart: a handshake of three to five flights takes a few of them.
    let mean = try #require((tls?["handshake_mean_us"] as? NSNumber)?.intValue)
    #expect((1_000...20_000).contains(mean), "\(mean)")
  }

  /// Without a key log it is named.
  @Test func isNamedWithoutAKeyLog() throws {
    let done = try Command.run(["stats", Self.capture])
    #expect(done.errors.contains("TCP connections are TLS") && done.errors.contains("--keylog FILE"))
  }
}
