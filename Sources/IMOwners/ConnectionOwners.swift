import Glibc
package import IMWire

/// Who has the local ends of connections that are captured live, asked of the kernel.
///
/// A connection is asked for when its owner is first wanted: one request about its server's end and, where that is not of
/// this host, one about its client's. Both are answered at once. At most 1,000 requests are made in a second; connections beyond
/// that wait for a dump of all sockets, which is read a little at a time in `advance`. A connection of another host, or of
/// another network namespace, has no owner.
///
///     let owners = ConnectionOwners()            // before privileges are dropped
///     owners.owner(of: 7, client: c, server: s)  // nil where there is none, or none yet
///     owners.advance()                           // after each batch
package final class ConnectionOwners {
  /// What came of asking.
  private enum Entry {
    case known(SocketOwner)
    case none
    /// Waits for the dump, which asks for one of these.
    case waiting
  }

  /// Requests in a second.
  static let requestsPerSecond: UInt64 = 1_000
  /// Connections remembered, and those that wait for a dump.
  private static let maximumCount = 1 << 16
  /// Reads of a dump in one `advance`, and the bytes of each.
  private static let readsAtOnce = 16, readCount = 32 << 10

  private let descriptor: Int32
  private var groups: ControlGroups?
  private var entries: [UInt32: Entry] = [:]
  /// Connections in the order in which they came, to forget the oldest.
  private var order: [UInt32] = []
  /// Ends that the dump is to find, and whether they are the server's.
  private var waiting: [DiagMessage.Ends: (connection: UInt32, isServer: Bool)] = [:]
  private var sequence: UInt32 = 0
  /// The dump that is being read: its number, and whether that of IPv6 is to follow.
  private var dump: (sequence: UInt32, isIPv6: Bool)?
  private var nextDump: UInt64 = 0
  /// Requests that may still be made in the second that began at `second`.
  private var left = requestsPerSecond
  private var second: UInt64 = 0
  private let buffer: UnsafeMutableRawBufferPointer
  private let clock: () -> UInt64

  /// Opens the way to the kernel; `nil` where there is none. `groups` is the folder of the control groups, and `clock` tells
  /// nanoseconds, for tests.
  package init?(groups root: String? = nil, clock: (() -> UInt64)? = nil) {
    descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | O_NONBLOCK | O_CLOEXEC, 4)
    guard descriptor >= 0 else { return nil }
    groups = ControlGroups(root: root)
    buffer = .allocate(byteCount: Self.readCount, alignment: 16)
    self.clock =
      clock ?? {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return UInt64(max(0, now.tv_sec)) * 1_000_000_000 + UInt64(max(0, now.tv_nsec))
      }
  }

  /// Whether control groups of version 2 can be read, and with them units, containers and pods.
  package var knowsGroups: Bool { groups != nil }

  /// Owners that are known from elsewhere, by the connections' numbers; the kernel is not asked.
  package init(known: [UInt32: SocketOwner]) {
    descriptor = -1
    buffer = .allocate(byteCount: 16, alignment: 16)
    clock = { 0 }
    entries = known.mapValues { .known($0) }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
    buffer.deallocate()
  }

  /// The owner of the connection with this number; `nil` where it has none here, or none is known yet.
  package func owner(of connection: UInt32, client: Endpoint, server: Endpoint) -> SocketOwner? {
    switch entries[connection] {
    case .known(let owner): return owner
    case .none?, .waiting: return nil
    case nil: break
    }
    if entries.count >= Self.maximumCount { forgetHalf() }
    order.append(connection)
    let now = refill()
    let ends = [
      DiagMessage.Ends(local: server, remote: client), DiagMessage.Ends(local: client, remote: server),
    ]
    for end in ends {
      guard left > 0, dump == nil else {
        entries[connection] = .waiting
        waiting[ends[0]] = (connection, true)
        waiting[ends[1]] = (connection, false)
        return nil
      }
      left -= 1
      guard let socket = ask(end) else { continue }
      let owner = owner(socket, now)
      entries[connection] = .known(owner)
      return owner
    }
    entries[connection] = Entry.none
    return nil
  }

  /// The owner of the connection between two ends of which one may be of this host: `one`, or else `other`. It is not
  /// remembered, and `nil` where there are no requests left in this second.
  package func owner(between one: Endpoint, and other: Endpoint) -> SocketOwner? {
    let now = refill()
    for ends in [DiagMessage.Ends(local: one, remote: other), DiagMessage.Ends(local: other, remote: one)] {
      guard left > 0, dump == nil else { return nil }
      left -= 1
      if let socket = ask(ends) { return owner(socket, now) }
    }
    return nil
  }

  /// Gives a new second its requests, and tells the time.
  private func refill() -> UInt64 {
    let now = clock()
    if now &- second >= 1_000_000_000 { (second, left) = (now, Self.requestsPerSecond) }
    return now
  }

  /// Goes on with a dump, or begins one where connections wait. To be called after each batch.
  package func advance() {
    if dump == nil {
      let now = clock()
      guard !waiting.isEmpty, now >= nextDump else { return }
      nextDump = now &+ 1_000_000_000
      begin(isIPv6: false)
    }
    for _ in 0..<Self.readsAtOnce {
      guard let current = dump else { return }
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      guard count > 0 else {
        // A dump that was broken off leaves the rest unknown.
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        return endDump()
      }
      take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), current)
    }
  }

  private func take(_ bytes: UnsafeRawBufferPointer, _ current: (sequence: UInt32, isIPv6: Bool)) {
    for (sequence, answer) in DiagMessage.answers(bytes) where sequence == current.sequence {
      switch answer {
      case .socket(let socket):
        guard let (connection, isServer) = waiting.removeValue(forKey: socket.ends) else { continue }
        // Where both ends are of this host, the server's counts.
        if !isServer, case .known? = entries[connection] { continue }
        entries[connection] = .known(owner(socket, clock()))
      case .none, .done:
        if current.isIPv6 { endDump() } else { begin(isIPv6: true) }
        return
      }
    }
  }

  private func begin(isIPv6: Bool) {
    sequence &+= 1
    dump = send(DiagMessage.dump(isIPv6: isIPv6, sequence: sequence)) ? (sequence, isIPv6) : nil
    if dump == nil { endDump() }
  }

  /// What the dump did not find is of other hosts.
  private func endDump() {
    dump = nil
    for (connection, _) in waiting.values {
      if case .waiting? = entries[connection] { entries[connection] = Entry.none }
    }
    waiting.removeAll()
  }

  /// What the kernel says of the socket with these ends.
  private func ask(_ ends: DiagMessage.Ends) -> DiagMessage.Socket? {
    sequence &+= 1
    guard send(DiagMessage.request(ends, sequence: sequence)) else { return nil }
    let count = read(descriptor, buffer.baseAddress, buffer.count)
    guard count > 0 else { return nil }
    for (number, answer) in DiagMessage.answers(UnsafeRawBufferPointer(rebasing: buffer[..<count])) {
      if number == sequence, case .socket(let socket) = answer, socket.ends == ends { return socket }
    }
    return nil
  }

  private func send(_ bytes: [UInt8]) -> Bool {
    descriptor >= 0 && write(descriptor, bytes, bytes.count) == bytes.count
  }

  private func owner(_ socket: DiagMessage.Socket, _ now: UInt64) -> SocketOwner {
    guard let group = socket.group, let path = groups?.path(group, now: now) else {
      return SocketOwner(user: socket.user)
    }
    return SocketOwner(path: path, user: socket.user)
  }

  private func forgetHalf() {
    for connection in order.prefix(order.count / 2) { entries[connection] = nil }
    order.removeFirst(order.count / 2)
    waiting = waiting.filter { entries[$0.value.connection] != nil }
  }
}
