import Foundation
import Testing

@testable import IMContent

/// Values and results of scans.
private struct Scan {
  var result: ContentResult
  var values: [ContentValue]
  var bytes: [UInt8]

  init(_ bytes: [UInt8], _ kind: ContentKind, _ paths: [String], which: [String] = []) throws {
    var builder = ContentPlanBuilder()
    for path in paths {
      let slot = builder.slot(try #require(ContentPath.steps(path, kind)))
      #expect(slot != nil)
    }
    if !which.isEmpty {
      let slot = builder.which(which.flatMap { ContentPath.steps($0, kind) ?? [] })
      #expect(slot != nil)
    }
    let plan = builder.plan(ContentForm(kind))
    var values = [ContentValue](repeating: ContentValue(), count: ContentPlan.maximumSlots)
    // A page's end would be found by an address sanitizer: the copy is exactly as long as the content.
    var result = ContentResult.cut
    bytes.withUnsafeBufferPointer { memory in
      values.withUnsafeMutableBufferPointer { target in
        let empty = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
        defer { empty.deallocate() }
        if let start = target.baseAddress {
          result = plan.scan(memory.baseAddress ?? UnsafePointer(empty), memory.count, start)
        }
      }
    }
    (self.result, self.values, self.bytes) = (result, values, bytes)
  }

  init(_ text: String, _ kind: ContentKind, _ paths: [String], which: [String] = []) throws {
    try self.init(Array(text.utf8), kind, paths, which: which)
  }

  func text(_ slot: Int) -> String? {
    let value = values[slot]
    guard value.kind != .absent else { return nil }
    return String(decoding: bytes[value.offset..<value.offset + value.count], as: UTF8.self)
  }
}

/// Random numbers that are the same in every run.
private struct Dice: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }
}

