import CEpoll
import Glibc
import IMWire

/// Watches how a destination is reached: the kernel tells over netlink that interfaces, addresses or routes have changed,
/// and the route is looked up anew.
///
/// A path's number is made of the near address that the kernel chooses, so a change of address is another path.
final class PathWatch: Watcher {
  private let loop: EventLoop
  private let file: Int32
  private var watch = EventLoop.Watch.none
  private let destination: Endpoint
  private let onChange: (NetworkPath) -> Void
  private var current: NetworkPath
  private var isStopped = false

  init(
    _ loop: EventLoop, to destination: Endpoint, onChange: @escaping (NetworkPath) -> Void
  ) throws(TransportError) {
    self.loop = loop
    self.destination = destination
    self.onChange = onChange
    file = socket(
      AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), NETLINK_ROUTE
    )
    guard file >= 0 else { throw TransportError("netlink", errno) }
    var address = sockaddr_nl()
    address.nl_family = sa_family_t(AF_NETLINK)
    let groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE
    address.nl_groups = UInt32(groups)
    let netlink = file
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(netlink, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
      }
    }
    current = Self.path(to: destination)
    guard bound == 0 else {
      let code = errno
      close(file)
      throw TransportError("netlink", code)
    }
    watch = loop.enroll(self)
    try loop.watch(file, for: .reading, by: watch)
    onChange(current)
  }

  func isReady(_ readiness: Readiness) {
    // What exactly changed does not matter, nor does news that was lost: the route is asked for. Another address of the
    // same kind may come and go between two looks, so a path that was down is told even if it looks like the one before.
    var wasNone = false
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 8) { room in
      while recv(file, room.baseAddress, room.count, 0) > 0 || errno == ENOBUFS {
        if Self.path(to: destination).kind == .none { wasNone = true }
      }
    }
    let found = Self.path(to: destination)
    if wasNone, found.kind != .none, current.kind != .none { onChange(.none) }
    guard found != current || wasNone else { return }
    current = found
    onChange(found)
  }

  func deadlineCame(_ kind: UInt8) {}
  func flush() {}

  func stop() {
    if isStopped { return }
    isStopped = true
    loop.forget(watch)
    close(file)
  }

  /// How `destination` is reached now. Nothing is sent: the kernel looks up the route of a datagram socket.
  static func path(to destination: Endpoint) -> NetworkPath {
    let family = destination.address.isIPv6 ? AF_INET6 : AF_INET
    let file = socket(family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard file >= 0 else { return .none }
    defer { close(file) }
    guard withSocketAddress(destination, { connect(file, $0, $1) }) == 0, let local = Sockets.local(file) else {
      return .none
    }
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for part in [local.address.high, local.address.low] { hash = (hash ^ part) &* 0x100_0000_01B3 }
    return NetworkPath(kind(of: local.address), number: hash)
  }

  /// What kind of interface carries `address`, by the names and marks that Linux gives to interfaces.
  private static func kind(of address: IPAddress) -> NetworkPath.Kind {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return .wired }
    defer { freeifaddrs(list) }
    var next = list
    while let entry = next {
      next = entry.pointee.ifa_next
      guard let name = entry.pointee.ifa_name, let found = socketAddress(entry.pointee.ifa_addr), found == address
      else { continue }
      let text = String(cString: name)
      if text.hasPrefix("wwan") || text.hasPrefix("ppp") || text.hasPrefix("rmnet") { return .cellular }
      return access("/sys/class/net/" + text + "/wireless", F_OK) == 0 ? .wifi : .wired
    }
    return .wired
  }

  private static func socketAddress(_ address: UnsafeMutablePointer<sockaddr>?) -> IPAddress? {
    guard let address else { return nil }
    var storage = sockaddr_storage()
    let family = Int32(address.pointee.sa_family)
    let size =
      family == AF_INET
      ? MemoryLayout<sockaddr_in>.size : family == AF_INET6 ? MemoryLayout<sockaddr_in6>.size : 0
    withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: size)) }
    return endpoint(storage)?.address
  }
}
