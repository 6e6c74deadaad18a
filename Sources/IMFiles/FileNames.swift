import CSandbox
import IMRun

/// The names of the files that follow one another under `-w`, as tcpdump makes them.
///
/// With `-G` the name is a format of strftime(3), in local time. With `-C` a number follows: none for the first file and
/// then 1, 2 ...; with `-W` from 0, with so many zeros in front that the names sort.
struct FileNames {
  /// The name, or the format of it.
  let template: String
  /// Whether it is a format.
  let isTimed: Bool
  /// Digits that the number has at least; with 0 the first file has none.
  let digits: Int
  /// Numbers are less than this.
  let count: Int

  /// Names made of `template`, which is the name of a file without its folder.
  init(_ template: String, _ rotation: RotationOptions) {
    self.template = template
    isTimed = rotation.seconds != nil
    count = rotation.byteCount == nil ? 1 : rotation.fileCount ?? .max
    digits = rotation.byteCount == nil ? 0 : rotation.fileCount.map { String(max(1, $0) - 1).count } ?? 0
  }

  /// The name of the file with this number that begins at `second`, counted since 1970; nil where the format gives none,
  /// or one that leads into another folder.
  func name(_ number: Int, at second: Int64) -> String? {
    var text = [CChar](repeating: 0, count: Int(IMDUMP_NAME_SIZE))
    let length = imdump_file_name(template, "", isTimed ? 1 : 0, Int32(digits), Int64(number), second, &text)
    guard length > 0 else { return nil }
    return String(decoding: text.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
