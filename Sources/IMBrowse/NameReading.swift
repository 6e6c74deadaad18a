import Glibc
import IMBrowser
import IMDescriptors
import IMStore
import IMSystem

/// Where names come from.
struct NameSources {
  /// A file of names that is open, and who looks addresses up.
  var file: Int32?
  var resolver: NameResolver?
  /// Whether the store keeps what was looked up.
  var keepsNames = false
}

extension RequestThread {
  /// A thread that finds names of ids in the store at `path`.
  static func findingNames(
    _ sources: NameSources, _ path: String, _ answers: AnswerMailbox
  ) throws(CaptureError) -> RequestThread {
    try RequestThread("imdump-names", isBehind: true, for: path, "read names") { mailbox in
      let file = sources.file.map { NameFile(reading: $0, isStale: { mailbox.isStale }).names } ?? [:]
      var finder = NameFinder(
        file: file, cache: sources.keepsNames ? (try? NameCache(path)) ?? nil : nil, resolver: sources.resolver,
        now: { Int64(time(nil)) })
      while let request = mailbox.take() {
        guard case .names(let wanted) = request else { continue }
        let names = finder.names(
          of: wanted.ids, isOver: { mailbox.isStale }, known: { answers.put(.names(wanted, $0, isLast: false)) })
        answers.put(.names(wanted, names, isLast: true))
      }
      finder.keep()
    }
  }
}

/// Names by ids: lines of `id,name`, as RFC 4180 has them, or of a hosts file, an address and names.
struct NameFile {
  /// Bytes of a line, lines, and bytes of a name, at most; what is longer is passed over.
  private static let lineLimit = 4_096, countLimit = 4_000_000, nameLimit = 256

  private(set) var names: [String: String] = [:]

  /// Reads to the end of the file, and closes it.
  init(reading descriptor: Int32, isStale: () -> Bool = { false }) {
    defer { close(descriptor) }
    var line: [UInt8] = []
    var isLong = false
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while !isStale(), names.count < Self.countLimit {
      let count = read(descriptor, &piece, piece.count)
      guard count > 0 else { break }
      for byte in piece[..<count] {
        if byte == UInt8(ascii: "\n") {
          if !isLong { add(line) }
          line.removeAll(keepingCapacity: true)
          isLong = false
        } else if line.count < Self.lineLimit {
          line.append(byte)
        } else {
          isLong = true
        }
      }
    }
    if !isLong { add(line) }
  }

  /// Takes a line; the first name of an id counts.
  private mutating func add(_ bytes: [UInt8]) {
    var bytes = bytes
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    let line = String(decoding: bytes, as: UTF8.self)
    guard let first = line.first(where: { $0 != " " && $0 != "\t" }), first != "#" else { return }
    let words: [String]
    if line.contains(",") {
      words = Self.fields(line)
    } else {
      words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }.map { String($0) }
    }
    guard words.count >= 2, !words[0].isEmpty, !words[1].isEmpty, words[1].utf8.count <= Self.nameLimit,
      names[words[0]] == nil
    else { return }
    names[words[0]] = words[1]
  }

  /// The first two fields of a line of comma-separated values.
  private static func fields(_ line: String) -> [String] {
    var fields: [String] = [""]
    var (isQuoted, wasQuote) = (false, false)
    for character in line {
      if isQuoted {
        if character == "\"" {
          (isQuoted, wasQuote) = (false, true)
        } else {
          fields[fields.count - 1].append(character)
        }
      } else if character == "\"" {
        // A second quote stands for one.
        if wasQuote { fields[fields.count - 1].append("\"") }
        (isQuoted, wasQuote) = (true, false)
      } else if character == "," {
        if fields.count == 2 { return fields }
        fields.append("")
        wasQuote = false
      } else {
        fields[fields.count - 1].append(character)
        wasQuote = false
      }
    }
    return fields
  }
}
