import IMFields
import IMWire

/// A frame's bytes while they are rewritten, and what becomes of each.
struct FrameText {
  private(set) var old: [UInt8] = []
  private(set) var new: [UInt8] = []
  private(set) var headerCount = 0
  /// The treatment of each byte, by its place in `treatments`.
  private var which: [UInt16] = []
  private var treatments: [FrameRedactor.Treatment] = [.keep, .anything]
  /// Whether the engine reads the frame by a byte, so that it is what it is.
  private var isFixed: [Bool] = []

  /// A frame without bytes.
  init() {}

  /// Takes a frame in place of the last one, whose memory it has: one that `fill` gives, whose header and trailer stay, and whose body
  /// goes.
  mutating func begin(headerCount: Int, trailerCount: Int, _ fill: (inout [UInt8]) -> Void) {
    old.removeAll(keepingCapacity: true)
    fill(&old)
    new.removeAll(keepingCapacity: true)
    new.append(contentsOf: old)
    self.headerCount = min(headerCount, old.count)
    let end = max(self.headerCount, old.count - trailerCount)
    which.removeAll(keepingCapacity: true)
    which.append(contentsOf: repeatElement(0, count: self.headerCount))
    which.append(contentsOf: repeatElement(1, count: end - self.headerCount))
    which.append(contentsOf: repeatElement(0, count: old.count - end))
    isFixed.removeAll(keepingCapacity: true)
    isFixed.append(contentsOf: repeatElement(false, count: old.count))
    treatments.removeSubrange(2...)
  }

  /// Has the bytes in `range` stay, since the frame is read by them.
  mutating func fix(_ range: Range<Int>) {
    set(range, .keep)
    for i in range.clamped(to: 0..<old.count) { isFixed[i] = true }
  }

  /// Says what becomes of the bytes in `range`, as far as there are such; not of fixed ones, unless they are somebody's.
  mutating func set(_ range: Range<Int>, _ treatment: FrameRedactor.Treatment, isSensitive: Bool = true) {
    let range = range.clamped(to: 0..<old.count)
    guard !range.isEmpty else { return }
    let number: UInt16
    switch treatment {
    case .keep: number = 0
    default:
      // A number for each value, so that values which follow one another stay apart; of more than that some are taken for one.
      if treatments.count < Int(UInt16.max) {
        treatments.append(treatment)
      } else {
        treatments[treatments.count - 1] = .anything
      }
      number = UInt16(treatments.count - 1)
    }
    for i in range where isSensitive || !isFixed[i] { which[i] = number }
  }

  /// Whether a byte is a stand-in, which may be another one as well.
  func isFree(_ i: Int) -> Bool {
    switch treatments[Int(which[i])] {
    case .text, .anything, .amount: true
    default: false
    }
  }

  /// What becomes of bytes that follow one another, but for those that stay.
  var runs: [PlainFrames.Run] {
    var runs: [PlainFrames.Run] = []
    var i = 0
    while i < old.count {
      var end = i + 1
      while end < old.count, which[end] == which[i] { end += 1 }
      let treatment = treatments[Int(which[i])]
      if which[i] != 0, treatment != .keep { runs.append(PlainFrames.Run(range: i..<end, treatment: treatment)) }
      i = end
    }
    return runs
  }

  /// Makes the new bytes; with `isPlain` stand-ins tell no shape.
  mutating func replace(_ redactor: FrameRedactor, isPlain: Bool) {
    var i = 0
    while i < old.count {
      let number = which[i]
      var end = i + 1
      while end < old.count, which[end] == number { end += 1 }
      if number != 0 {
        var made = redactor.replacement(Array(old[i..<end]), treatments[Int(number)])
        if isPlain, [.text(.utf8), .text(.ascii), .anything, .jsonText].contains(treatments[Int(number)]) {
          made = [UInt8](repeating: CharacterShape.letter, count: end - i)
        }
        for (offset, byte) in made.prefix(end - i).enumerated() { new[i + offset] = byte }
      }
      i = end
    }
  }
}

