/// Reads the pages that `imdump report` writes, as far as tests ask: an independent and strict reader, which knows no entity but five
/// and no tag that needs no end but those of HTML.
package struct PageParser {
  /// A piece of a page.
  package final class Element {
    /// The name of its tag.
    package let name: String
    /// Its attributes, by their names.
    package internal(set) var attributes: [String: String] = [:]
    /// Its child elements.
    package internal(set) var children: [Element] = []
    /// Text directly in it, and in what it holds, in order.
    var pieces: [(text: String?, child: Element?)] = []

    init(_ name: String) { self.name = name }

    /// All text within it.
    package var text: String { pieces.map { $0.text ?? $0.child?.text ?? "" }.joined() }
    /// The element and all of its descendants.
    package var all: [Element] { [self] + children.flatMap(\.all) }
    /// The first descendant with this name, or the element itself.
    package func first(_ name: String) -> Element? { all.first { $0.name == name } }
  }

  /// What is wrong with a page.
  package struct Mistake: Error, CustomStringConvertible { package var description: String }

  private static let empty: Set<String> = ["meta", "!doctype", "path", "rect", "wbr"]

  /// The page as a tree.
  package static func read(_ page: String) throws -> Element {
    let bytes = Array(page.utf8)
    var stack = [Element("")]
    var i = 0
    func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
    while i < bytes.count {
      guard bytes[i] == UInt8(ascii: "<") else {
        let end = bytes[i...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        stack[stack.count - 1].pieces.append((try unescaped(string(i..<end)), nil))
        i = end
        continue
      }
      let close = try tagEnd(bytes, i)
      var tag = string(i + 1..<close)
      i = close + 1
      if tag.hasPrefix("/") {
        guard stack.count > 1, stack.removeLast().name == tag.dropFirst() else {
          throw Mistake(description: "unexpected <\(tag)>")
        }
        continue
      }
      let isClosed = tag.hasSuffix("/")
      if isClosed { tag.removeLast() }
      let element = Element(String(tag.prefix { $0 != " " }))
      element.attributes = try attributes(tag.drop { $0 != " " })
      stack[stack.count - 1].children.append(element)
      stack[stack.count - 1].pieces.append((nil, element))
      if element.name == "script" || element.name == "style" {
        let end = Array("</\(element.name)>".utf8)
        var j = i
        while j + end.count <= bytes.count, !bytes[j..<j + end.count].elementsEqual(end) { j += 1 }
        element.pieces.append((string(i..<j), nil))
        i = j + end.count
      } else if !isClosed, !empty.contains(element.name) {
        stack.append(element)
      }
    }
    guard stack.count == 1 else { throw Mistake(description: "no end of <\(stack.last?.name ?? "")>") }
    return stack[0]
  }

  private static func tagEnd(_ bytes: [UInt8], _ start: Int) throws -> Int {
    var isQuoted = false
    for i in start + 1..<bytes.count {
      if bytes[i] == UInt8(ascii: "\"") { isQuoted.toggle() }
      if bytes[i] == UInt8(ascii: "<"), i > start { throw Mistake(description: "< inside of a tag") }
      if bytes[i] == UInt8(ascii: ">"), !isQuoted { return i }
    }
    throw Mistake(description: "a tag without an end")
  }

  /// By hand: a page has tens of thousands of them, and a regular expression takes a millisecond for each.
  private static func attributes(_ text: Substring) throws -> [String: String] {
    let bytes = Array(text.utf8)
    var found: [String: String] = [:]
    var i = 0
    func end(from start: Int, while isPart: (UInt8) -> Bool) -> Int {
      bytes[start...].firstIndex { !isPart($0) } ?? bytes.count
    }
    while true {
      i = end(from: i) { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
      let nameEnd = end(from: i) {
        $0 == UInt8(ascii: "-") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
      }
      guard nameEnd > i else { break }
      let name = String(decoding: bytes[i..<nameEnd], as: UTF8.self)
      i = nameEnd
      var value = ""
      if bytes[i...].starts(with: Array("=\"".utf8)) {
        let valueEnd = end(from: i + 2) { $0 != UInt8(ascii: "\"") }
        guard valueEnd < bytes.count else { break }
        value = try unescaped(String(decoding: bytes[i + 2..<valueEnd], as: UTF8.self))
        i = valueEnd + 1
      }
      guard found.updateValue(value, forKey: name) == nil else { throw Mistake(description: "\(name) twice") }
    }
    guard i == bytes.count else { throw Mistake(description: "attributes: \(text)") }
    return found
  }

  private static func unescaped(_ text: String) throws -> String {
    guard text.contains("&") else { return text }
    var result = ""
    var parts = text.split(separator: "&", omittingEmptySubsequences: false)[...]
    result += parts.removeFirst()
    let known = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "#39": "'"]
    for part in parts {
      guard let end = part.firstIndex(of: ";"), let sign = known[String(part[..<end])] else {
        throw Mistake(description: "&\(part.prefix(12))")
      }
      result += sign + part[part.index(after: end)...]
    }
    return result
  }

  /// The rows of a table's body, as texts.
  package static func rows(_ page: Element, _ id: String) -> [[String]] {
    let table = page.all.first { $0.attributes["id"] == id }
    return table?.first("tbody")?.children.map { $0.children.map(\.text) } ?? []
  }

  /// The heads of a table's columns.
  package static func heads(_ page: Element, _ id: String) -> [String] {
    page.all.first { $0.attributes["id"] == id }?.first("thead")?.all.filter { $0.name == "th" }.map(\.text) ?? []
  }
}
