import Glibc
package import IMDescriptors

/// Bytes of a capture at an offset, taken without a look at the packets in front of them.
package enum CaptureBytes {
  /// Bytes that are unpacked between two looks at whether they are still wanted.
  private static let step = 1 << 20

  /// The `count` bytes at `offset` of the capture at `path`; fewer where it ends before. Of one that is packed with gzip, the offset
  /// counts unpacked bytes, and all in front of it are unpacked, which takes time; empty when `isStopped` says that nobody waits for
  /// them any more.
  package static func read(
    _ path: String, at offset: UInt64, count: Int, isStopped: () -> Bool = { false }
  ) throws(CaptureError) -> [UInt8] {
    var input = try CaptureInput.open(path: path, stop: ShutdownSignal())
    return try input.isPacked
      ? unpacked(&input, offset, count, isStopped) : plain(path, offset, count)
  }

  private static func plain(_ path: String, _ offset: UInt64, _ count: Int) throws(CaptureError) -> [UInt8] {
    let descriptor = InputFile.open(path)
    guard descriptor >= 0 else { throw .system(path, "open", -descriptor) }
    defer { close(descriptor) }
    var status = stat()
    guard let start = off_t(exactly: offset), fstat(descriptor, &status) == 0 else { return [] }
    // No more than there is, however much is asked for.
    let count = start < status.st_size ? min(count, Int(status.st_size - start)) : 0
    var bytes = [UInt8](repeating: 0, count: count)
    var made = 0
    while made < count {
      let result = bytes.withUnsafeMutableBytes { rest in
        pread(descriptor, rest.baseAddress.map { $0 + made }, count - made, start &+ off_t(made))
      }
      if result < 0, errno == EINTR { continue }
      guard result >= 0 else { throw .system(path, "read", errno) }
      if result == 0 { break }
      made += result
    }
    return Array(bytes.prefix(made))
  }

  private static func unpacked(
    _ input: inout CaptureInput, _ offset: UInt64, _ count: Int, _ isStopped: () -> Bool
  ) throws(CaptureError) -> [UInt8] {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: step, alignment: 16)
    defer { room.deallocate() }
    var position: UInt64 = 0
    var bytes: [UInt8] = []
    while bytes.count < count, !isStopped() {
      let made = try input.read(into: room)
      if made == 0 { break }
      let end = position &+ UInt64(made)
      if end > offset {
        let first = offset > position ? Int(offset - position) : 0
        bytes += room[first..<min(made, first + count - bytes.count)]
      }
      position = end
    }
    return isStopped() ? [] : bytes
  }
}
