package import IMWire

/// What a source has counted.  A figure that cannot be known is nil, never 0.
package struct CaptureStatistics: Equatable, Sendable {
  /// Packets handed out in batches.
  package var delivered: UInt64 = 0
  /// Captured bytes of the packets handed out.
  package var deliveredBytes: UInt64 = 0
  /// Packets handed out whose capture is shorter than the packet was on the wire.
  package var truncated: UInt64 = 0
  /// Packets handed out that bring no time of their own (pcapng simple packet blocks) and carry the time before them.
  package var withoutTime: UInt64 = 0
  /// Packets seen by the source before this program's filter: records of a file; live, what the kernel counted as
  /// received on the socket (after the filter in the kernel, and with those it then had to drop).
  package var received: UInt64? = 0
  /// Packets the filter left out; nil for a live capture, where the kernel filters and does not count.
  package var filteredOut: UInt64? = 0
  /// The latest time of those packets; `nil` where there are none, and for a live capture. Time passes for the connections that
  /// are looked at while packets of others come.
  package var latestFilteredOut: Timestamp?
  /// Packets that the filter left out though they match the filter behind tags or in a tunnel, where it does not look.
  package var hidden = HiddenCounts()
  /// Packets captured after the stop was asked for, read and left out.
  package var afterStop: UInt64 = 0
  /// Packets lost because the kernel's buffer was full; from a pcapng file, what its statistics blocks say.
  package var droppedByKernel: UInt64?
  /// Packets lost by the interface or its driver.
  package var droppedByInterface: UInt64?

  /// Nothing counted yet.
  package init() {}
}
