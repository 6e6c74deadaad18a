import Glibc
import IMWire

/// The names of the files that follow one another under `-w`, as tcpdump makes them.
///
/// With `-G` the name is a format of strftime(3), in local time. With `-C` a number follows: none for the first file and
/// then 1, 2 ...; with `-W` from 0, with so many zeros in front that the names sort.
struct FileNames {
  private let template: String
  private let isTimed: Bool
  private let digits: Int

  /// Names made of `template`, which is the name of a file without its folder.
  init(_ template: String, _ rotation: RotationOptions) {
    self.template = template
    isTimed = rotation.seconds != nil
    digits = rotation.byteCount == nil ? 0 : rotation.fileCount.map { String(max(1, $0) - 1).count } ?? 0
  }

  /// The name of the file with this number that begins at `second`, counted since 1970; nil where the format gives none,
  /// or one that leads into another folder.
  func name(_ number: Int, at second: Int64) -> String? {
    var name = template
    if isTimed {
      guard let expanded = Self.expand(template, second) else { return nil }
      name = expanded
    }
    if number > 0 || digits > 0 {
      let text = String(number)
      name += String(repeating: "0", count: max(0, digits - text.count)) + text
    }
    guard !name.isEmpty, name.utf8.count <= 255, !name.contains("/"), name != ".", name != ".." else { return nil }
    return name
  }

  private static func expand(_ format: String, _ second: Int64) -> String? {
    var time = time_t(second)
    var parts = tm()
    guard localtime_r(&time, &parts) != nil else { return nil }
    var text = [CChar](repeating: 0, count: 512)
    let count = strftime(&text, text.count, format, &parts)
    return count == 0 ? nil : String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
