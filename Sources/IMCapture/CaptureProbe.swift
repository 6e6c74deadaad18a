import CPcap
import Glibc
package import IMDescriptors

/// What opening an interface for a live capture gives, found by opening it; no packet is taken.
package struct CaptureProbe: Sendable {
  /// The name of its link type, such as `EN10MB`.
  package let linkType: String
  /// Whether the kernel stamps packets with nanoseconds, and not with microseconds.
  package let hasNanoseconds: Bool
  /// Bytes of the kernel's ring buffer: where memory is short, libpcap takes a smaller one than it was asked for, and says
  /// nothing. `nil` where the interface has none.
  package let ringSize: Int?
  /// What libpcap had to say although it opened the interface.
  package let warning: String?

  /// Opens `device` as a capture would, and closes it. Throws what a capture would end with.
  package init(_ device: String, _ options: LiveOptions) throws(CaptureError) {
    let handle = try LiveHandle.open(device, options)
    linkType =
      pcap_datalink_val_to_name(pcap_datalink(handle.pointer)).map { String(cString: $0) } ?? "\(handle.linkType)"
    hasNanoseconds = handle.hasNanoseconds
    warning = handle.warning
    ringSize = mappedSocketBytes()
  }
}

/// The version of libpcap in words, such as `libpcap version 1.10.3 (with TPACKET_V3)`.
package var captureLibrary: String { String(cString: pcap_lib_version()) }

/// Bytes of this process's memory that belong to a socket, the largest such piece; `nil` where there is none.
///
/// A line of `/proc/self/maps`: `7f0000000000-7f0001000000 rw-s 00000000 00:08 12345 socket:[12345]`.
private func mappedSocketBytes() -> Int? {
  guard let file = fopen("/proc/self/maps", "re") else { return nil }
  defer { fclose(file) }
  var line: UnsafeMutablePointer<CChar>?
  var room = 0
  defer { free(line) }
  var largest: Int?
  while getline(&line, &room, file) > 0, let start = line {
    let text = String(cString: start)
    guard text.contains(" socket:[") else { continue }
    let ends = text.prefix { $0 != " " }.split(separator: "-").compactMap { Int($0, radix: 16) }
    guard ends.count == 2, ends[1] > ends[0] else { continue }
    largest = max(largest ?? 0, ends[1] - ends[0])
  }
  return largest
}
