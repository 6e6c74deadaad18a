import IMOutput

/// The connections to a run's server, and who of them waits for which text. Bounded whatever clients do; it touches no socket.
struct WebDispatcher {
  /// A connection and its socket.
  struct Client {
    let descriptor: Int32
    var connection: WebConnection
    /// Whether its socket took less than it was given, so that it has to be waited for.
    var isBlocked = false
  }

  /// Connections at once.
  static let maximumClients = 16
  /// Seconds for which a text is new.
  static let freshness = 1.0

  /// The oldest one first.
  var clients: [Client] = []
  private let offers: WebOffers
  private var texts: [(response: HTTPResponse, at: Double)?] = WebResource.allCases.map { _ in nil }
  /// Bits of the texts that the capture was asked for, and has not written yet.
  private var asked = 0
  private var unasked = 0

  /// A desk at which nobody stands.
  init(_ offers: WebOffers = WebOffers()) { self.offers = offers }

  /// When something has lasted too long, unless it changes before.
  var nextEnd: Double { clients.reduce(.infinity) { min($0, $1.connection.end) } }

  /// Takes a connection. Where there is no place, another one is over: the oldest that has not asked yet, or else that has
  /// its answer, or else the oldest.
  mutating func take(_ descriptor: Int32, at now: Double) {
    if clients.count >= Self.maximumClients {
      let place =
        clients.firstIndex { $0.connection.phase == .reading }
        ?? clients.firstIndex { $0.connection.phase == .lingering } ?? clients.startIndex
      clients[place].connection.failed()
    }
    clients.append(Client(descriptor: descriptor, connection: WebConnection(at: now, offers: offers)))
  }

  /// Forgets the connections that are over; their sockets.
  mutating func takeOver() -> [Int32] {
    guard clients.contains(where: { $0.connection.phase == .over }) else { return [] }
    let descriptors = clients.filter { $0.connection.phase == .over }.map(\.descriptor)
    clients.removeAll { $0.connection.phase == .over }
    return descriptors
  }

  /// Takes what a client has said. It is answered at once where a text is new; else when the capture has written one.
  mutating func received(_ bytes: Span<UInt8>, from index: Int, at now: Double) {
    guard let resource = clients[index].connection.received(bytes, at: now) else { return }
    if let text = texts[resource.rawValue], now - text.at < Self.freshness {
      clients[index].connection.answer(text.response)
    } else if asked & resource.bit == 0 {
      asked |= resource.bit
      unasked |= resource.bit
    }
  }

  /// Bits of the texts that the capture is to be asked for, each of them once until it is written.
  mutating func takeWanted() -> Int {
    defer { unasked = 0 }
    return unasked
  }

  /// Gives a text to all who wait for it.
  mutating func publish(_ response: HTTPResponse, _ resource: WebResource, at now: Double) {
    asked &= ~resource.bit
    texts[resource.rawValue] = (response, now)
    for index in clients.indices where clients[index].connection.phase == .waiting(resource) {
      clients[index].connection.answer(response)
    }
  }

  /// Ends what has lasted too long.
  mutating func expire(at now: Double) {
    for index in clients.indices where clients[index].connection.end <= now { clients[index].connection.expire() }
  }
}
