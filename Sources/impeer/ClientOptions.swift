import IMCommandLine
import IMEndpoint
import IMWire

/// How a client behaves when the network is bad.
enum Policy: String, CaseIterable, OptionValue {
  /// What the library recommends: overdue messages race over further connections.
  case race
  /// One connection, nothing sent twice on it; what was not acknowledged goes out again after a reconnect.
  case plain
}

/// What clients do, besides where they connect to.
struct ClientOptions: OptionGroup {
  var policy = Policy.race
  var quirks = Quirks.none
  var figures: [RacingFigure] = []
  /// The interval between heartbeats, for scenarios that cannot wait for the usual one.
  var heartbeat: Duration?

  static var table: [Option<Self>] {
    [
      .value("--policy <policy>", \.policy, "Strategy on a bad network: racing, or plain TCP for comparison."),
      .value("--quirks <whose>", \.quirks, "Speak and retry as the article's code does (seed)."),
      .list("--racing <figure>", \.figures, "Change a parameter of racing, NAME=NUMBER, for experiments."),
    ]
  }

  /// Whether sockets are set up for bad networks, too.
  var tunesSockets: Bool { policy == .race && quirks == .none }

  /// A client's configuration; `number` tells clients of one run apart.
  func configuration(server: Endpoint, user: String?, number: UInt64) -> ClientConfiguration {
    var configuration = ClientConfiguration(server: server, user: user)
    if case .racing(var policy) = configuration.resend {
      for figure in figures { figure.apply(to: &policy) }
      configuration.resend = .racing(policy)
    }
    if let heartbeat {
      configuration.heartbeat.foreground = .init(base: heartbeat, minimum: heartbeat, maximum: heartbeat * 20)
      configuration.heartbeat.minimumTimeout = max(heartbeat, .seconds(1))
    }
    if quirks == .seed {
      configuration.useSeedPolicy()
    } else if policy == .plain {
      var never = RacingPolicy()
      never.minimum = .seconds(86_400)
      never.retransmissionLimit = nil
      configuration.resend = .racing(never)
      configuration.maximumConnections = 1
    }
    return configuration
  }
}
