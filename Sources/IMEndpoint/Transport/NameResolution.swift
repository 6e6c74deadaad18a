import Glibc
import IMWire

/// Resolves a host's name on a thread of its own, because `getaddrinfo` blocks: one query at a time, one in 5 s at most.
final class NameResolution {
  /// Nanoseconds between two questions.
  private static let pause: Int64 = 5_000_000_000

  private let name: ServerName
  private let remote: Remote
  private var isAsking = false
  private var askedAt: Int64?
  /// Called with the answers, on the loop's thread.
  var onAnswer: (Result<[Endpoint], TransportError>) -> Void = { _ in }

  init(_ name: ServerName, _ remote: Remote) { (self.name, self.remote) = (name, remote) }

  /// Asks, unless an answer is on its way or the last question was a moment ago.
  func ask(at now: Int64) {
    if isAsking || askedAt.map({ now - $0 < Self.pause }) ?? false { return }
    let question = Question(name, remote, Asker(self))
    var thread = pthread_t()
    let body = Unmanaged.passRetained(question)
    let code = pthread_create(
      &thread, nil,
      { place in
        if let place { Unmanaged<Question>.fromOpaque(place).takeRetainedValue().run() }
        return nil
      }, body.toOpaque())
    guard code == 0 else { return body.release() }
    pthread_detach(thread)
    (isAsking, askedAt) = (true, now)
  }

  private func answered(_ answer: Result<[Endpoint], TransportError>) {
    isAsking = false
    onAnswer(answer)
  }

  /// Who asks, on its way through another thread, which does not look at it: only the loop's thread does.
  private final class Asker: @unchecked Sendable {
    private weak var resolution: NameResolution?

    init(_ resolution: NameResolution) { self.resolution = resolution }

    func take(_ answer: Result<[Endpoint], TransportError>) { resolution?.answered(answer) }
  }

  private final class Question {
    private let name: ServerName, remote: Remote, asker: Asker

    init(_ name: ServerName, _ remote: Remote, _ asker: Asker) {
      (self.name, self.remote, self.asker) = (name, remote, asker)
    }

    func run() {
      let name = name, asker = asker
      let answer = Result { () throws(TransportError) in try resolve(host: name.host, port: name.port) }
      remote.perform { asker.take(answer) }
    }
  }
}
