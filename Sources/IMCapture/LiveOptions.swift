/// How to capture on an interface.
package struct LiveOptions: Equatable, Sendable {
  /// The filter expression; nil takes every packet.
  package var filter: String?
  /// The most bytes kept of a packet: by default more than segmentation offload makes on the loopback interface and elsewhere. The
  /// kernel's ring holds packets of any length one after the other, so a large limit costs no room.
  package var snapLength: Int32 = 262_144
  /// Bytes of the kernel's ring.
  package var bufferSize: Int32 = 16 * 1_048_576
  /// Whether the interface shall also take packets for other hosts.
  package var isPromiscuous = true

  /// Whether the capture outlives its interface, and goes on when there is one of the same name and kind again.
  package var waitsForInterface = false

  /// The defaults.
  package init() {}
}
