import Glibc
import Testing

@testable import IMBrowse

/// Files of names.
@Suite struct NameFileTests {
  private static func names(_ text: String) -> [String: String] {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return [:] }
    _ = text.withCString { write(ends[1], $0, strlen($0)) }
    close(ends[1])
    return NameFile(reading: ends[0]).names
  }

  @Test(
    arguments: [
      ("7,张三\n8,alice\r\n", ["7": "张三", "8": "alice"]),
      ("# names\n\n7,first\n7,second\n", ["7": "first"]),
      ("\"a,b\",\"he said \"\"hi\"\"\",more\n", ["a,b": "he said \"hi\""]),
      ("10.0.0.7\tgateway alias # comment\nfd00::1 six", ["10.0.0.7": "gateway", "fd00::1": "six"]),
      ("alone\n,none\nid,\n", [:]),
      ("1,a\n2," + String(repeating: "x", count: 9_000) + "\n3,c", ["1": "a", "3": "c"]),
    ] as [(String, [String: String])]) func lines(_ text: String, _ wanted: [String: String])
  {
    #expect(Self.names(text) == wanted)
  }
}
