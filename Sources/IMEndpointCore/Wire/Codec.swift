/// CRC-32 and zlib's format, of which the core has its own: the work that a system's library does several times faster.
///
/// A library of a system's puts its own functions here, once, before it makes a core; IMEndpoint does, with libdeflate. They give the same
/// results, so a core that is at work meanwhile may use either.
public enum Codec {
  /// What a step over zlib's format came to.
  public enum Outcome: Int32, Sendable {
    /// All of it is there.
    case done
    /// The output has no room for it.
    case full
    /// It is not zlib's format.
    case broken
  }

  /// Continues the CRC-32 `checksum`, 0 at first, over so many bytes.
  public typealias Checksum = @convention(c) (_ checksum: UInt32, _ bytes: UnsafeRawPointer, _ count: Int) -> UInt32
  /// Compresses so many bytes into at most `capacity`; 0 where that has no room.
  public typealias Compress =
    @convention(c) (
      _ bytes: UnsafeRawPointer, _ count: Int, _ output: UnsafeMutableRawPointer, _ capacity: Int
    ) -> Int
  /// Inflates so many bytes into at most `capacity`, and says how many came out; gives an `Outcome`.
  public typealias Inflate =
    @convention(c) (
      _ bytes: UnsafeRawPointer, _ count: Int, _ output: UnsafeMutableRawPointer, _ capacity: Int,
      _ produced: UnsafeMutablePointer<Int>
    ) -> Int32

  // SAFETY: each is one pointer to code, which a processor reads and writes as a whole, and what stands there before and after an
  // `install` gives the same results.
  nonisolated(unsafe) private(set) static var checksum: Checksum = { PortableChecksum.continued($0, $1, $2) }
  nonisolated(unsafe) private(set) static var compress: Compress = { PortableDeflater.compress($0, $1, $2, $3) }
  nonisolated(unsafe) private(set) static var inflate: Inflate = { bytes, count, output, capacity, produced in
    var inflater = PortableInflater(bytes, count, output, capacity)
    let outcome = inflater.inflate()
    produced.pointee = inflater.produced
    return outcome.rawValue
  }

  /// Has these functions used from now on.
  public static func install(checksum: @escaping Checksum, compress: @escaping Compress, inflate: @escaping Inflate) {
    self.checksum = checksum
    self.compress = compress
    self.inflate = inflate
  }
}
