/// SMPP messages as bytes.
///
///      0          4            8         12         16
///     +----------+------------+---------+----------+---------------
///     | length   | command_id | status  | sequence | body
///     +----------+------------+---------+----------+---------------
///
/// Source: SMPP 3.4, sections 3.2 and 4.
package enum SMPPBuilder {
  /// A message of any command.
  package static func pdu(_ command: UInt32, _ sequence: UInt32, _ body: [UInt8] = [], status: UInt32 = 0) -> [UInt8] {
    var bytes: [UInt8] = []
    for number in [UInt32(16 + body.count), command, status, sequence] { bytes.append(big: number) }
    return bytes + body
  }

  /// Text that a zero byte ends.
  package static func string(_ text: String) -> [UInt8] { [UInt8](text.utf8) + [0] }

  /// bind_transceiver.
  package static func bind(_ sequence: UInt32, _ name: String) -> [UInt8] {
    pdu(9, sequence, string(name) + string("secret") + string("") + [0x34, 1, 1] + string(""))
  }

  /// An optional parameter.
  package static func option(_ tag: UInt16, _ value: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: tag)
    bytes.append(big: UInt16(value.count))
    return bytes + value
  }

  /// submit_sm (4) or deliver_sm (5), with a short message or, where it is longer, message_payload.
  package static func message(_ command: UInt32, _ sequence: UInt32, _ target: String, _ content: [UInt8]) -> [UInt8] {
    var body = string("") + [1, 1] + string("12345") + [1, 1] + string(target) + [0, 0, 0] + string("") + string("")
    body += [1, 0, 0, 0]
    body += content.count < 255 ? [UInt8(content.count)] + content : [0] + option(0x0424, content)
    return pdu(command, sequence, body)
  }
}

/// Diameter messages as bytes.
///
///      0     1        4       5         8           12          16         20
///     +-----+--------+-------+---------+-----------+-----------+----------+------
///     | 1   | length | flags | command | app's id  | hop-by-hop| end-to-  | AVPs
///     +-----+--------+-------+---------+-----------+-----------+----------+------
///
/// Source: RFC 6733, sections 3 and 4.1.
package enum DiameterBuilder {
  /// A message of any command; `flags` has 0x80 in a request.
  package static func message(_ command: UInt32, flags: UInt8, _ hop: UInt32, _ avps: [[UInt8]]) -> [UInt8] {
    let body = avps.flatMap { $0 }
    var bytes: [UInt8] = []
    bytes.append(big: 1 << 24 | UInt32(20 + body.count))
    bytes.append(big: UInt32(flags) << 24 | command)
    for number in [4, hop, hop ^ 0x5555_5555] { bytes.append(big: number) }
    return bytes + body
  }

  /// An attribute, padded to four bytes; with a vendor, whose number then stands behind the length.
  package static func avp(_ code: UInt32, _ value: [UInt8], vendor: UInt32? = nil) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: code)
    bytes.append(
      big: UInt32(vendor == nil ? 0x4000_0000 : 0xc000_0000) | UInt32((vendor == nil ? 8 : 12) + value.count))
    if let vendor { bytes.append(big: vendor) }
    bytes += value
    return bytes + [UInt8](repeating: 0, count: -value.count & 3)
  }

  /// An attribute that is a number of 32 bits.
  package static func avp(_ code: UInt32, _ value: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: value)
    return avp(code, bytes)
  }

  /// Origin-Host and Origin-Realm.
  package static func origin(_ name: String) -> [[UInt8]] {
    [avp(264, [UInt8](name.utf8)), avp(296, [UInt8]("example.net".utf8))]
  }
}

/// goim messages as bytes: length, header's length, version, operation, sequence, body.
package enum GoimBuilder {
  /// A message of any operation.
  package static func pack(_ operation: UInt32, _ sequence: UInt32, _ body: [UInt8] = []) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: UInt32(16 + body.count))
    bytes.append(big: 0x0010_0001 as UInt32)
    bytes.append(big: operation)
    bytes.append(big: sequence)
    return bytes + body
  }
}
