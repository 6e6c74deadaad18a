import IMOutput
import IMWire
import Testing

@testable import IMDocuments

@Suite("Names: SHA-1, community ids, runs")
struct ECSIdentityTests {
  /// FIPS 180-4's examples, and the lengths around a block's end against Python's hashlib.
  static let hashes: [(String, String)] = [
    ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
    ),
    (String(repeating: "a", count: 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
    (String(repeating: "a", count: 55), "c1c8bbdc22796e28c0e15163d20899b65621d65a"),
    (String(repeating: "a", count: 56), "c2db330f6083854c99d4b5bfb6e8f29f201be699"),
    (String(repeating: "a", count: 63), "03f09f5b158a7a8cdad920bddc29b81c18a551f5"),
    (String(repeating: "a", count: 64), "0098ba824b5c16427bd7a1122a5a442a25ec644d"),
  ]

  @Test("SHA-1", arguments: hashes)
  func sha1(_ message: String, _ expected: String) {
    let digits = SHA1.hash(Array(message.utf8)).map { String($0 / 16, radix: 16) + String($0 % 16, radix: 16) }
    #expect(digits.joined() == expected)
  }

  /// The TCP connections of the baseline of corelight/community-id-spec, seed 0.
  static let connections: [(String, UInt16, String, UInt16, String)] = [
    ("128.232.110.120", 34855, "66.35.250.204", 80, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
    (
      "2001:470:e5bf:dead:4957:2174:e82c:4887", 63943, "2607:f8b0:400c:c03::1a", 25, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="
    ),
  ]

  @Test("community ids, from both sides", arguments: connections)
  func community(_ a: String, _ aPort: UInt16, _ b: String, _ bPort: UInt16, _ expected: String) throws {
    let one = Endpoint(address: try #require(IPAddress(a)), port: aPort)
    let other = Endpoint(address: try #require(IPAddress(b)), port: bPort)
    #expect(CommunityID.tcp(one, other) == expected)
    #expect(CommunityID.tcp(other, one) == expected)
  }

  @Test("addresses stand in documents as their type writes them")
  func addresses() {
    var state: UInt64 = 1
    func roll() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state
    }
    var writer = ByteWriter()
    for _ in 0..<20_000 {
      // Groups of zeros in every arrangement; half of the others have fewer than four digits.
      func half() -> UInt64 {
        (0..<4).reduce(0) { half, _ in
          let group = (roll() >> 48) >> (((roll() >> 60) << 2) & 12)
          return (half << 16) | (roll() >> 62 == 0 || roll() >> 63 == 0 ? 0 : group)
        }
      }
      for address in [
        IPAddress(v6High: half(), v6Low: half()), IPAddress(v4: UInt32(truncatingIfNeeded: roll() >> 32)),
      ] {
        writer.removeAll()
        writer.address(address)
        #expect(writer.text == address.description)
      }
    }
    for text in ["::", "::1", "1::", "::ffff:192.0.2.1", "1:0:0:2::3", "1:2:3:4:5:6:7:8", "1:0:2:3:4:5:6:7"] {
      writer.removeAll()
      if let address = IPAddress(text) { writer.address(address) }
      #expect(writer.text == text)
    }
  }

  @Test("run names have 26 characters and depend on every part")
  func runs() {
    let names = [["a.pcap", "all"], ["a.pcap", "off"], ["a.pcapall"], ["a.pca", "pall"]].map {
      RunIdentity(hashing: $0)
    }
    #expect(Set(names).count == 4)
    #expect(names.allSatisfy { $0.text.utf8.count == 26 })
    #expect(RunIdentity(hashing: ["a.pcap", "all"]) == names[0])
    #expect(RunIdentity(random: 0, 0).text == "00000000000000000000000000")
    #expect(RunIdentity(random: .max, .max).text == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
    #expect(RunIdentity(random: 0, 33).text == "00000000000000000000000011")
  }

  @Test("the message log's option")
  func messageLog() {
    #expect(MessageLog("off") == .off)
    #expect(MessageLog("errors") == .errors)
    #expect(MessageLog("all") == .all)
    #expect(MessageLog("sample=1/16") == .sample(16))
    #expect(MessageLog("sample=1/1") == .all)
    #expect(MessageLog("errors+sample=1/100") == MessageLog("sample=1/100+errors"))
    #expect(MessageLog("slow=2s") == MessageLog("slow=2000ms") && MessageLog("slow=2s") != MessageLog("slow=3s"))
    for wrong in [
      "", "sample", "sample=1/0", "sample=1/-1", "sample=2/3", "ALL", "errors+", "errors+errors", "errors+all",
      "off+errors", "slow",
      "slow=", "slow=0ms", "slow=-1s", "slow=+1s", "slow=1h", "slow=99999999s", "slow=1s+slow=2s",
    ] { #expect(MessageLog(wrong) == nil, "\(wrong)") }
  }

  @Test("long texts are cut at the end of a character")
  func cutting() {
    #expect(JSONLines.cut("short") == "short")
    let long = String(repeating: "\u{4e2d}", count: 1_000)
    let cut = JSONLines.cut(long)
    #expect(cut.utf8.count == 1_023)
    #expect(long.hasPrefix(cut))
  }
}
