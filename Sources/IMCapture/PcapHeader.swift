import IMDescriptors
import IMWire

/// The header of a pcap file.
///
///      0        4        8        12       16       20       24
///     +--------+---+----+--------+--------+--------+--------+
///     | magic  |maj|min | zone   | sigfigs| snaplen|FCS|type|
///     +--------+---+----+--------+--------+--------+--------+
///
/// The magic tells the byte order and the form: `a1b2c3d4` microseconds, `a1b23c4d` nanoseconds, `a1b2cd34` the
/// "modified" form whose record headers have 24 bytes, `1c0001ab` and `1c0001ac` IXIA's, whose header has four more
/// bytes, the size of all records. IXIA's are read as microseconds, as Wireshark 4.0 reads them, unless the first record's
/// fraction is more than a second would hold: then it counts nanoseconds. Of the last word the low 26 bits are the link type; the
/// length of a frame check sequence stands above them. Source: draft-ietf-opsawg-pcap and `pcap-savefile(5)`.
struct PcapHeader {
  /// Bytes of the header that every form has, and of the first record's time behind the longest one.
  static var byteCount: Int { 24 }
  static var byteCountWithTime: Int { 36 }

  /// Bytes of this header: 24, or 28 in IXIA's forms.
  let length: Int

  /// Whether the file's byte order is not this machine's.
  let isSwapped: Bool
  /// Nanoseconds in the unit of the second time word: 1 or 1,000.
  let nanosecondsPerUnit: Int64
  /// Bytes of a record's header: 16, or 24 in the modified form.
  let recordHeaderLength: Int
  /// In which order the two lengths of a record stand.
  let lengthOrder: LengthOrder
  /// The stored link type.
  let linkType: UInt16
  /// The most bytes the capture kept of a packet.
  let snapLength: UInt32

  /// Old writers had the original length first (before version 2.3, and DG/UX, which says 543.0), or mixed (2.3).
  enum LengthOrder {
    case capturedFirst
    case originalFirst
    case smallerIsCaptured
  }

  private static let magics: [UInt32] = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34, 0x1c00_01ab, 0x1c00_01ac]

  /// Whether `magic`, read in this machine's order, starts a pcap file.
  static func recognizes(_ magic: UInt32) -> Bool {
    magics.contains { $0 == magic || $0 == magic.byteSwapped }
  }

  /// Reads the header at `bytes`; the caller has proved `available` bytes, at least 24, and a known magic.
  init(_ bytes: UnsafeRawPointer, available: Int, path: String) throws(CaptureError) {
    let stored = bytes.u32(0, swapped: false)
    isSwapped = !Self.magics.contains(stored)
    let magic = isSwapped ? stored.byteSwapped : stored
    let isIxia = magic == 0x1c00_01ab || magic == 0x1c00_01ac
    length = isIxia ? 28 : 24
    let fraction = isIxia && available >= Self.byteCountWithTime ? bytes.u32(32, swapped: isSwapped) : 0
    nanosecondsPerUnit = magic == 0xa1b2_3c4d || (1_000_000..<1_000_000_000).contains(fraction) ? 1 : 1_000
    recordHeaderLength = magic == 0xa1b2_cd34 ? 24 : 16
    let version = (bytes.u16(4, swapped: isSwapped), bytes.u16(6, swapped: isSwapped))
    switch version {
    case (2, 0...2), (543, 0): lengthOrder = .originalFirst
    case (2, 3): lengthOrder = .smallerIsCaptured
    case (2, _): lengthOrder = .capturedFirst
    default:
      throw CaptureError(.unsupported, path, "pcap version \(version.0).\(version.1) is not supported", offset: 4)
    }
    let type = bytes.u32(20, swapped: isSwapped) & 0x03ff_ffff
    guard let linkType = UInt16(exactly: type) else {
      throw CaptureError(.unsupported, path, "link type \(type) is not supported", offset: 20)
    }
    self.linkType = LinkType.normalized(linkType)
    snapLength = bytes.u32(16, swapped: isSwapped)
  }

  /// The most bytes a record may claim: the snapshot length or what libpcap and Wireshark accept, whichever is more, but
  /// never more than 128 MiB.
  var recordLimit: UInt32 { min(max(snapLength, LinkType.mostBytes(linkType)), 134_217_728) }
}
