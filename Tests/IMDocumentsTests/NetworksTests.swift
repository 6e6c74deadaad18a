import IMWire
import IMYAML
import Testing

@testable import IMDocuments

/// Tables of networks: what they say of an address, against a search through all lines; and what is wrong with one.
@Suite struct NetworksTests {
  private struct Dice {
    var state: UInt64
    mutating func roll(_ limit: UInt64) -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % limit
    }
  }

  private static func name(_ table: Networks, _ address: String) -> String? {
    IPAddress(address).flatMap { table[table.index(of: $0)]?.name }
  }

  @Test func theLongestPrefixCounts() throws {
    let table = try Networks(
      #"""
      # a comment, and a line of nothing

      0.0.0.0/0, everything
      198.51.100.0/24,Berlin,64500,Example Mobile
        198.51.100.128/25 ,"Berlin, east",AS64501,"Example ""East""" \#r
      198.51.100.200,one phone,,
      255.255.255.255/32,last
      2001:db8::/32,six,4294967295
      2001:db8:7::/48,office\#r
      ::/128,nobody
      """#, source: "t")
    let names: [(String, String?)] = [
      ("198.51.100.1", "Berlin"), ("198.51.100.127", "Berlin"), ("198.51.100.128", "Berlin, east"),
      ("198.51.100.199", "Berlin, east"), ("198.51.100.200", "one phone"), ("198.51.100.201", "Berlin, east"),
      ("198.51.101.0", "everything"), ("0.0.0.0", "everything"), ("255.255.255.254", "everything"),
      ("255.255.255.255", "last"), ("2001:db8:6:ffff::1", "six"), ("2001:db8:7::1", "office"), ("2001:db8:8::", "six"),
      ("2001:db9::", nil), ("::", "nobody"), ("::1", nil), ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nil),
    ]
    for (address, name) in names { #expect(Self.name(table, address) == name, "\(address)") }
    let east = try #require(IPAddress("198.51.100.130").flatMap { table[table.index(of: $0)] })
    #expect(east == Networks.Network(name: "Berlin, east", number: 64501, organisation: "Example \"East\""))
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func itSaysWhatASearchThroughAllLinesSays(_ seed: UInt64) throws {
    var dice = Dice(state: seed)
    // Few leading bits, so that prefixes hold each other.
    var prefixes: [(first: UInt32, length: Int)] = []
    for _ in 0..<400 {
      let length = Int(dice.roll(33))
      let mask: UInt32 = length == 0 ? 0 : .max << UInt32(32 - length)
      let address = UInt32(dice.roll(4)) << 30 | UInt32(dice.roll(256)) << 12 | UInt32(dice.roll(16)) << 4
      if !prefixes.contains(where: { $0 == (address & mask, length) }) { prefixes.append((address & mask, length)) }
    }
    let text = prefixes.enumerated().map { "\(IPAddress(v4: $1.first))/\($1.length),n\($0)\n" }.joined()
    let table = try Networks(text, source: "t")
    var edges: [UInt32] = [0, .max]
    for (first, length) in prefixes {
      let last = length == 32 ? first : first | UInt32.max >> UInt32(length)
      edges += [first, last, first &- 1, last &+ 1]
    }
    for address in edges {
      let best = prefixes.enumerated().filter { _, prefix in
        prefix.length == 0 || (address ^ prefix.first) >> UInt32(32 - prefix.length) == 0
      }.max { $0.element.length < $1.element.length }
      let found = table[table.index(of: IPAddress(v4: address))]?.name
      #expect(found == best.map { "n\($0.offset)" }, "\(IPAddress(v4: address))")
    }
  }

  @Test(arguments: [
    ("", "t: a table without networks"), ("# nothing\n\n", "t: a table without networks"),
    ("192.0.2.0/24\n", "t:1: expected PREFIX,NAME,AS NUMBER,AS ORGANISATION, found 1 fields"),
    ("192.0.2.0/24,a\n192.0.2.0/33,b\n", "t:2: '192.0.2.0/33' is not a prefix such as 192.0.2.0/24 or 2001:db8::/32"),
    ("\n\nnet,b\n", "t:3: 'net' is not a prefix such as 192.0.2.0/24 or 2001:db8::/32"),
    ("192.0.2.0/-1,b\n", "t:1: '192.0.2.0/-1' is not a prefix such as 192.0.2.0/24 or 2001:db8::/32"),
    ("192.0.2.1/24,b\n", "t:1: '192.0.2.1/24' has bits set after its prefix"),
    ("2001:db8::1/64,b\n", "t:1: '2001:db8::1/64' has bits set after its prefix"),
    ("192.0.2.0/24,a\n::/0,b\n192.0.2.0/24,c\n", "t:3: this network is already in line 1"),
    ("192.0.2.0/24,a,b\n", "t:1: 'b' is not an AS number such as 64500"),
    ("192.0.2.0/24,a,4294967296\n", "t:1: '4294967296' is not an AS number such as 64500"),
    ("192.0.2.0/24,,,\n", "t:1: a network without a name and without an AS number"),
    ("192.0.2.0/24,\"a\n", "t:1: a quote that is not closed, or is inside a field"),
    ("192.0.2.0/24,a\"b\"\n", "t:1: a quote that is not closed, or is inside a field"),
    ("192.0.2.0/24,a,1,b,c\n", "t:1: expected PREFIX,NAME,AS NUMBER,AS ORGANISATION, found 5 fields"),
    ("192.0.2.0/24,\(String(repeating: "x", count: 257))\n", "t:1: a field of 257 bytes; at most 256"),
  ])
  func mistakesNameTheirLine(_ text: String, _ message: String) {
    let error = #expect(throws: SourceError.self) { try Networks(text, source: "t") }
    #expect(error?.description == message)
  }
}
