import IMFields
import IMTestSupport
import IMWire
import Testing

@testable import IMRedaction

/// Pseudonyms: one for each value, of its length and shape, with the beginnings in common that the values have.
@Suite struct PseudonymTests {
  private let names = Pseudonyms(IdentityHash(key: [UInt8](1...32)))
  private let others = Pseudonyms(IdentityHash(key: [UInt8](2...33)))

  private func text(_ text: String, _ names: Pseudonyms? = nil) -> String {
    String(decoding: (names ?? self.names).text([UInt8](text.utf8)), as: UTF8.self)
  }

  @Test func textsKeepLengthAndShape() throws {
    for name in ["phone-4", "site/1/Room A", "8613800138000", "张三@Example.com", "müller", "李雷👍", ""] {
      let made = text(name)
      #expect(made.utf8.count == name.utf8.count)
      #expect(made.unicodeScalars.count == name.unicodeScalars.count)
      for (old, new) in zip(name.unicodeScalars, made.unicodeScalars) {
        if old.isASCII {
          #expect(old.properties.isUppercase == new.properties.isUppercase && new.isASCII, "\(name) \(made)")
          #expect(("0"..."9").contains(old) == ("0"..."9").contains(new))
          if !old.properties.isAlphabetic, !("0"..."9").contains(old) { #expect(old == new) }
        } else {
          #expect(!new.isASCII && new.properties.generalCategory != .control)
        }
      }
    }
    #expect(text("phone-4") != "phone-4" && text("phone-4") != text("phone-4", others))
  }

  @Test func noTwoTextsHaveOne() {
    var seen: [String: String] = [:]
    for i in 0..<20_000 {
      let name = "user-\(i)"
      #expect(seen.updateValue(name, forKey: text(name)) == nil)
    }
    // Of two texts the pseudonyms have as many characters in common at their beginnings as the texts have.
    let pairs = [("site/1/a", "site/2/a"), ("abc", "abd"), ("张三", "张四"), ("x", "y")]
    for (a, b) in pairs {
      func common(_ a: String, _ b: String) -> Int {
        zip(a.unicodeScalars, b.unicodeScalars).prefix { $0 == $1 }.count
      }
      #expect(common(text(a), text(b)) == common(a, b), "\(a) \(b)")
    }
  }

  @Test(arguments: TextEncoding.allCases) func anyBytesGetAsMany(_ encoding: TextEncoding) {
    var random = SeededRandom(7)
    for _ in 0..<500 {
      let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(names.text(bytes, encoding).count == bytes.count)
      #expect(CharacterShape.text(bytes, encoding).count == bytes.count)
      #expect(CharacterShape.anything(bytes).count == bytes.count)
      #expect(names.bytes(bytes).count == bytes.count)
      #expect(JSONRedaction.rewritten(bytes, names: ["a"], others: ["b"], names).count == bytes.count)
      #expect(HTTPRedaction.rewritten(bytes).count == bytes.count)
      var addresses = AddressPseudonyms(names)
      for version in UInt8(0)...2 {
        let header = [0x50, 0x52, 0x4f, 0x58, 0x59, 0x20].prefix(version == 2 ? 0 : 6) + bytes
        #expect(ProxyRedaction.rewritten(Array(header), version: version, &addresses).count == header.count)
      }
    }
  }

  @Test func numbersKeepTheirDigits() {
    var seen = Set<UInt64>()
    for number in UInt64(1)...9_999 {
      let made = names.number(number, maximum: 65_535)
      #expect(String(made).count == String(number).count)
      #expect(seen.insert(made).inserted)
    }
    // What has no room for more stays within it, and still no two are one.
    let bytes = (UInt64(100)...255).map { names.number($0, maximum: 255) }
    #expect(Set(bytes) == Set(100...255))
    #expect(names.number(0) == 0)
  }

  @Test func digitsKeepTheirExclusiveOr() {
    var seen = Set<[UInt8]>()
    for number in 0..<5_000 {
      let text = String("0138\(String(10_000_000 + number))".prefix(12))
      let values = text.utf8.map { $0 &- UInt8(ascii: "0") }
      let digits = stride(from: 0, to: 12, by: 2).map { i -> UInt8 in values[i] << 4 | values[i + 1] }
      let made = names.digits(digits)
      #expect(made.count == 6 && made.allSatisfy { $0 >> 4 < 10 && $0 & 15 < 10 })
      #expect(made.reduce(0, ^) == digits.reduce(0, ^))
      // The zero in front stays, and no other comes to be.
      #expect(made[0] >> 4 == 0 && made[0] & 15 != 0)
      #expect(seen.insert(made).inserted)
    }
    #expect(names.digits([0, 0, 0]) == [0, 0, 0])
    #expect(names.digits([0x12, 0xff])[1] == 0xff)
  }

  /// Addresses have as many leading bits in common as their pseudonyms; and no two have one.
  @Test func addressesKeepTheirPrefixes() {
    var addresses = AddressPseudonyms(names)
    let v4 = (0..<400).map { IPAddress(v4: 0x0a00_0000 | UInt32($0) << UInt32($0 % 20)) }
    let v6 = (0..<100).map { IPAddress(v6High: 0x2001_0db8_0000_0000 | UInt64($0 % 7), v6Low: UInt64($0) << 40) }
    for list in [v4, v6] {
      let made = list.map { addresses.pseudonym($0) }
      for i in list.indices {
        #expect(made[i].isIPv6 == list[i].isIPv6)
        for j in 0..<i { #expect(Self.common(list[i], list[j]) == Self.common(made[i], made[j])) }
      }
    }
    let mapped = addresses.pseudonym(IPAddress(v6High: 0, v6Low: 0xffff_0a01_0203))
    #expect(mapped.low & 0xffff_ffff == addresses.pseudonym(IPAddress(v4: 0x0a01_0203)).low)
    #expect(mapped.high == 0 && mapped.low >> 32 == 0xffff)
  }

  private static func common(_ a: IPAddress, _ b: IPAddress) -> Int {
    let high = (a.high ^ b.high).leadingZeroBitCount
    return high < 64 ? high : 64 + (a.low ^ b.low).leadingZeroBitCount
  }

  @Test func linkAddressesAreMadeUp() {
    var addresses = AddressPseudonyms(names)
    let made = addresses.link([0x00, 0x1b, 0x21, 1, 2, 3])
    #expect(made.count == 6 && made[0] & 3 == 2 && made != [0x00, 0x1b, 0x21, 1, 2, 3])
    #expect(addresses.link([UInt8](repeating: 0xff, count: 6)) == [UInt8](repeating: 0xff, count: 6))
    #expect(addresses.link([0x01, 0, 0x5e, 1, 2, 3])[0] & 1 == 1)
  }
}
