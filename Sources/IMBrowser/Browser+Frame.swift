import IMOutput
import IMStore
import IMTerminal

/// The screen of a message's parts and bytes.
extension Browser {
  /// Cells of a row of bytes: its place, the bytes in hexadecimal, and those that can be printed.
  private static let bytesWidth = 6 + 3 * FrameModel.rowCount + 1 + FrameModel.rowCount

  mutating func putFrame(_ grid: inout Grid) {
    listTop = headingRow + 1
    if let message = framed {
      grid.put(
        " message \(message.id)  \(message.type)  \(MessageItem.clock(message.time, zone))", row: listTop - 1,
        column: 0,
        style: Style(.name, .bold))
    }
    grid.restyle(row: listTop - 1, columns: 0..<grid.width) { $0.with(.underline) }
    guard frame != nil else { return }
    let room = grid.height - listTop - 2
    // Beside one another, or on a narrow screen one beneath the other.
    let isBeside = grid.width >= Self.bytesWidth + 30
    let isStacked = !isBeside && room >= 12
    let rows = isStacked ? room / 2 : room
    frame?.resize(rows)
    frame?.bytesColumn = isBeside ? grid.width - Self.bytesWidth : 0
    guard let frame else { return }
    let partsWidth = isBeside ? grid.width - Self.bytesWidth - 2 : grid.width
    let showsParts = isBeside || isStacked || !frame.isInBytes
    if showsParts { put(parts: frame, &grid, top: listTop, rows: rows, width: partsWidth) }
    if isBeside {
      for i in 0..<rows { grid.put("│", row: listTop + i, column: partsWidth, style: Style(.faint)) }
      put(bytes: frame, &grid, top: listTop, rows: rows, left: frame.bytesColumn)
    } else if isStacked {
      grid.put(String(repeating: "─", count: grid.width), row: listTop + rows, column: 0, style: Style(.faint))
      put(bytes: frame, &grid, top: listTop + rows + 1, rows: room - rows - 1, left: 0)
    } else if !showsParts {
      put(bytes: frame, &grid, top: listTop, rows: rows, left: 0)
    }
  }

  private func put(parts frame: FrameModel, _ grid: inout Grid, top: Int, rows: Int, width: Int) {
    for (i, part) in frame.anatomy.parts.dropFirst(frame.topPart).prefix(rows).enumerated() {
      let indent = min(2 * part.depth, width / 3)
      let name = min(max(16, width / 3), max(1, width - indent - 1))
      grid.put(fitted: part.name, row: top + i, column: indent, width: name, style: Style(.name))
      let at = indent + min(max(cells(plainText(part.name)), 14), name) + 1
      if at < width { grid.put(fitted: part.value, row: top + i, column: at, width: width - at) }
      if frame.topPart + i == frame.part {
        grid.restyle(row: top + i, columns: 0..<width) { $0.with(frame.isInBytes ? .bold : .reverse) }
      }
    }
  }

  private func put(bytes frame: FrameModel, _ grid: inout Grid, top: Int, rows: Int, left: Int) {
    let anatomy = frame.anatomy
    // Stacked panes have fewer rows than the model was told: the selected byte stays in sight.
    let first = max(frame.topRow, frame.byte / FrameModel.rowCount - rows + 1)
    for i in 0..<rows {
      let start = (first + i) * FrameModel.rowCount
      guard start < anatomy.bytes.count else { break }
      grid.put(hex(start, 4), row: top + i, column: left, style: Style(.faint))
      for place in start..<min(start + FrameModel.rowCount, anatomy.bytes.count) {
        let column = left + 6 + 3 * (place - start), character = left + 6 + 3 * FrameModel.rowCount + 1 + place - start
        let isHidden = anatomy.hidden.contains { $0.contains(place) }
        let byte = anatomy.bytes[place]
        var style = Style.plain
        if frame.selected.contains(place) { style = style.with(.reverse) }
        if frame.isInBytes, place == frame.byte { style = style.with([.bold, .underline]) }
        grid.put(isHidden ? "--" : hex(Int(byte), 2), row: top + i, column: column, style: style)
        // The blank between two bytes of a part belongs to it.
        if frame.selected.contains(place), frame.selected.contains(place + 1), place + 1 < start + FrameModel.rowCount {
          grid.put(" ", row: top + i, column: column + 2, style: style)
        }
        let isPlain = (0x20..<0x7f).contains(byte) && !isHidden
        grid.put(isPlain ? String(Character(Unicode.Scalar(byte))) : "·", row: top + i, column: character, style: style)
      }
    }
  }

  private func hex(_ value: Int, _ digits: Int) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
}
