/// Link type numbers as files store them (`LINKTYPE_`) and as libpcap's functions on this system want them (`DLT_`).
///
/// The two differ only for a few early types. Source: `pcap-linktype(7)` and https://www.tcpdump.org/linktypes.html.
enum LinkType {
  /// Ethernet.
  static var ethernet: UInt16 { 1 }
  /// Raw IP.
  static var rawIP: UInt16 { 101 }

  /// `LINKTYPE_` and `DLT_` where they are different numbers.
  private static let pairs: [(file: UInt16, library: Int32)] = [
    (100, 11),  // ATM, RFC 1483
    (101, 12),  // raw IP
    (102, 15),  // SLIP, BSD/OS
    (103, 16),  // PPP, BSD/OS
    (106, 19),  // ATM, Linux CLIP
  ]

  /// The number a file would store for libpcap's `dlt`.
  static func stored(fromLibrary dlt: Int32) -> UInt16 {
    pairs.first { $0.library == dlt }?.file ?? UInt16(clamping: dlt)
  }

  /// libpcap's number for the type a file stores.
  static func library(fromStored type: UInt16) -> Int32 {
    pairs.first { $0.file == type }?.library ?? Int32(type)
  }

  /// The type a file means: old writers stored their system's `DLT_RAW`, 12 or 14, for raw IP.
  static func normalized(_ type: UInt16) -> UInt16 { type == 12 || type == 14 ? rawIP : type }

  /// The most bytes a packet of this type may have in a well-formed file, as libpcap and Wireshark have it.
  static func mostBytes(_ type: UInt16) -> UInt32 {
    switch type {
    case 231, 249, 279: 134_217_728  // D-Bus, USBPcap, EBHSCR
    default: 262_144
    }
  }
}
