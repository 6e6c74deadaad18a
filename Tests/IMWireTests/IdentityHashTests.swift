import IMTestSupport
import IMWire
import Testing

/// Hashes of names, against the standards' own examples.
@Suite struct IdentityHashTests {
  /// FIPS 180-4's examples, as NIST's "SHA256.pdf" and "SHA2_Additional.pdf" have them.
  @Test(
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ])
  func hash(_ text: String, _ expected: String) {
    #expect(SHA256.hash([UInt8](text.utf8)) == [UInt8](hex: expected))
  }

  /// RFC 4231, test cases 1, 2, 6.
  @Test func authenticate() {
    #expect(
      SHA256.authenticate([UInt8]("Hi There".utf8), key: [UInt8](repeating: 0x0b, count: 20))
        == [UInt8](hex: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"))
    #expect(
      SHA256.authenticate([UInt8]("what do ya want for nothing?".utf8), key: [UInt8]("Jefe".utf8))
        == [UInt8](hex: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
    #expect(
      SHA256.authenticate(
        [UInt8]("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
        key: [UInt8](repeating: 0xaa, count: 131))
        == [UInt8](hex: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"))
  }

  /// The vector for eight bytes that comes with the authors' code; OpenSSL gives the same.
  @Test func sipHash() {
    let hash = NumberHash(key: (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908))
    #expect(hash.sipHash(0x0706_0504_0302_0100) == 0x93f5_f579_9a93_2462)
    #expect(hash.hidden(0x0706_0504_0302_0100) == 0x93f5_f579_9a93_2462 >> 11)
  }

  /// Another key gives other numbers, the same key the same.
  @Test func numbers() {
    let (a, b) = (IdentityHash(key: [1]).numbers, IdentityHash(key: [2]).numbers)
    #expect(a.hidden(13_800_138_000) == IdentityHash(key: [1]).numbers.hidden(13_800_138_000))
    #expect(a.hidden(13_800_138_000) != b.hidden(13_800_138_000))
  }

  @Test func text() {
    let hash = IdentityHash(key: [UInt8]("Jefe".utf8))
    #expect(hash.text([UInt8]("what do ya want for nothing?".utf8)) == "5bdcc146bf60754e")
    // What stands behind the first 1,024 bytes does not count.
    let long = [UInt8](repeating: 7, count: 1_024)
    #expect(hash.text(long) == hash.text(long + [1]))
    #expect(IdentityHash.random().text(long) != IdentityHash.random().text(long))
  }
}
