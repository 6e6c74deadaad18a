/// The number of a packet: which one it is in its capture file, and which of the run's files that is.
///
///      0             24                                  64 bits
///     +-------------+-----------------------------------+
///     | file, from 0| packet in the file, from 1        |
///     +-------------+-----------------------------------+
///
/// So the packets of the first file, and of a live capture, have the plain number. The engine hands numbers on and looks at none.
public enum PacketNumber {
  /// Bits of the number in the file.
  @inlinable public static var fileShift: UInt64 { 40 }

  /// What is added to the numbers of the packets of the file with this index, at most 2²⁴ - 1.
  @inlinable public static func base(file: Int) -> UInt64 { UInt64(truncatingIfNeeded: file) << fileShift }

  /// The packet's number in its file, from 1.
  @inlinable public static func inFile(_ number: UInt64) -> UInt64 { number & (1 << fileShift &- 1) }

  /// The index of its file among those of the run, from 0.
  @inlinable public static func file(_ number: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: number >> fileShift) }
}
