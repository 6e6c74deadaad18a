import IMYAML

/// A scenario as a person writes it: a server, clients that load it, what happens meanwhile, and what is expected.
struct Scenario {
  /// Something that happens at a time after the clients have begun to connect.
  struct Step {
    enum Act: String, CaseIterable {
      /// The server goes down: every connection is reset.
      case stop
      /// It is back, with what it knew.
      case start
    }

    var nanoseconds: Int64
    var act: Act
  }

  /// What is measured in the end, and its least or most.
  enum Expectation {
    /// Percent of the messages acknowledged, at least.
    case delivered(Int)
    /// Messages that came back twice, at most.
    case duplicates(Int)
    /// Nanoseconds that any client was without a connection, at most.
    case reconnect(Int64)
    /// Connections the server saw opened in any one second, at most.
    case connectsPerSecond(Int)
    /// Times that clients lost their connection and came back, at least.
    case reconnects(Int)
    /// Connections that came about, at least.
    case connections(Int)
    /// Frames with a wrong checksum that clients met, at least.
    case damaged(Int)
    /// Sessions that the server refused, at least.
    case refused(Int)
    /// Nanoseconds until any acknowledgment, at most.
    case latency(Int64)
  }

  var name: String
  var faults: [Fault] = []
  var isEcho = false
  var load = Load()
  var steps: [Step] = []
  var expectations: [Expectation] = []

  /// Reads `text`, which `source` names in errors.
  init(_ text: String, source: String) throws(SourceError) {
    let fields = try YAMLReader(text, source: source, subject: "scenario")
      .fields("name", "server", "clients", "steps", "expect")
    name = try fields["name"]?.text() ?? source
    if let server = fields["server"] { try readServer(server) }
    if let clients = fields["clients"] { try readClients(clients) }
    for step in try fields["steps"]?.elements() ?? [] { try readStep(step) }
    if let expect = fields["expect"] { try readExpectations(expect) }
    load.isQuiet = true
  }

  private mutating func readServer(_ server: YAMLReader) throws(SourceError) {
    let fields = try server.fields("faults", "echo")
    isEcho = try fields["echo"]?.flag() ?? false
    for word in try fields["faults"]?.elements() ?? [] {
      guard let fault = Fault(word: try word.text()) else { throw word.error("expected \(Fault.expected)") }
      faults.append(fault)
    }
  }

  private mutating func readClients(_ clients: YAMLReader) throws(SourceError) {
    let fields = try clients.fields("connections", "rate", "duration", "drain", "quirks", "policy", "heartbeat")
    if let value = fields["connections"] { load.connections = try value.number(1...100_000) }
    load.rate = Double(try fields["rate"]?.number(1...1_000_000) ?? 100)
    if let value = fields["duration"] { load.duration = Double(try value.duration()) / 1e9 }
    if let value = fields["drain"] { load.drain = Double(try value.duration()) / 1e9 }
    if let value = fields["heartbeat"] { load.client.heartbeat = .nanoseconds(try value.duration()) }
    if let value = fields["quirks"] {
      guard let quirks = Quirks(rawValue: try value.text()) else {
        throw value.error("expected 'seed' or 'none'")
      }
      load.client.quirks = quirks
    }
    if let value = fields["policy"] {
      guard let policy = Policy(rawValue: try value.text()) else {
        throw value.error("expected 'race' or 'plain'")
      }
      load.client.policy = policy
    }
  }

  private mutating func readStep(_ step: YAMLReader) throws(SourceError) {
    let fields = try step.fields("at", "server")
    guard let at = fields["at"], let word = fields["server"] else {
      throw step.error("expected 'at' and 'server'")
    }
    guard let act = Step.Act(rawValue: try word.text()) else { throw word.error("expected 'stop' or 'start'") }
    steps.append(Step(nanoseconds: try at.duration(), act: act))
  }

  private mutating func readExpectations(_ expect: YAMLReader) throws(SourceError) {
    try expect.allow(
      "delivered", "duplicates", "reconnect", "connects-per-second", "reconnects", "connections", "damaged", "refused",
      "latency")
    for (key, value) in try expect.entries() {
      switch try key.text() {
      case "delivered": expectations.append(.delivered(try value.number(0...100)))
      case "duplicates": expectations.append(.duplicates(try value.number(0...1_000_000)))
      case "reconnect": expectations.append(.reconnect(try value.duration()))
      case "connects-per-second": expectations.append(.connectsPerSecond(try value.number(1...1_000_000)))
      case "reconnects": expectations.append(.reconnects(try value.number(0...1_000_000)))
      case "connections": expectations.append(.connections(try value.number(0...1_000_000)))
      case "damaged": expectations.append(.damaged(try value.number(0...1_000_000)))
      case "refused": expectations.append(.refused(try value.number(0...1_000_000)))
      default: expectations.append(.latency(try value.duration()))
      }
    }
  }
}
