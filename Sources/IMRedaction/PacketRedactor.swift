package import IMEngine
package import IMWire

/// Rewrites packets: their addresses, and the bytes of the streams that they carry. Checksums say of the new bytes what they said
/// of the old ones, the wrong ones included.
package struct PacketRedactor {
  private var addresses: AddressPseudonyms
  /// Bytes of the last packet, old and new.
  private var old: [UInt8] = []
  /// The replacement of the last packet.
  package private(set) var new: [UInt8] = []
  /// The first byte of a packet in its batch.
  private var base = 0

  /// A redactor whose pseudonyms are `names`.
  package init(_ names: Pseudonyms) { addresses = AddressPseudonyms(names) }

  /// What stands for a packet: `bytes`, which are its batch's, as far as `record` says, with the headers that `layers` tells, and
  /// `payload` for its TCP payload.
  package mutating func rewrite(
    _ bytes: RawSpan, _ record: PacketRecord, _ layers: PacketLayers, payload: [UInt8]
  ) -> [UInt8] {
    rewrite(bytes, record, layers) { _, new, range in
      let count = min(payload.count, range.count)
      new.replaceSubrange(range.lowerBound..<range.lowerBound + count, with: payload[..<count])
    }
    return new
  }

  /// Puts a packet's replacement into `new`. `replace` is given its old bytes, its new ones, and where in both its TCP payload is, and
  /// replaces that.
  package mutating func rewrite(
    _ bytes: RawSpan, _ record: PacketRecord, _ layers: PacketLayers,
    replace: ([UInt8], inout [UInt8], Range<Int>) -> Void
  ) {
    base = Int(record.offset)
    old.removeAll(keepingCapacity: true)
    new.removeAll(keepingCapacity: true)
    bytes.withUnsafeBytes { bytes in
      let packet = UnsafeRawBufferPointer(rebasing: bytes[base..<base + Int(record.capturedLength)])
      old.append(contentsOf: packet)
      new.append(contentsOf: packet)
    }
    let (tcp, start) = (layers.tcp - base, layers.payload.lowerBound - base)
    if !layers.payload.isEmpty { replace(old, &new, start..<layers.payload.upperBound - base) }
    options(tcp + 20..<start)
    var pseudo = 0..<0
    var end = new.count
    for header in layers.headers {
      switch header {
      case .ethernet(let at): for from in [at, at + 6] { link(from - base..<from - base + 6) }
      case .address(let range): link(range.lowerBound - base..<range.upperBound - base)
      case .routing(let range): clear(range.lowerBound + 8 - base..<range.upperBound - base, with: 0)
      case .udp, .gre: break
      case .ipv4(let at, let last):
        (pseudo, end) = (ipv4(at - base), last - base)
      case .ipv6(let at, let last):
        (pseudo, end) = (ipv6(at - base), last - base)
        padOptions(ofIPv6: at - base, upTo: tcp)
      }
    }
    // Behind a datagram stands what filled the frame up, which may be anything.
    clear(min(end, new.count)..<new.count, with: 0)
    let covered = layers.isOffloaded ? tcp..<tcp : tcp..<max(tcp, end)
    mend(at: tcp + 16, pseudo, covered, isPartial: layers.isOffloaded)
    outer(layers)
  }

  private mutating func clear(_ range: Range<Int>, with byte: UInt8) {
    let range = range.clamped(to: 0..<new.count)
    if range.isEmpty { return }
    for i in range { new[i] = byte }
  }

  private mutating func link(_ range: Range<Int>) {
    guard range.lowerBound >= 0, range.upperBound <= new.count else { return }
    let count = range.count
    if count < 8 {
      put(addresses.link(word(range.lowerBound, count), count: count), range.lowerBound, count)
    } else {
      new.replaceSubrange(range, with: addresses.link(Array(old[range])))
    }
  }

  // MARK: IP

  /// Gives the place of its addresses.
  private mutating func ipv4(_ ip: Int) -> Range<Int> {
    for at in [ip + 12, ip + 16] {
      put(UInt64(addresses.pseudonym(v4: UInt32(truncatingIfNeeded: word(at, 4)))), at, 4)
    }
    // Options may name routers: in their place nothing is asked for.
    let header = Int(old[ip] & 15) * 4
    clear(ip + 20..<ip + header, with: 1)
    mend(at: ip + 10, ip..<ip + header, mayLack: true)
    return ip + 12..<ip + 20
  }

  private mutating func ipv6(_ ip: Int) -> Range<Int> {
    for at in [ip + 8, ip + 24] {
      let made = addresses.pseudonym(IPAddress(v6High: word(at, 8), v6Low: word(at + 8, 8)))
      put(made.high, at, 8)
      put(made.low, at + 8, 8)
    }
    return ip + 8..<ip + 40
  }

  /// Headers that may be between IPv6's and what it carries (RFC 8200, RFC 4302).
  private enum Extension {
    static let hopByHop: UInt8 = 0, routing: UInt8 = 43, fragment: UInt8 = 44, authentication: UInt8 = 51
    static let destination: UInt8 = 60
  }
  /// Options of such headers: one byte of padding, several, and the length of a jumbogram, by which it is read.
  private static let pad1: UInt8 = 0, padN: UInt8 = 1, jumbo: UInt8 = 0xc2

  /// Options of IPv6 may name hosts as well: padding of the same length replaces them.
  private mutating func padOptions(ofIPv6 ip: Int, upTo limit: Int) {
    let limit = min(limit, new.count)
    guard ip + 40 <= limit else { return }
    var (kind, at) = (old[ip + 6], ip + 40)
    while at + 8 <= limit {
      let end: Int
      switch kind {
      case Extension.hopByHop, Extension.destination, Extension.routing: end = at + 8 + Int(old[at + 1]) * 8
      case Extension.fragment: end = at + 8
      case Extension.authentication: end = at + 8 + Int(old[at + 1]) * 4
      default: return
      }
      guard end <= limit else { return }
      if kind == Extension.hopByHop || kind == Extension.destination { pad(at + 2..<end) }
      (kind, at) = (old[at], end)
    }
  }

  private mutating func pad(_ options: Range<Int>) {
    var at = options.lowerBound
    while at < options.upperBound {
      guard old[at] != Self.pad1 else {
        at += 1
        continue
      }
      let end = at + 1 < options.upperBound ? at + 2 + Int(old[at + 1]) : options.upperBound + 1
      guard end <= options.upperBound else { return clear(at..<options.upperBound, with: Self.pad1) }
      if old[at] != Self.jumbo {
        new[at] = Self.padN
        clear(at + 2..<end, with: 0)
      }
      at = end
    }
  }

  @inline(__always)
  private func word(_ at: Int, _ count: Int) -> UInt64 {
    var value: UInt64 = 0
    for i in at..<at + count { value = value << 8 | UInt64(old[i]) }
    return value
  }

  @inline(__always)
  private mutating func put(_ value: UInt64, _ at: Int, _ count: Int) {
    for i in 0..<count { new[at + i] = UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - i))) }
  }

  // MARK: TCP

  /// Options that TCP itself needs (kinds 2 to 5 and 8) stay; of others, some of which name addresses, nothing is left.
  private mutating func options(_ range: Range<Int>) {
    var at = range.lowerBound
    while at < range.upperBound {
      let kind = old[at]
      if kind == 0 { return clear(at + 1..<range.upperBound, with: 0) }
      guard kind != 1 else {
        at += 1
        continue
      }
      let count = at + 1 < range.upperBound ? max(2, Int(old[at + 1])) : 1
      let end = min(range.upperBound, at + count)
      if !(2...5).contains(kind), kind != 8 { clear(at..<end, with: 1) }
      at = end
    }
  }

  // MARK: Checksums

  /// Changes the checksum at `field` by what was changed in `ranges` (RFC 1624, equation 3). With `mayLack` one of zeros was not made
  /// and stays so: of TCP it is one as good as any other. A partial one is a sum, and not what makes it up to ones.
  private mutating func mend(
    at field: Int, _ first: Range<Int>, _ second: Range<Int> = 0..<0, isPartial: Bool = false, mayLack: Bool = false
  ) {
    guard field >= 0, field + 2 <= new.count, !mayLack || old[field] != 0 || old[field + 1] != 0 else { return }
    let complement: UInt16 = isPartial ? 0 : .max
    var sum = UInt64(UInt16(truncatingIfNeeded: word(field, 2)) ^ complement)
    var isChanged = false
    for i in 0..<2 {
      let range = (i == 0 ? first : second).clamped(to: 0..<new.count)
      // The field itself has not changed yet, so that it makes no difference.
      let (before, after) = (Self.sum(old, range), Self.sum(new, range))
      guard before != after else { continue }
      isChanged = true
      sum += UInt64(~before) + UInt64(after)
    }
    guard isChanged else { return }
    while sum >> 16 != 0 { sum = sum & 0xffff + sum >> 16 }
    put(UInt64(UInt16(truncatingIfNeeded: sum) ^ complement), field, 2)
  }

  /// The ones' complement sum of the 16-bit words in `range`; an odd byte in the end is the upper half of one.
  private static func sum(_ bytes: [UInt8], _ range: Range<Int>) -> UInt16 {
    var sum: UInt64 = 0
    bytes.withUnsafeBytes { all in
      let part = UnsafeRawBufferPointer(rebasing: all[range])
      var i = 0
      while part.count &- i >= 8 {
        let word = part.loadUnaligned(fromByteOffset: i, as: UInt64.self)
        // A sum of halves does not leave its 64 bits: a packet is no longer than fits.
        sum &+= word & 0xffff_ffff
        sum &+= word >> 32
        i &+= 8
      }
      var rest: UInt64 = 0, place: UInt64 = 0
      while i < part.count {
        // In the order of the machine, as the words above are.
        rest |= UInt64(part[i]) << place
        place &+= 8
        i &+= 1
      }
      sum &+= rest & 0xffff_ffff
      sum &+= rest >> 32
    }
    while sum >> 16 != 0 { sum = sum & 0xffff + sum >> 16 }
    // Words of either order add up to byte swaps of one another (RFC 1071).
    return UInt16(littleEndian: UInt16(truncatingIfNeeded: sum)).byteSwapped
  }

  /// The checksums of the tunnels that a packet comes through, from the innermost one on.
  private mutating func outer(_ layers: PacketLayers) {
    guard layers.isTunnelled else { return }
    var place: (pseudo: Range<Int>, end: Int) = (0..<0, new.count)
    var tunnels: [(field: Int, pseudo: Range<Int>, covered: Range<Int>)] = []
    for header in layers.headers {
      switch header {
      case .ipv4(let at, let end): place = (at - base + 12..<at - base + 20, end - base)
      case .ipv6(let at, let end): place = (at - base + 8..<at - base + 40, end - base)
      case .udp(let at): tunnels.append((at - base + 6, place.pseudo, at - base..<max(at - base, place.end)))
      case .gre(let at): tunnels.append((at - base + 4, 0..<0, at - base..<max(at - base, place.end)))
      default: break
      }
    }
    for tunnel in tunnels.reversed() {
      mend(at: tunnel.field, tunnel.pseudo, tunnel.covered, mayLack: true)
      // A sum of zeros would say that there is none (RFC 768).
      if new[tunnel.field] == 0, new[tunnel.field + 1] == 0, old[tunnel.field] != 0 || old[tunnel.field + 1] != 0 {
        clear(tunnel.field..<tunnel.field + 2, with: 0xff)
      }
    }
  }
}
