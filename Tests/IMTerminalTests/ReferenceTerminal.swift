/// A small terminal that does what the painter's bytes say, and notes what it does not know.
struct ReferenceTerminal {
  let width: Int
  let height: Int
  /// What each cell shows; empty in the second cell of a wide cluster.
  private(set) var cells: [[String]]
  /// The parameters of SGR with which each cell was printed.
  private(set) var styles: [[String]]
  /// Bytes that are no text and no sequence that it knows.
  private(set) var unknown: [String] = []
  private var row = 0
  private var column = 0
  private var style = ""
  /// How wide this terminal takes a cluster to be.
  private let widthOf: (Character) -> Int

  init(width: Int, height: Int, widthOf: @escaping (Character) -> Int) {
    self.width = width
    self.height = height
    self.widthOf = widthOf
    cells = Array(repeating: Array(repeating: " ", count: width), count: height)
    styles = Array(repeating: Array(repeating: "", count: width), count: height)
  }

  mutating func take(_ bytes: [UInt8]) {
    var text = Substring(String(decoding: bytes, as: UTF8.self))
    while let character = text.first {
      if character == "\u{1b}" {
        sequence(&text)
      } else {
        text.removeFirst()
        print(character)
      }
    }
  }

  private mutating func sequence(_ text: inout Substring) {
    var scalars = text.unicodeScalars
    scalars.removeFirst()
    guard scalars.popFirst() == "[" else { return unknown.append(String(text.prefix(4))) }
    var parameters = ""
    while let scalar = scalars.popFirst() {
      guard (0x40..<0x7f).contains(scalar.value) else {
        parameters.unicodeScalars.append(scalar)
        continue
      }
      run(parameters, Character(scalar))
      break
    }
    text = Substring(scalars)
  }

  private mutating func run(_ parameters: String, _ final: Character) {
    let numbers = parameters.split(separator: ";").map { Int($0) ?? 0 }
    switch (final, numbers.count) {
    case ("H", 2): (row, column) = (numbers[0] - 1, numbers[1] - 1)
    case ("X", 1): for i in column..<min(column + numbers[0], width) { put(i, " ", "") }
    case ("m", _): style = parameters
    case ("J", 1) where numbers[0] == 2:
      for row in 0..<height { for column in 0..<width { (cells[row][column], styles[row][column]) = (" ", "") } }
    default: unknown.append(parameters + String(final))
    }
  }

  private mutating func put(_ at: Int, _ text: String, _ style: String) {
    guard (0..<width).contains(at) else { return }
    // DirectionState of a wide cluster takes the other half with it.
    if cells[row][at].isEmpty, at > 0, !text.isEmpty { cells[row][at - 1] = " " }
    if at + 1 < width, cells[row][at + 1].isEmpty { cells[row][at + 1] = " " }
    cells[row][at] = text
    styles[row][at] = style
  }

  private mutating func print(_ character: Character) {
    if character.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7f..<0xa0).contains($0.value) }) {
      unknown.append("\(character.unicodeScalars.map(\.value))")
    }
    let count = widthOf(character)
    // Without wrapping, what is behind the last column is printed there.
    column = min(column, width - 1)
    put(column, String(character), style)
    for i in 1..<max(count, 1) where column + i < width { put(column + i, "", style) }
    column += count
  }
}
