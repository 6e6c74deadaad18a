import Glibc

extension TransportFacts {
  /// What `TCP_INFO` says of a connection. Fields that an older kernel does not have stay unknown.
  ///
  /// The layout is the kernel's ABI (`struct tcp_info` in its uapi header, which is newer than the C library's): one byte
  /// each for retransmits at 2 and backoff at 4, 32 bits for unacked at 24, rtt in microseconds at 68, total_retrans at
  /// 100, min_rtt at 148, dsack_dups at 216 and rcv_ooopack at 224.
  package init(of file: Int32) {
    self.init()
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { bytes in
      var length = socklen_t(bytes.count)
      guard getsockopt(file, Int32(IPPROTO_TCP), TCP_INFO, bytes.baseAddress, &length) == 0 else { return }
      func byte(_ offset: Int) -> UInt32? {
        offset < Int(length) ? UInt32(bytes.load(fromByteOffset: offset, as: UInt8.self)) : nil
      }
      func word(_ offset: Int) -> UInt32? {
        offset + 4 <= Int(length) ? bytes.load(fromByteOffset: offset, as: UInt32.self) : nil
      }
      unacknowledged = word(24)
      retransmits = byte(2)
      backoff = byte(4)
      totalRetransmits = word(100)
      needlessRetransmits = word(216)
      outOfOrder = word(224)
      // Zero and all ones stand for "not measured yet".
      if let time = word(68), time > 0 { roundTrip = .microseconds(Int64(time)) }
      if let time = word(148), time > 0, time != .max { shortestRoundTrip = .microseconds(Int64(time)) }
    }
  }
}
