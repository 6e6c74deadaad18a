import IMOutput
import IMWire

/// Tables: the words of a chart, and those that stand for themselves.
struct TableWriter {
  /// A column.
  struct Column {
    var name: String
    var isNumber: Bool
    /// Whether a line may end before a port.
    var hasPorts = false
  }

  /// What stands in a cell.
  enum Cell {
    /// Text as it is.
    case text(String)
    /// Text that is sorted by a number.
    case number(String, Double?)
    /// Text that leads to a place of the page.
    case link(String, anchor: String)
    /// Text with a class of its own.
    case marked(String, StaticString)

    static func count(_ value: UInt64) -> Cell { .number(grouped(value), Double(value)) }
    static func count(_ value: UInt64?) -> Cell { value.map { .count($0) } ?? .number("–", nil) }
    static func length(_ microseconds: Int64?) -> Cell {
      microseconds.map { .number(Words.length($0), Double($0)) } ?? .number("–", nil)
    }
  }

  let columns: [Column]
  var isSortable = false, isFiltered = false
  /// Whether it has so many columns that letters are small and the titles of numbers upright.
  var isTight = false

  init(_ columns: [Column], isSortable: Bool = false, isFiltered: Bool = false, isTight: Bool = false) {
    self.columns = columns
    self.isSortable = isSortable
    self.isFiltered = isFiltered
    self.isTight = isTight
  }

  /// Begins a table that scrolls inside of its box.
  func begin(_ id: StaticString, caption: String, _ page: inout Markup) {
    page.raw(isTight ? "<div class=\"scroll high\"" : "<div class=\"scroll\"")
    page.raw(" tabindex=\"0\" role=\"region\" aria-label=\"")
    page.text(caption)
    page.raw("\"><table id=\"")
    page.raw(id)
    page.raw(isTight ? "\" class=\"tight\"" : "\"")
    if isSortable { page.raw(" data-sort") }
    if isFiltered { page.raw(" data-filter") }
    page.raw("><caption>")
    page.text(caption)
    page.raw("</caption><thead><tr>")
    for column in columns {
      page.raw(column.isNumber ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">")
      page.text(column.name)
      page.raw("</th>")
    }
    page.raw("</tr></thead><tbody>\n")
  }

  /// Appends a row; its first cell is its heading.
  func row(_ cells: [Cell], anchor: String? = nil, _ page: inout Markup) {
    page.raw("<tr")
    if let anchor {
      page.raw(" id=\"")
      page.text(anchor)
      page.raw("\"")
    }
    page.raw(">")
    for (i, cell) in cells.enumerated() {
      page.raw(i == 0 ? "<th scope=\"row\"" : "<td")
      let column = i < columns.count ? columns[i] : nil
      if column?.isNumber == true { page.raw(" class=\"n\"") }
      switch cell {
      case .number(let text, let value):
        if isSortable {
          page.raw(" data-v=\"")
          if let value { page.text(Self.plain(value)) }
          page.raw("\"")
        }
        page.raw(">")
        page.text(text)
      case .text(let text):
        page.raw(">")
        if column?.hasPorts == true, let colon = text.lastIndex(of: ":") {
          page.text(String(text[..<colon]))
          page.raw("<wbr>")
          page.text(String(text[colon...]))
        } else {
          page.text(text)
        }
      case .link(let text, let anchor):
        page.raw("><a href=\"#")
        page.text(anchor)
        page.raw("\">")
        page.text(text)
        page.raw("</a>")
      case .marked(let text, let kind):
        page.raw("><span class=\"")
        page.raw(kind)
        page.raw("\">")
        page.text(text)
        page.raw("</span>")
      }
      page.raw(i == 0 ? "</th>" : "</td>")
    }
    page.raw("</tr>\n")
  }

  /// Ends it.
  func end(_ page: inout Markup) { page.raw("</tbody></table></div>\n") }

  private static func plain(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 9e15 ? String(Int64(value)) : Words.decimal(value, 3)
  }
}
