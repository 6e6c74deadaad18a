private import CDeflate
import IMEndpointCore

/// Finds the frames in one direction of a connection whose bytes come in any pieces, for a ledger.
///
/// It shares nothing with the core but the header's layout, keeps no bodies, and stops for good where bytes are no frame.
package struct FrameScanner {
  /// A frame whose last byte has passed.
  package struct Found: Equatable, Sendable {
    /// Its header as it stood on the wire.
    package var header: FrameHeader
    /// Where it begins in the stream.
    package var offset: UInt64
    /// The checksum of the body that passed.
    package var checksum: UInt32
    /// The first four bytes of the body as a number, when it has exactly four: what an acknowledgment names.
    package var named: UInt32?
  }

  private var head: [UInt8] = []
  private var header: FrameHeader?
  private var bodyLeft = 0
  private var checksum: UInt32 = 0
  private var named: [UInt8] = []
  private var start: UInt64 = 0
  /// Bytes that have passed.
  package private(set) var offset: UInt64 = 0
  /// Whether bytes were met that are no frame.
  package private(set) var isBroken = false

  /// Nothing has passed.
  package init() {}

  /// Takes the next bytes of the stream and calls `found` for each frame that ends in them.
  package mutating func scan(_ bytes: RawSpan, _ found: (Found) -> Void) {
    var at = 0
    while at < bytes.byteCount, !isBroken {
      let left = bytes.byteCount - at
      if header == nil {
        if head.isEmpty { start = offset + UInt64(at) }
        let taken = min(left, FrameHeader.byteCount - head.count)
        bytes.extracting(at..<at + taken).withUnsafeBytes { head.append(contentsOf: $0) }
        at += taken
        guard head.count == FrameHeader.byteCount else { break }
        begin()
      } else {
        let taken = min(left, bodyLeft)
        bytes.extracting(at..<at + taken).withUnsafeBytes { body in
          checksum = libdeflate_crc32(checksum, body.baseAddress, body.count)
          if named.count < 4 { named.append(contentsOf: body.prefix(4 - named.count)) }
        }
        bodyLeft -= taken
        at += taken
      }
      if bodyLeft == 0, let header, !isBroken {
        let number = header.bodyCount == 4 ? named.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } : nil
        found(Found(header: header, offset: start, checksum: checksum, named: number))
        self.header = nil
        head.removeAll(keepingCapacity: true)
      }
    }
    offset += UInt64(bytes.byteCount)
  }

  private mutating func begin() {
    let (magic, read) = head.withUnsafeBytes { bytes in
      (UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)), FrameHeader(bytes.bytes, at: 0))
    }
    guard magic == FrameHeader.magic else {
      isBroken = true
      return
    }
    header = read
    bodyLeft = Int(read.bodyCount)
    checksum = 0
    named.removeAll(keepingCapacity: true)
  }
}
