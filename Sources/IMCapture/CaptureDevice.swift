import CPcap
import Glibc
package import IMDescriptors
package import IMWire

/// An interface that packets could be captured on.
package struct CaptureDevice: Equatable, Sendable {
  /// Its name, for `LiveCapture`.
  package var name: String
  /// What the system calls it besides.
  package var text: String?
  /// Its IPv4 and IPv6 addresses.
  package var addresses: [IPAddress]
  /// Whether it is a loopback.
  package var isLoopback: Bool
  /// Whether it is up.
  package var isUp: Bool
  /// Whether it is running.
  package var isRunning: Bool

  /// A device of its parts.
  package init(
    name: String, text: String?, addresses: [IPAddress], isLoopback: Bool, isUp: Bool, isRunning: Bool
  ) {
    self.name = name
    self.text = text
    self.addresses = addresses
    self.isLoopback = isLoopback
    self.isUp = isUp
    self.isRunning = isRunning
  }
}

/// The interfaces this user may ask for, in the order libpcap would choose a default from.
package func captureDevices() throws(CaptureError) -> [CaptureDevice] {
  var first: UnsafeMutablePointer<pcap_if_t>?
  var devices: [CaptureDevice] = []
  var message = [CChar](repeating: 0, count: Int(PCAP_ERRBUF_SIZE))
  guard pcap_findalldevs(&first, &message) == 0 else {
    throw CaptureError(.captureFailed, "interfaces", text(message))
  }
  defer { pcap_freealldevs(first) }
  var next = first
  while let device = next?.pointee {
    next = device.next
    devices.append(
      CaptureDevice(
        name: String(cString: device.name), text: device.description.map { String(cString: $0) },
        addresses: addresses(device.addresses), isLoopback: device.flags & UInt32(PCAP_IF_LOOPBACK) != 0,
        isUp: device.flags & UInt32(PCAP_IF_UP) != 0, isRunning: device.flags & UInt32(PCAP_IF_RUNNING) != 0))
  }
  return devices
}

/// The addresses of libpcap's list, families other than IP left out.
private func addresses(_ list: UnsafeMutablePointer<pcap_addr>?) -> [IPAddress] {
  var result: [IPAddress] = []
  var next = list
  while let entry = next?.pointee {
    next = entry.next
    guard let address = entry.addr else { continue }
    // Both forms keep the address in network order: at byte 4 for IPv4, at byte 8 for IPv6.
    let bytes = UnsafeRawPointer(address)
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      result.append(IPAddress(v4: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))))
    case AF_INET6:
      result.append(
        IPAddress(
          v6High: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
          v6Low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))))
    default: break
    }
  }
  return result
}

/// The text in libpcap's error buffer.
func text(_ buffer: [CChar]) -> String {
  String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
