import IMWire
package import IMYAML

/// The networks that clients come from, as a table names them: `--networks`.
///
/// The table is text, a network a line: its prefix, a name, the number of its autonomous system and whose that is.
///
///     # prefix, name, AS number, AS organisation
///     198.51.100.0/24,Berlin mobile,64500,Example Mobile
///     2001:db8:7::/48,"Office, 3rd floor",,
///
/// The longest prefix that holds an address counts. It is made into stretches of addresses that do not overlap, so that one
/// search among sorted numbers finds an address, whatever the table.
package struct Networks: Sendable {
  /// The most that a table may have, in bytes and lines, and a field of it, in bytes.
  package static let maximumBytes = 16 << 20
  static let maximumCount = 1 << 18
  static let maximumField = 256

  /// What is known of a network.
  struct Network: Equatable, Sendable {
    /// Its name; empty for none.
    var name: String
    /// The number of its autonomous system.
    var number: UInt32?
    /// Whose it is; empty where that is not known.
    var organisation: String
  }

  /// Addresses from `start` up to the next stretch's belong to the network of this index; -1 for none.
  private struct Stretch: Sendable {
    var start: UInt128
    var network: Int32
  }

  private struct Prefix {
    var first: UInt128
    /// The bits behind it.
    var host: UInt128
    var last: UInt128 { first | host }
    var length: Int
    var network: Int32
    var line: Int
  }

  private var networks: [Network] = []
  private var v4: [Stretch] = []
  private var v6: [Stretch] = []

  /// Reads a table; `source` names it in errors, which tell the line.
  package init(_ text: String, source: String) throws(SourceError) {
    guard text.utf8.count <= Self.maximumBytes else {
      throw SourceError(source: source, message: "a table of networks has at most \(Self.maximumBytes >> 20) MiB")
    }
    var prefixes: (v4: [Prefix], v6: [Prefix]) = ([], [])
    var line = 0
    for row in text.utf8.split(separator: 10, omittingEmptySubsequences: false) {
      line += 1
      let row = row.last == 13 ? row.dropLast() : row
      if row.first == UInt8(ascii: "#") || row.allSatisfy({ $0 == 32 || $0 == 9 }) { continue }
      func wrong(_ message: String) -> SourceError { SourceError(source: source, line: line, message: message) }
      guard networks.count < Self.maximumCount else { throw wrong("at most \(Self.maximumCount) networks") }
      guard let fields = Self.fields(row) else { throw wrong("a quote that is not closed, or is inside a field") }
      guard (2...4).contains(fields.count) else {
        throw wrong("expected PREFIX,NAME,AS NUMBER,AS ORGANISATION, found \(fields.count) fields")
      }
      if let long = fields.first(where: { $0.utf8.count > Self.maximumField }) {
        throw wrong("a field of \(long.utf8.count) bytes; at most \(Self.maximumField)")
      }
      guard let (prefix, isIPv6) = Self.prefix(fields[0], line, Int32(networks.count)) else {
        throw wrong("'\(fields[0])' is not a prefix such as 192.0.2.0/24 or 2001:db8::/32")
      }
      guard prefix.first & prefix.host == 0 else {
        throw wrong("'\(fields[0])' has bits set after its prefix")
      }
      var network = Network(name: fields[1], number: nil, organisation: fields.count > 3 ? fields[3] : "")
      if fields.count > 2, !fields[2].isEmpty {
        let digits = fields[2].hasPrefix("AS") ? fields[2].dropFirst(2) : fields[2][...]
        guard digits.utf8.allSatisfy({ (48...57).contains($0) }), let number = UInt32(digits) else {
          throw wrong("'\(fields[2])' is not an AS number such as 64500")
        }
        network.number = number
      }
      guard !network.name.isEmpty || network.number != nil || !network.organisation.isEmpty else {
        throw wrong("a network without a name and without an AS number")
      }
      networks.append(network)
      if isIPv6 { prefixes.v6.append(prefix) } else { prefixes.v4.append(prefix) }
    }
    guard !networks.isEmpty else { throw SourceError(source: source, message: "a table without networks") }
    v4 = try Self.stretches(prefixes.v4, source)
    v6 = try Self.stretches(prefixes.v6, source)
  }

  /// The index of the network of an address; -1 where the table has none.
  func index(of address: IPAddress) -> Int32 {
    let stretches = address.isIPv6 ? v6 : v4
    let value = UInt128(address.high) << 64 | UInt128(address.low)
    var low = 0
    var high = stretches.count
    while low < high {
      let middle = (low + high) / 2
      if stretches[middle].start <= value { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? -1 : stretches[low - 1].network
  }

  /// The network of an index; `nil` for -1.
  subscript(index: Int32) -> Network? { index < 0 ? nil : networks[Int(index)] }

  // MARK: Reading

  /// The fields of a line, without blanks at their ends; in quotes, a comma is a part of one and `""` a quote. `nil` where
  /// quotes do not fit.
  private static func fields(_ row: Substring.UTF8View.SubSequence) -> [String]? {
    var fields: [String] = []
    var field: [UInt8] = []
    var isQuoted = false
    var wasQuoted = false
    var i = row.startIndex
    func finish() {
      var text = field[...]
      if !wasQuoted {
        while text.first == 32 || text.first == 9 { text.removeFirst() }
        while text.last == 32 || text.last == 9 { text.removeLast() }
      }
      fields.append(String(decoding: text, as: UTF8.self))
      field = []
      wasQuoted = false
    }
    while i < row.endIndex {
      let byte = row[i]
      i = row.index(after: i)
      if isQuoted {
        if byte != UInt8(ascii: "\"") {
          field.append(byte)
        } else if i < row.endIndex, row[i] == byte {
          field.append(byte)
          i = row.index(after: i)
        } else {
          isQuoted = false
        }
      } else if byte == UInt8(ascii: ",") {
        finish()
      } else if byte == UInt8(ascii: "\"") {
        guard !wasQuoted, field.allSatisfy({ $0 == 32 || $0 == 9 }) else { return nil }
        field = []
        isQuoted = true
        wasQuoted = true
      } else if !wasQuoted {
        field.append(byte)
      } else if byte != 32, byte != 9 {
        return nil
      }
    }
    guard !isQuoted else { return nil }
    finish()
    return fields
  }

  /// `192.0.2.0/24`; an address alone is a network of its own.
  private static func prefix(_ text: String, _ line: Int, _ network: Int32) -> (Prefix, isIPv6: Bool)? {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = IPAddress(parts[0]) else { return nil }
    let width = address.isIPv6 ? 128 : 32
    var length = width
    if parts.count == 2 {
      guard parts[1].utf8.count <= 3, parts[1].utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(parts[1]),
        number <= width
      else { return nil }
      length = number
    }
    let first = UInt128(address.high) << 64 | UInt128(address.low)
    let host = length == 0 ? (width == 128 ? .max : UInt128(1) << 32 - 1) : UInt128(1) << UInt128(width - length) - 1
    return (
      Prefix(first: first, host: host, length: length, network: network, line: line), address.isIPv6
    )
  }

  /// Prefixes hold each other or lie apart; so the one that was opened last is the longest.
  private static func stretches(_ prefixes: [Prefix], _ source: String) throws(SourceError) -> [Stretch] {
    let sorted = prefixes.sorted { ($0.first, $0.length, $0.line) < ($1.first, $1.length, $1.line) }
    var stretches: [Stretch] = []
    var open: [Prefix] = []
    func begin(_ start: UInt128, _ network: Int32) {
      if let last = stretches.last, last.start == start { stretches.removeLast() }
      stretches.append(Stretch(start: start, network: network))
    }
    func close(before start: UInt128?) {
      while let last = open.last, start.map({ last.last < $0 }) ?? true {
        open.removeLast()
        // Behind the last address of all there is none.
        if last.last < .max { begin(last.last + 1, open.last?.network ?? -1) }
      }
    }
    var previous: Prefix?
    for prefix in sorted {
      if let previous, previous.first == prefix.first, previous.length == prefix.length {
        throw SourceError(
          source: source, line: prefix.line, message: "this network is already in line \(previous.line)")
      }
      previous = prefix
      close(before: prefix.first)
      begin(prefix.first, prefix.network)
      open.append(prefix)
    }
    close(before: nil)
    return stretches
  }
}
