import IMWire

/// Reads moments, as nanoseconds since 1970-01-01T00:00:00Z. Answers `nil` for other text and for times that 64 bits of
/// nanoseconds do not reach, before 1677 or after 2262.
enum TimeLiteral {
  /// Seconds with up to nine digits of fraction, `1764000000.123456`; or milliseconds, microseconds or nanoseconds, which 13, 16 or 19
  /// digits are: `1764000000123456`, as `ts` in JSON.
  static func seconds(_ text: String) -> Int128? {
    var digits = Substring(text)
    let isNegative = digits.hasPrefix("-")
    if isNegative { digits = digits.dropFirst() }
    let units: [Int: Int128] = [13: 1_000_000, 16: 1_000, 19: 1]
    if let unit = units[digits.utf8.count], let value = number(digits, 13...19) {
      return clamped(Int128(isNegative ? -value : value) * unit)
    }
    let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = number(parts[0], 1...12), let fraction = parts.count == 2 ? fraction(parts[1]) : 0 else {
      return nil
    }
    let value = Int128(whole) * 1_000_000_000 + Int128(fraction)
    return clamped(isNegative ? -value : value)
  }

  /// RFC 3339: `2026-11-21T00:11:46.123Z`, with `Z` or an offset such as `+08:00`; a space may stand for the `T`. A zone may also be as text
  /// and reports have it: ` UTC`, ` +08:00`, ` UTC+08:00`. Without one it is what clocks of `zone` show. Seconds may be left out.
  static func calendar(_ text: String, _ zone: LocalZone) -> Int128? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 16, bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
    func part(_ range: Range<Int>) -> Substring { Substring(String(decoding: bytes[range], as: UTF8.self)) }
    func has(_ scalars: String, at place: Int) -> Bool { scalars.utf8.contains(bytes[place]) }
    guard let year = number(part(0..<4), 4...4), has("-", at: 4), let month = number(part(5..<7), 2...2),
      has("-", at: 7), let day = number(part(8..<10), 2...2), has("Tt ", at: 10),
      (1...12).contains(month), day >= 1, day <= days(in: month, of: year), let clock = Clock(part(11..<bytes.count))
    else { return nil }
    return clock.moment(onDay: daysSinceEpoch(year, month, day), zone)
  }

  /// A time of day, `00:11:46.123` or `00:11`, with or without a zone as in `calendar`, on the day that begins `day` times 86,400 seconds
  /// after 1970 on the clocks that it means.
  static func timeOfDay(_ text: String, onDay day: Int64, _ zone: LocalZone) -> Int128? {
    Clock(Substring(text))?.moment(onDay: day, zone)
  }

  /// What a clock shows, and where it stands if the text says so.
  private struct Clock {
    /// Since midnight.
    private var seconds: Int64, nanoseconds: Int64 = 0
    /// Minutes east of Greenwich; `nil` for text without a zone.
    private var offset: Int64?

    init?(_ text: Substring) {
      let end = text.firstIndex { !$0.isASCII || !$0.isNumber && $0 != ":" && $0 != "." } ?? text.endIndex
      let parts = text[..<end].split(separator: ":", omittingEmptySubsequences: false)
      guard (2...3).contains(parts.count), let hour = number(parts[0], 2...2), let minute = number(parts[1], 2...2),
        hour < 24, minute < 60
      else { return nil }
      seconds = (hour * 60 + minute) * 60
      if parts.count == 3 {
        let halves = parts[2].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = number(halves[0], 2...2), whole < 60, let rest = halves.count == 2 ? fraction(halves[1]) : 0
        else { return nil }
        (seconds, nanoseconds) = (seconds + whole, rest)
      }
      guard end < text.endIndex else { return }
      guard let offset = TimeLiteral.offset(text[end...]) else { return nil }
      self.offset = offset
    }

    /// When clocks of its zone, or else of `zone`, show it.
    func moment(onDay day: Int64, _ zone: LocalZone) -> Int128? {
      let reading = day * 86_400 + seconds
      let moment = offset.map { reading - $0 * 60 } ?? zone.moment(of: reading)
      return clamped(Int128(moment) * 1_000_000_000 + Int128(nanoseconds))
    }
  }

  /// Nanoseconds that a moment written as `text` lasts: one unit of its last digit.
  static func precision(_ text: String) -> Int64 {
    let digits = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    if digits.count == 2 {
      let count = digits[1].prefix { $0.isASCII && $0.isNumber }.count
      return (min(count, 9)..<9).reduce(1) { unit, _ in unit * 10 }
    }
    if !text.contains(":") { return [13: 1_000_000, 16: 1_000, 19: 1][text.utf8.count] ?? 1_000_000_000 }
    // Without its date and zone, a time to the minute has one colon.
    let time = text.split(whereSeparator: { "Tt ".contains($0) }).first { $0.contains(":") } ?? Substring(text)
    let clock = time.prefix { $0.isNumber || $0 == ":" }
    return clock.split(separator: ":").count < 3 ? 60_000_000_000 : 1_000_000_000
  }

  /// Minutes east of Greenwich.
  private static func offset(_ text: Substring) -> Int64? {
    var text = text
    if text.first == " " { text = text.dropFirst() }
    if text.hasPrefix("UTC") {
      text = text.dropFirst(3)
      if text.isEmpty { return 0 }
    }
    if text == "Z" || text == "z" { return 0 }
    let parts = text.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let hours = number(parts[0], 2...2), let minutes = number(parts[1], 2...2), hours < 24,
      minutes < 60
    else { return nil }
    switch text.first {
    case "+": return hours * 60 + minutes
    case "-": return -(hours * 60 + minutes)
    default: return nil
    }
  }

  /// Days from 1970-01-01, by the Gregorian calendar.
  private static func daysSinceEpoch(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let past = year - 1
    let leaps = past / 4 - past / 100 + past / 400
    let before = (1..<month).reduce(0) { $0 + days(in: $1, of: year) }
    return past * 365 + leaps + before + day - 1 - 719_162
  }

  private static func days(in month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// A number of decimal digits, as many as `count` allows.
  private static func number(_ digits: Substring, _ count: ClosedRange<Int>) -> Int64? {
    guard count.contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(digits)
  }

  /// Up to nine digits after the point, in nanoseconds.
  private static func fraction(_ digits: Substring) -> Int64? {
    guard let value = number(digits, 1...9) else { return nil }
    return (digits.utf8.count..<9).reduce(value) { scaled, _ in scaled * 10 }
  }

  private static func clamped(_ nanoseconds: Int128) -> Int128? { Int64(exactly: nanoseconds).map { Int128($0) } }
}
