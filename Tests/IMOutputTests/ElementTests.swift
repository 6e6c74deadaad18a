import IMEngine
import IMTestSupport
import IMWire
import Testing

@testable import IMOutput

/// Values of elements, as the profile says that they are to be read.
@Suite struct ElementTests {
  @Test(
    arguments: [
      (.unsigned, "0001 1170", "70000", "70000"),
      (.unsigned, "ffffffffffffffff", "18446744073709551615", "18446744073709551615"),
      (.signed, "ff", "-1", "-1"), (.signed, "8000", "-32768", "-32768"), (.signed, "7fff", "32767", "32767"),
      (.text, "68 c3a9 0a", #""hé\n""#, #""hé\n""#), (.bytes, "00ff10", "00ff10", #""00ff10""#),
      (.bcd, "0138", "0138", #""0138""#),
      // date -u -d @1700000000
      (.time, "6553f100", "2023-11-14T22:13:20.000000Z", #""2023-11-14T22:13:20.000000Z""#),
      (.milliseconds, "0000018bcfe56800", "2023-11-14T22:13:20.000000Z", #""2023-11-14T22:13:20.000000Z""#),
      // The same moment, 2,208,988,800 s later: RFC 868 has this number for 1970.
      (.seconds1900, "e8fe6f80", "2023-11-14T22:13:20.000000Z", #""2023-11-14T22:13:20.000000Z""#),
      (.address, "c0000215", "192.0.2.21", #""192.0.2.21""#),
      (.address, "0001c0000215", "192.0.2.21", #""192.0.2.21""#),
      (.address, "20010db8000000000000000000000001", "2001:db8::1", #""2001:db8::1""#),
      // What does not fit its type is shown as it stands there.
      (.unsigned, "414141414141414141", #""AAAAAAAAA""#, #""AAAAAAAAA""#), (.time, "4141", #""AA""#, #""AA""#),
      (.address, "414243", #""ABC""#, #""ABC""#), (.seconds1900, "41414141", #""AAAA""#, #""AAAA""#),
      (.time, "4141414141414141", #""AAAAAAAA""#, #""AAAAAAAA""#), (.unsigned, "", #""""#, #""""#),
    ] as [(ValueType.Kind, String, String, String)])
  func values(_ kind: ValueType.Kind, _ hex: String, _ text: String, _ json: String) {
    let bytes = [UInt8](hex: hex)
    var out = ByteWriter(capacity: 64)
    bytes.withUnsafeBytes { bytes in
      let value = ElementValue(ValueType(kind), bytes)
      out.element(value, bytes)
      out.byte(0x20)
      out.jsonElement(value, bytes)
    }
    #expect(out.withBytes { String(decoding: $0, as: UTF8.self) } == "\(text) \(json)")
  }

  @Test func littleEndian() {
    let bytes: [UInt8] = [0x34, 0x12]
    bytes.withUnsafeBytes { #expect(ElementValue(ValueType(.unsigned, littleEndian: true), $0) == .unsigned(0x1234)) }
    bytes.withUnsafeBytes { #expect(ElementValue(nil, $0) == .unknown) }
  }
}
