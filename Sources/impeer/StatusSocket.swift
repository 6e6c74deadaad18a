import Glibc
import IMEndpoint

/// Where a running server says what it holds: a socket of this host alone, which no file stands for.
enum StatusAddress {
  /// The socket's name in the abstract namespace.
  static func name(_ port: UInt16) -> String { "impeer.\(port)" }

  /// A socket of the kind that both ends have; below 0 with the reason in `errno`.
  static func open(waits: Bool) -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    return socket(AF_UNIX, waits ? type : type | Int32(SOCK_NONBLOCK.rawValue), 0)
  }

  /// Calls `body` with the address of a server's socket.
  static func with(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(name(port).utf8)
    // The first byte is 0: an abstract name, as long as the address says.
    withUnsafeMutableBytes(of: &address.sun_path) { path in
      for (offset, byte) in name.enumerated() where offset + 1 < path.count { path[offset + 1] = byte }
    }
    let length = MemoryLayout<sa_family_t>.size + 1 + name.count
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
  }

  /// The user that the process at the other end had when it connected or listened; nil where the system does not say.
  static func user(of file: Int32) -> uid_t? {
    // Process, user and group, four bytes each.
    var credentials: (Int32, UInt32, UInt32) = (0, 0, 0)
    var length = socklen_t(12)
    guard getsockopt(file, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0, length == 12 else { return nil }
    return credentials.1
  }

  /// Reads what a server says of itself: a name and a number on each line.
  static func figures(_ text: String) -> [(name: String, value: UInt64)] {
    text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ", maxSplits: 1)
      guard words.count == 2, words[0].utf8.allSatisfy({ 97...122 ~= $0 || $0 == 95 }), let value = UInt64(words[1])
      else { return nil }
      return (String(words[0]), value)
    }
  }
}

/// The server's end: whoever connects, and is this user or root, is told what there is, and is gone.
final class StatusSocket: Watcher {
  private let loop: EventLoop
  private let file: Int32
  private var watch = EventLoop.Watch.none
  private let snapshot: () -> ServerSnapshot
  /// Connections answered in one turn.
  private static var answersATurn: Int { 8 }

  /// Listens; nil where that cannot be, with the reason in `errno`.
  init?(_ loop: EventLoop, port: UInt16, _ snapshot: @escaping () -> ServerSnapshot) {
    (self.loop, self.snapshot) = (loop, snapshot)
    file = StatusAddress.open(waits: false)
    guard file >= 0 else { return nil }
    guard StatusAddress.with(port, { bind(file, $0, $1) }) == 0, listen(file, 8) == 0 else {
      let reason = errno
      close(file)
      errno = reason
      return nil
    }
    watch = loop.enroll(self)
    do throws(TransportError) { try loop.watch(file, for: .reading, by: watch) } catch {
      stop()
      return nil
    }
  }

  /// Answers no more.
  func stop() {
    loop.forget(watch)
    close(file)
  }

  func isReady(_ readiness: Readiness) {
    for _ in 0..<Self.answersATurn {
      guard let (asking, _) = Sockets.accept(file) else { return }
      if let user = StatusAddress.user(of: asking), user == geteuid() || user == 0 { tell(asking) }
      close(asking)
    }
  }

  /// The text is shorter than what a socket takes at once, so a peer that does not read does not hold the server up.
  private func tell(_ asking: Int32) {
    var text = snapshot().figures.map { "\($0.name) \($0.value)\n" }.joined()
    text.withUTF8 { _ = send(asking, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }

  func deadlineCame(_ kind: UInt8) {}
  func flush() {}
}
