import IMWire
import Testing

@Suite struct AddressTests {
  /// Text forms from RFC 5952, sections 4 and 5.
  @Test(arguments: [
    ("2001:db8::1", "2001:0db8:0000:0000:0000:0000:0000:0001"),
    ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
    ("2001:0:0:1::1", "2001:0:0:1:0:0:0:1"),
    ("2001:db8::1:0:0:1", "2001:db8:0:0:1:0:0:1"),
    ("::", "0:0:0:0:0:0:0:0"), ("::1", "::1"), ("::ffff:192.0.2.1", "::ffff:c000:201"),
    ("192.0.2.1", "192.0.2.1"), ("fe80::", "fe80::"),
  ])
  func text(expected: String, input: String) {
    #expect(IPAddress(input)?.description == expected)
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.256", "01.2.3.4", ":", ":1", "1:", "1::2::3", "1:2:3:4:5:6:7:8:9", "::g", "1:2:3:4:5:6:7::8:9",
  ])
  func refused(input: String) { #expect(IPAddress(input) == nil) }
}
