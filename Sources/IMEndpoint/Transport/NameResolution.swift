import IMWire

/// Resolves a host's name on a thread of its own, because `getaddrinfo` blocks: one query at a time, one in 5 s at most.
final class NameResolution {
  /// Nanoseconds from one query to the next, at least.
  private static let pause: Int64 = 5_000_000_000

  private let name: ServerName
  private let remote: Remote
  private var isAsking = false
  private var askedAt: Int64?
  /// Called with the answers, on the loop's thread.
  var onAnswer: (Result<[Endpoint], TransportError>) -> Void = { _ in }

  init(_ name: ServerName, _ remote: Remote) { (self.name, self.remote) = (name, remote) }

  /// Starts a query, unless one is under way or the last one is too recent.
  func ask(at now: Int64) {
    if isAsking || askedAt.map({ now - $0 < Self.pause }) ?? false { return }
    let (name, remote, asker) = (name, remote, Asker(self))
    let code = DetachedThread.start {
      let answer = Result { () throws(TransportError) in try resolve(host: name.host, port: name.port) }
      remote.perform { asker.take(answer) }
    }
    isAsking = code == 0
    askedAt = now
  }

  private func answered(_ answer: Result<[Endpoint], TransportError>) {
    isAsking = false
    onAnswer(answer)
  }

  /// The resolution on its way through the query's thread, which only passes it on: `take` is called on the loop's thread.
  private final class Asker: @unchecked Sendable {
    private weak var resolution: NameResolution?

    init(_ resolution: NameResolution) { self.resolution = resolution }

    func take(_ answer: Result<[Endpoint], TransportError>) { resolution?.answered(answer) }
  }
}
