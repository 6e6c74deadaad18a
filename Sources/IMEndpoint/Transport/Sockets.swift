import CEpoll
import Glibc
package import IMWire

/// The system calls of TCP sockets, with their errors as values. None of them blocks.
package enum Sockets {
  /// Opens a socket of the address family of `endpoint`.
  package static func open(for endpoint: Endpoint) throws(TransportError) -> Int32 {
    let family = endpoint.address.isIPv6 ? AF_INET6 : AF_INET
    let file = socket(family, streamType, 0)
    guard file >= 0 else { throw TransportError("socket", errno) }
    return file
  }

  private static var streamType: Int32 {
    Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
  }

  /// Opens a socket that listens at `endpoint`; `backlog` connections may wait to be accepted.
  package static func listen(at endpoint: Endpoint, backlog: Int32) throws(TransportError) -> Int32 {
    let file = try open(for: endpoint)
    set(file, SOL_SOCKET, SO_REUSEADDR, 1)
    // A listener on :: serves IPv4, too.
    if endpoint.address.isIPv6 { set(file, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
    let bound = withSocketAddress(endpoint) { bind(file, $0, $1) }
    guard bound == 0, Glibc.listen(file, backlog) == 0 else {
      let code = errno
      close(file)
      throw TransportError(bound == 0 ? "listen" : "bind", code)
    }
    return file
  }

  /// Begins to connect; nil when it is under way or done, else the error's number.
  package static func connect(_ file: Int32, to endpoint: Endpoint) -> Int32? {
    let result = withSocketAddress(endpoint) { Glibc.connect(file, $0, $1) }
    return result == 0 || errno == EINPROGRESS || errno == EINTR ? nil : errno
  }

  /// How connecting ended, or why a connection failed: an error's number, 0 for none.
  package static func pendingError(_ file: Int32) -> Int32 {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(file, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else { return errno }
    return code
  }

  /// Accepts a connection; nil when none waits or the system refuses, with the reason in `errno`.
  package static func accept(_ listener: Int32) -> (file: Int32, remote: Endpoint?)? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let file = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { accept4(listener, $0, &length, flags) }
    }
    return file < 0 ? nil : (file, endpoint(address))
  }

  /// The near end of a connection or of a listener.
  package static func local(_ file: Int32) -> Endpoint? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(file, $0, &length) }
    }
    return result == 0 ? endpoint(address) : nil
  }

  /// Sets an option of a whole number; a system that does not know it leaves the connection as it was.
  package static func set(_ file: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    _ = setsockopt(file, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Sets a connection up. `TCP_RTO_MAX_MS` is new in Linux 6.15; older kernels go without.
  package static func apply(_ options: SocketOptions, to file: Int32) {
    let tcp = Int32(IPPROTO_TCP)
    if options.sendsAtOnce { set(file, tcp, TCP_NODELAY, 1) }
    if options.retransmitsLinearly { set(file, tcp, TCP_THIN_LINEAR_TIMEOUTS, 1) }
    if let longest = options.longestRetransmissionTimeout {
      set(file, tcp, 44, Int32(clamping: longest.wholeNanoseconds / 1_000_000))
    }
  }

  /// Closes with a reset: what was not acknowledged is given up.
  package static func reset(_ file: Int32) {
    var none = linger(l_onoff: 1, l_linger: 0)
    _ = setsockopt(file, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
    close(file)
  }

  /// Reads into two regions; the number of bytes, 0 at the end of the stream, below it with the reason in `errno`.
  package static func read(
    _ file: Int32, _ first: UnsafeMutableRawBufferPointer, _ second: UnsafeMutableRawBufferPointer
  ) -> Int {
    if second.count == 0 { return recv(file, first.baseAddress, first.count, 0) }
    return withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { vectors in
      vectors.initializeElement(at: 0, to: iovec(iov_base: first.baseAddress, iov_len: first.count))
      vectors.initializeElement(at: 1, to: iovec(iov_base: second.baseAddress, iov_len: second.count))
      return readv(file, vectors.baseAddress, 2)
    }
  }

  /// Why a connection that failed with this error is gone.
  package static func closeReason(_ code: Int32) -> CloseReason {
    switch code {
    case 0: .finished
    case ECONNRESET, EPIPE: .reset
    case ECONNREFUSED: .refused
    case ETIMEDOUT: .timedOut
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL: .unreachable
    default: .system(code)
    }
  }
}
