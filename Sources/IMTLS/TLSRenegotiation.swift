/// The newest hellos of a connection that renegotiates (TLS 1.2), those before the first renegotiation included.
///
/// A gap holds one direction back while the other is read on, so the hellos do not arrive in the order of their pairs. Any client random may
/// belong to any server random: the tag of a record decides.
final class TLSRenegotiation {
  /// What a ServerHello says of the keys.
  struct ServerHello {
    var random: Bytes32
    var suite: UInt16
    var order: TLSKeys.MACOrder
  }

  /// Client randoms, newest last.
  private(set) var clients: [Bytes32] = []
  /// ServerHellos, newest last.
  private(set) var servers: [ServerHello] = []
  /// Hellos of renegotiations by side.
  private var clientCount: UInt32 = 0
  private var serverCount: UInt32 = 0

  /// Hellos of each side that are kept.
  private static let most = 4

  /// Begins with the hellos of the first handshake, as far as they are known.
  init(client: Bytes32?, server: ServerHello?) {
    if let client { clients.append(client) }
    if let server { servers.append(server) }
  }

  /// Takes a client random. One that was found by trial is taken again when its hello is read: it counts once.
  func add(client random: Bytes32) {
    if let place = clients.firstIndex(where: { $0.words == random.words }) {
      clients.append(clients.remove(at: place))
      return
    }
    clients.append(random)
    if clients.count > Self.most { clients.removeFirst() }
    clientCount &+= 1
  }

  /// Takes a ServerHello.
  func add(server: ServerHello) {
    servers.append(server)
    if servers.count > Self.most { servers.removeFirst() }
    serverCount &+= 1
  }

  /// Which side's hello of the newest renegotiation was not read, or not yet; `nil` when both were.
  var missing: TLSUnread? {
    clientCount == serverCount ? nil : clientCount > serverCount ? .noServerHello : .noHello
  }
}

extension TLSConnection {
  /// A ClientHello inside records, or a secret that fits to the newest ServerHello.
  func addRenegotiated(client random: Bytes32, _ context: TLSContext) {
    beginRenegotiation().add(client: random)
    setClientRandom(random, context)
  }

  /// A ServerHello inside records, before it becomes the connection's newest.
  func addRenegotiated(server: TLSRenegotiation.ServerHello) {
    beginRenegotiation().add(server: server)
    // Secrets that did not fit the ServerHello before may fit this one.
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
