import Glibc

extension OutgoingPieces {
  /// Hands all pieces to the kernel in one call; how many bytes it took, below 0 with the reason in `errno`.
  func send(on file: Int32) -> Int {
    if count == 1 {
      return withPiece(0) { $0.withUnsafeBytes { Glibc.send(file, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) } }
    }
    return withUnsafeTemporaryAllocation(of: iovec.self, capacity: count) { vectors in
      gather(0, vectors) {
        var message = msghdr()
        message.msg_iov = vectors.baseAddress
        message.msg_iovlen = vectors.count
        return sendmsg(file, &message, Int32(MSG_NOSIGNAL))
      }
    }
  }

  /// Calls `body` once each piece from `place` on stands in `vectors`, within the borrows of all of them.
  private func gather(_ place: Int, _ vectors: UnsafeMutableBufferPointer<iovec>, _ body: () -> Int) -> Int {
    if place == count { return body() }
    return withPiece(place) { bytes in
      bytes.withUnsafeBytes { raw in
        vectors.initializeElement(
          at: place, to: iovec(iov_base: UnsafeMutableRawPointer(mutating: raw.baseAddress), iov_len: raw.count))
        return gather(place + 1, vectors, body)
      }
    }
  }
}