extension FrameRedactor {
  /// Replaces the bytes of a value in their place.
  @inline(never)
  func replace(_ bytes: UnsafeMutableRawBufferPointer, _ treatment: Treatment) {
    switch treatment {
    case .keep: break
    case .text(.utf8): CharacterShape.replace(text: bytes)
    case .anything: CharacterShape.replace(anything: bytes)
    case .number(let littleEndian) where bytes.count <= 8:
      let count = bytes.count
      var value: UInt64 = 0
      for i in 0..<count { value = value << 8 | UInt64(bytes[littleEndian ? count - 1 - i : i]) }
      let made = cache.number(value, maximum: count == 8 ? .max : 1 << UInt64(8 * count) - 1)
      for i in 0..<count {
        bytes[littleEndian ? i : count - 1 - i] = UInt8(truncatingIfNeeded: made >> UInt64(8 * i))
      }
    default:
      for (i, byte) in replacement(Array(bytes), treatment).prefix(bytes.count).enumerated() { bytes[i] = byte }
    }
  }

  /// What stands for the bytes of a value; as many.
  func replacement(_ bytes: [UInt8], _ treatment: Treatment) -> [UInt8] {
    switch treatment {
    case .keep: return bytes
    case .name(let encoding): return cache.text(bytes, encoding)
    case .digits: return names.digits(bytes)
    case .bytes: return names.bytes(bytes)
    case .number(let littleEndian):
      return number(bytes, littleEndian) { cache.number($0, maximum: $1) }
    case .amount(let littleEndian):
      // The least that has as many digits, so that there is room for it.
      return number(bytes, littleEndian) { value, _ in
        var made: UInt64 = 1
        while made <= value / 10 { made *= 10 }
        return made
      }
    case .address(let family): return address(bytes, family)
    case .text(let encoding): return CharacterShape.text(bytes, encoding)
    case .anything: return CharacterShape.anything(bytes)
    case .json(let known, let others): return JSONRedaction.rewritten(bytes, names: known, others: others, names)
    case .jsonText: return JSONRedaction.standIn(bytes)
    case .jsonName:
      return bytes.contains(UInt8(ascii: "\\")) ? JSONRedaction.standIn(bytes) : cache.text(bytes, .utf8)
    case .decimalName where bytes.allSatisfy { $0 &- 0x30 < 10 }: return JSONRedaction.number(bytes, names)
    // Signs and exponents stay, so that it is a number.
    case .decimal, .decimalName: return bytes.map { $0 &- 0x30 < 10 ? UInt8(ascii: "1") : $0 }
    case .xmlText: return ContentRedaction.standIn(xml: bytes)
    case .xmlName:
      return bytes.contains(UInt8(ascii: "&")) ? ContentRedaction.standIn(xml: bytes) : cache.text(bytes, .utf8)
    case .lead: return CharacterShape.text(bytes, .utf8)
    case .letters: return [UInt8](repeating: CharacterShape.letter, count: bytes.count)
    case .zero: return [UInt8](repeating: 0, count: bytes.count)
    }
  }

  /// Another number for a number, given it and the greatest one that has room.
  private func number(
    _ bytes: [UInt8], _ littleEndian: Bool, _ other: (UInt64, UInt64) -> UInt64
  ) -> [UInt8] {
    guard bytes.count <= 8 else { return CharacterShape.anything(bytes) }
    let ordered = littleEndian ? Array(bytes.reversed()) : bytes
    let maximum = bytes.count == 8 ? UInt64.max : 1 << UInt64(8 * bytes.count) - 1
    let value = other(ordered.reduce(0) { $0 << 8 | UInt64($1) }, maximum)
    let made = (0..<bytes.count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (bytes.count - 1 - $0))) }
    return littleEndian ? made.reversed() : made
  }

  /// An address behind `family` bytes: of IPv4, of IPv6, or a text.
  private func address(_ bytes: [UInt8], _ family: Int) -> [UInt8] {
    guard bytes.count >= family else { return CharacterShape.anything(bytes) }
    let value = Array(bytes[family...])
    func word(_ from: Int, _ count: Int) -> UInt64 { value[from..<from + count].reduce(0) { $0 << 8 | UInt64($1) } }
    func octets(_ word: UInt64, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * (count - 1 - $0))) }
    }
    switch value.count {
    case 4:
      let made = addresses.pseudonym(IPAddress(v4: UInt32(word(0, 4))))
      return bytes[..<family] + octets(made.low, 4)
    case 16:
      let made = addresses.pseudonym(IPAddress(v6High: word(0, 8), v6Low: word(8, 8)))
      return bytes[..<family] + octets(made.high, 8) + octets(made.low, 8)
    default: return bytes[..<family] + names.text(value)
    }
  }
}
