package import IMOutput

/// A message taken apart: its parts beside its bytes. What is selected in the one is highlighted in the other.
package struct FrameModel: Equatable, Sendable {
  /// Bytes of a row.
  static let rowCount = 16

  /// The message.
  package let anatomy: FrameDissection
  /// The selected part; 0 where there is none.
  package private(set) var part = 0
  /// The selected byte.
  package private(set) var byte = 0
  /// Whether keys move among bytes; else among parts.
  package var isInBytes = false
  /// The first part, and the first row of bytes, that are seen.
  private(set) var topPart = 0, topRow = 0
  /// Rows that are seen.
  private(set) var height = 1
  /// The column in which bytes begin, as it was painted last; 0 where none are shown.
  var bytesColumn = 0

  /// A message with its first part selected.
  package init(_ anatomy: FrameDissection) { self.anatomy = anatomy }

  /// The bytes of the selected part; empty where there is none.
  package var selected: Range<Int> { anatomy.parts.indices.contains(part) ? anatomy.parts[part].range : 0..<0 }

  /// What is selected, in a line.
  var status: String {
    guard anatomy.parts.indices.contains(part) else { return "nothing to show" }
    let range = selected
    let count = range.count == 1 ? "1 byte" : "\(range.count) bytes"
    let cut =
      anatomy.byteCount > anatomy.bytes.count ? "   \(anatomy.bytes.count) of \(anatomy.byteCount) bytes shown" : ""
    return "\(anatomy.parts[part].name)   \(count) at \(range.lowerBound)" + cut
  }

  /// Shows so many rows.
  mutating func resize(_ height: Int) {
    self.height = max(1, height)
    settle()
  }

  /// Moves among parts, or among rows of bytes.
  mutating func move(_ count: Int) {
    guard isInBytes else { return select(part: part + count) }
    // By whole rows: the column stays.
    let last = max(0, anatomy.bytes.count - 1)
    let rows = max(-(byte / Self.rowCount), min(count, last / Self.rowCount - byte / Self.rowCount))
    select(byte: byte + rows * Self.rowCount)
  }

  /// Moves by bytes, as one does among bytes.
  mutating func moveByte(_ count: Int) {
    isInBytes = true
    select(byte: byte + count)
  }

  /// Selects a part, with its first byte.
  mutating func select(part: Int) {
    self.part = min(max(0, part), max(0, anatomy.parts.count - 1))
    byte = min(selected.lowerBound, max(0, anatomy.bytes.count - 1))
    settle()
  }

  /// Selects a byte, with the innermost part that holds it.
  mutating func select(byte: Int) {
    self.byte = min(max(0, byte), max(0, anatomy.bytes.count - 1))
    if let found = anatomy.part(at: self.byte) { part = found }
    settle()
  }

  /// Selects what is at a place of the screen; rows count from the first that is seen.
  mutating func click(row: Int, column: Int) {
    guard row < height else { return }
    guard bytesColumn > 0, column >= bytesColumn else {
      isInBytes = false
      if anatomy.parts.indices.contains(topPart + row) { select(part: topPart + row) }
      return
    }
    isInBytes = true
    let place = (column - bytesColumn - 6) / 3
    if column >= bytesColumn + 6, place < Self.rowCount { select(byte: (topRow + row) * Self.rowCount + place) }
  }

  private mutating func settle() {
    topPart = max(0, min(topPart, anatomy.parts.count - height))
    topPart = min(max(topPart, part - height + 1), part)
    let row = byte / Self.rowCount
    topRow = min(max(topRow, row - height + 1), row)
  }
}