@Suite struct JSONScannerTests {
  static let texts: [(String, [String], [String?])] = [
    (#"{"a":1,"b":{"c":"x","a":2}}"#, ["a", "b.c", "b.a", "c"], ["1", "x", "2", nil]),
    (#"[2,"id","Action",{"0":5}]"#, ["0", "1", "2", "3"], ["2", "id", "Action", #"{"0":5}"#]),
    (#" { "ctrl" : { "id" : "7" , "code" : 200 } } "#, ["*.id", "ctrl.code"], ["7", "200"]),
    (#"{"a":{"x":[1,{"a":"]}"}]},"b":true}"#, ["b", "a"], ["true", #"{"x":[1,{"a":"]}"}]}"#]),
    (#"{"a":1,"a":2}"#, ["a"], ["1"]),
    (#"{"\u0061":1,"b":"q\"\\"}"#, ["a", "b"], [nil, #"q\"\\"#]),
    (#"{"a":-12.5e3,"b":null}"#, ["a", "b"], ["-12.5e3", "null"]),
  ]

  @Test(arguments: texts) func values(_ text: String, _ paths: [String], _ wanted: [String?]) throws {
    let scan = try Scan(text, .json, paths)
    #expect(scan.result == .whole(text.utf8.count) || text.hasSuffix(" "))
    for (i, value) in wanted.enumerated() { #expect(scan.text(i) == value) }
  }

  @Test func firstOfSeveral() throws {
    let scan = try Scan(#"{"x":{"hi":1},"pub":{},"hi":2}"#, .json, ["x"], which: ["hi", "login", "pub"])
    #expect(scan.text(1) == "pub")
  }

  @Test(arguments: [#"{"a" 1}"#, #"{"a":01}"#, "{,}", #"{"a":tru}"#, "[1 2]", "x", #"{"a":-}"#]) func malformed(
    _ text: String
  ) throws {
    guard case .malformed = try Scan(text, .json, ["a", "0"]).result else {
      Issue.record("\(text) is taken for JSON")
      return
    }
  }

  /// What Foundation reads of random texts, and of all their beginnings nothing more than that they are cut.
  @Test func randomTexts() throws {
    var dice = Dice(state: 48)
    for _ in 0..<500 {
      let names = ["a", "b", "id", "name", "h\u{e9}"]
      func value(_ depth: Int) -> Any {
        switch Int.random(in: 0...(depth > 3 ? 3 : 5), using: &dice) {
        case 0: return Int.random(in: -1_000...1_000_000, using: &dice)
        case 1: return ["text", "a\"b\\", "{[", "", "\u{4f60}"].randomElement(using: &dice) ?? ""
        case 2: return Bool.random(using: &dice)
        case 3: return NSNull()
        case 4: return (0..<Int.random(in: 0...4, using: &dice)).map { _ in value(depth + 1) }
        default:
          var object: [String: Any] = [:]
          for name in names where Bool.random(using: &dice) { object[name] = value(depth + 1) }
          return object
        }
      }
      var object: [String: Any] = [:]
      for name in names { object[name] = value(0) }
      let bytes = [UInt8](try JSONSerialization.data(withJSONObject: object))
      let paths = ["a", "id", "b.a", "b.0", "name.id.b", "a.1.0"]
      let scan = try Scan(bytes, .json, paths)
      #expect(scan.result == .whole(bytes.count))
      for (i, path) in paths.enumerated() {
        var found: Any? = object
        for step in path.split(separator: ".") {
          if let number = Int(step) {
            let list = found as? [Any]
            found = list.map { number < $0.count ? $0[number] : nil } ?? nil
          } else {
            found = (found as? [String: Any])?[String(step)]
          }
        }
        guard let found else {
          #expect(scan.values[i].kind == .absent)
          continue
        }
        switch scan.values[i].kind {
        case .absent: Issue.record("\(path) is missing in \(String(decoding: bytes, as: UTF8.self))")
        case .null: #expect(found is NSNull)
        case .flag: #expect((found as? Bool).map { $0 ? 1 : 0 } == scan.values[i].number)
        case .number:
          let number = Int64(scan.values[i].number)
          #expect((found as? Int).map(Int64.init) == (scan.values[i].isNegative ? -number : number))
        case .text, .group:
          let read = try JSONSerialization.jsonObject(
            with: Data("[\(scan.values[i].kind == .text ? "\"\(scan.text(i) ?? "")\"" : scan.text(i) ?? "")]".utf8))
          #expect(read as? NSArray == [found] as NSArray)
        }
      }
      for count in stride(from: 0, to: bytes.count, by: 7) {
        let cut = try Scan(Array(bytes[..<count]), .json, paths)
        #expect(cut.result == .cut)
      }
    }
  }

  @Test func deepBrackets() throws {
    let bytes = [UInt8](repeating: 0x5b, count: 1 << 20)
    #expect(try Scan(bytes, .json, ["a", "0.0"]).result == .cut)
    let closed = bytes + [UInt8](repeating: 0x5d, count: 1 << 20)
    #expect(try Scan(closed, .json, ["a"]).result == .whole(closed.count))
  }

  /// Random bytes end, whatever they are.
  @Test func randomBytes() throws {
    var dice = Dice(state: 7)
    let alphabet = Array(#"{}[]:,"\ae10-.x \#n"#.utf8)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...40, using: &dice)).map { _ in alphabet.randomElement(using: &dice) ?? 0 }
      for kind in [ContentKind.json, .headers, .words, .resp, .protobuf] {
        let paths = kind == .words || kind == .resp || kind == .protobuf ? ["1", "2"] : ["a", "e.a"]
        let scan = try Scan(bytes, kind, kind == .headers ? ["a"] : paths)
        for value in scan.values where value.kind != .absent {
          #expect(value.offset >= 0 && value.count >= 0 && value.offset + value.count <= bytes.count)
        }
      }
    }
  }
}

@Suite struct OtherScannerTests {
  private func varint(_ number: UInt64) -> [UInt8] {
    var (out, left): ([UInt8], UInt64) = ([], number)
    repeat {
      out.append(UInt8(left & 127) | (left > 127 ? 128 : 0))
      left >>= 7
    } while left > 0
    return out
  }

  private func field(_ number: UInt64, _ value: UInt64) -> [UInt8] { varint(number << 3) + varint(value) }
  private func field(_ number: UInt64, _ value: [UInt8]) -> [UInt8] {
    varint(number << 3 | 2) + varint(UInt64(value.count)) + value
  }

  @Test func protobuf() throws {
    let bytes =
      field(1, 300) + field(22, field(2, Array("text".utf8)) + field(3, .max)) + field(1, 7) + field(3, [])
      + [0x0d << 3 | 5, 1, 0, 0, 0]
    let scan = try Scan(bytes, .protobuf, ["1", "22.2", "22.3", "13", "4"], which: ["3", "22", "10"])
    #expect(scan.result == .whole(bytes.count))
    #expect(scan.values[0].number == 7)
    #expect(scan.text(1) == "text")
    #expect(scan.values[2].number == .max)
    #expect(scan.values[3].number == 1)
    #expect(scan.values[4].kind == .absent)
    #expect(scan.values[5].number == 22)
    #expect(try Scan(Array(bytes.dropLast()), .protobuf, ["1"]).result == .cut)
    #expect(try Scan([0x0b], .protobuf, ["1"]).result == .malformed(0))
    #expect(try Scan(field(22, field(2, [1, 2])).dropLast() + [], .protobuf, ["22.2"]).result == .cut)
  }

  @Test func headers() throws {
    let text = "SEND\ncontent-length:4\r\nid: a b\nid:c\n\nbody"
    let scan = try Scan(text, .headers, ["content-length", "id", "none"])
    #expect(scan.result == .whole(text.utf8.count - 4))
    #expect(scan.text(0) == "4")
    #expect(scan.values[0].number == 4)
    #expect(scan.text(1) == "a b")
    #expect(scan.text(2) == nil)
    #expect(try Scan("SEND\nno colon\n\n", .headers, ["a"]).result == .malformed(5))
    #expect(try Scan("SEND\na:b\n", .headers, ["a"]).result == .cut)
  }

  @Test func words() throws {
    let scan = try Scan("-ERR 'No such room'\r\n", .words, ["1", "2-", "last", "9"])
    #expect((0..<4).map { scan.text($0) } == ["-ERR", "No such room", "room'", nil])
  }

  @Test func redis() throws {
    let command = "*2\r\n$3\r\nGET\r\n$6\r\nk\r\n*1\r\r\n"
    let scan = try Scan(command, .resp, ["0", "1", "2"])
    #expect(scan.result == .whole(command.utf8.count))
    #expect(scan.text(0) == "GET")
    #expect(scan.text(1) == "k\r\n*1\r")
    #expect(scan.text(2) == nil)
    for count in 0..<command.utf8.count {
      #expect(try Scan(Array(command.utf8.prefix(count)), .resp, ["0"]).result == .cut)
    }
    #expect(try Scan("-ERR no\r\n", .resp, ["0"]).text(0) == "ERR no")
    #expect(try Scan("$-1\r\n", .resp, ["0"]).values[0].kind == .null)
    #expect(try Scan("*2\r\n*1\r\n:5\r\n+x\r\n", .resp, ["0.0", "1"]).result == .whole(16))
    #expect(try Scan("*9999999999\r\n", .resp, ["0"]).result == .malformed(0))
  }
}
