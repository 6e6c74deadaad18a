/// How far files had been read when a signal ended the run before their end.
package struct Interruption: Sendable {
  /// Packets read until then.
  package let packets: UInt64
  /// The part of the files' bytes that had been read, from 0 to 1; `nil` where their size is not known, as that of a pipe.
  package let share: Double?

  /// An interruption of its parts.
  package init(packets: UInt64, share: Double?) {
    self.packets = packets
    self.share = share
  }
}
