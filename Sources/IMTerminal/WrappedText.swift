/// The lines of a text that is wrapped to `width` cells, 2 at least; at most `limit` of them.
///
/// A line ends after a blank or beside a wide character if that leaves it at least half full, and otherwise between any two clusters; no
/// cluster is cut. With `keepsWords`, it ends after a blank wherever there is one. Blanks at the end of a line may extend beyond its edge.
/// Together, the lines are the text. A line break in the text is a character like any other: the caller interprets it.
package func wrapped(_ text: String, cells width: Int, limit: Int = .max, keepsWords: Bool = false) -> [Substring] {
  let width = max(2, width)
  var lines: [Substring] = []
  var start = text.startIndex
  var used = 0
  /// Where the line could end, and how many cells it would have.
  var gap: (at: String.Index, cells: Int)?
  var at = start
  while at < text.endIndex, lines.count < limit {
    let character = text[at]
    let next = text.index(after: at)
    let count = cells(character)
    if used + count > width, at > start, character != " " {
      var end = (at: at, cells: used)
      if count < 2, let gap, keepsWords || gap.cells >= width / 2 { end = gap }
      lines.append(text[start..<end.at])
      start = end.at
      used -= end.cells
      gap = nil
    }
    // Blanks that do not fit any more hang over.
    used += count
    if character == " " || count == 2 { gap = (next, used) }
    at = next
  }
  if start < text.endIndex, lines.count < limit { lines.append(text[start...]) }
  return lines
}
