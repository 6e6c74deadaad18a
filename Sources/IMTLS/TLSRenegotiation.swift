/// The newest hellos of a connection that renegotiates (TLS 1.2), including those before the first renegotiation.
///
/// A gap delays one direction while the other is read on, so the hellos do not arrive in pairs. Any client random may belong to any server random:
/// the tag of a record decides.
final class TLSRenegotiation {
  /// The properties of a ServerHello that determine keys.
  struct ServerHello {
    var random: Bytes32
    var suite: UInt16
    var order: TLSKeys.MACOrder
  }

  /// Client randoms, newest last.
  private(set) var clients: [Bytes32] = []
  /// ServerHellos, newest last.
  private(set) var servers: [ServerHello] = []
  /// The number of ClientHellos of renegotiations.
  private var clientCount: UInt32 = 0
  /// The number of ServerHellos of renegotiations.
  private var serverCount: UInt32 = 0

  /// The maximum number of hellos kept for each side.
  private static let most = 4

  /// Starts with the hellos of the first handshake, as far as they are known.
  init(client: Bytes32?, server: ServerHello?) {
    if let client { clients.append(client) }
    if let server { servers.append(server) }
  }

  /// Adds a client random. A random that was found by trial is added again when its hello is read: it counts once.
  func add(client random: Bytes32) {
    if let place = clients.firstIndex(where: { $0.words == random.words }) {
      clients.append(clients.remove(at: place))
      return
    }
    clients.append(random)
    if clients.count > Self.most { clients.removeFirst() }
    clientCount &+= 1
  }

  /// Adds a ServerHello.
  func add(server: ServerHello) {
    servers.append(server)
    if servers.count > Self.most { servers.removeFirst() }
    serverCount &+= 1
  }

  /// The side whose hello of the newest renegotiation was not read, or not yet; `nil` if both were.
  var missing: TLSUnread? {
    clientCount == serverCount ? nil : clientCount > serverCount ? .noServerHello : .noHello
  }
}

extension TLSConnection {
  /// Adds a ClientHello inside records, or a secret that fits the newest ServerHello.
  func addRenegotiated(client random: Bytes32, _ context: TLSContext) {
    beginRenegotiation().add(client: random)
    setClientRandom(random, context)
  }

  /// Adds a ServerHello inside records, before it becomes the connection's newest.
  func addRenegotiated(server: TLSRenegotiation.ServerHello) {
    beginRenegotiation().add(server: server)
    // Secrets that did not fit the previous ServerHello may fit this one.
    for direction in 0..<2 { sides[direction].trialGeneration = .max }
  }

  private func beginRenegotiation() -> TLSRenegotiation {
    if let renegotiation { return renegotiation }
    let server = TLSRenegotiation.ServerHello(random: serverRandom, suite: facts.suite, order: order)
    let made = TLSRenegotiation(client: hasClientHello ? clientRandom : nil, server: hasServerHello ? server : nil)
    renegotiation = made
    return made
  }
}
