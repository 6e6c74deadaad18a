extension FieldReader {
  /// Reads a value, and notes it and its parts.
  mutating func value(_ shared: SharedValue) throws(FieldsEnd) {
    let count = shared.plainCount
    if count > 0, !plan.traits[shared.step.field].isHidden {
      let number = try number(count, littleEndian: shared.step.littleEndian)
      if marks != nil { mark(at - count..<at, .value(field: shared.step.field, .number)) }
      try note(shared.step.field, .unsigned(number), names: shared.step.names)
    } else {
      try value(shared.step)
    }
  }

  private mutating func value(_ step: ValueStep) throws(FieldsEnd) {
    if step.fallback != nil, left <= 0, let fallback = step.fallback {
      try note(step.field, .unsigned(fallback), names: step.names)
      return
    }
    let from = at
    guard let value = try read(step) else { return }
    if isOutermost, step.field >= 0, plan.hides(step.field), secrets.count < Self.maximumValues {
      secrets.append(from..<at)
    }
    try note(step.field, value, names: step.names)
    guard let number = value.number else { return }
    try parts(number, step.bits)
    if step.set.field >= 0 {
      let names = plan.enums[step.set.names]
      let set = (0..<64).compactMap { number >> UInt64($0) & 1 == 1 ? names[UInt64($0)] : nil }
      try note(step.set.field, .list(set.map { .text($0) }))
    }
  }

  /// Notes parts of a number.
  mutating func parts(_ number: UInt64, _ parts: [BitField]) throws(FieldsEnd) {
    for bits in parts where hold(bits.conditions) {
      let part = (number >> UInt64(bits.low)) & (bits.count >= 64 ? .max : (1 << UInt64(bits.count)) - 1)
      try note(bits.field, bits.isFlag ? .flag(part != 0) : .unsigned(part), names: bits.names)
    }
  }

  /// Reads a value; `nil` for one that has another form than it should, and is absent.
  mutating func read(_ step: ValueStep) throws(FieldsEnd) -> FieldValue? {
    switch step.form {
    case .varint:
      let from = at
      let value = try varint()
      mark(from..<at, .value(field: step.field, .structure))
      return .unsigned(value)
    case .pair:
      let name = try take(.counted(2, littleEndian: false))
      let value = try take(.counted(2, littleEndian: false))
      for range in [name, value] { mark(range, .value(field: step.field, .text(.utf8))) }
      return .list([.text(text(name, .utf8)), .text(text(value, .utf8))])
    default: break
    }
    var range = try take(step.extent)
    if marks != nil { mark(range, .value(field: step.field, markForm(step, range))) }
    guard step.lengths.isEmpty || step.lengths.contains(range.count) else { return nil }
    switch step.form {
    case .unsigned, .signed, .signMagnitude, .flag:
      guard (1...8).contains(range.count) else { return nil }
      return whole(Self.number(bytes[range], step.littleEndian), range.count, step)
    case .text(let choice):
      if step.endsAtZero, let zero = bytes[range].firstIndex(of: 0) { range = range.lowerBound..<zero }
      if step.isTrimmed {
        while let last = bytes[range].last, last == 0 || last == 32 { range = range.lowerBound..<range.upperBound - 1 }
        while bytes[range].first == 0 { range = range.lowerBound + 1..<range.upperBound }
      }
      let encoding: TextEncoding
      switch choice {
      case .fixed(let fixed): encoding = fixed
      case .field(let field, let encodings):
        guard let chosen = encodings[value(field)?.number ?? 0] else { return nil }
        encoding = chosen
      }
      return .text(text(range, encoding))
    case .bytes: return .bytes(Array(bytes[range].prefix(Self.maximumBytes)))
    case .bcd(let dropsZeros):
      let digits = hex(range)
      return .text(dropsZeros ? String(digits.drop { $0 == "0" }) : digits)
    case .bcdTime(let zone): return range.count == 6 ? bcdTime(range, zone) : nil
    case .time1900:
      guard range.count == 4 else { return nil }
      let seconds = Int64(Self.number(bytes[range], false))
      return .text(FieldTime.text(seconds - 2_208_988_800 + (seconds >> 31 == 1 ? 0 : 1 << 32)))
    case .ipv4: return range.count == 4 ? .text(FieldAddress.v4(bytes[range])) : nil
    case .address:
      guard range.count >= 2 else { return nil }
      let rest = range.lowerBound + 2..<range.upperBound
      switch (Self.number(bytes[range.prefix(2)], false), rest.count) {
      case (1, 4): return .text(FieldAddress.v4(bytes[rest]))
      case (2, 16): return .text(FieldAddress.v6(bytes[rest]))
      case (8, _): return .text(text(rest, .utf8))
      default: return nil
      }
    case .present: return .flag(true)
    case .commas: return commas(range)
    case .varint, .pair: return nil
    }
  }

  /// What a mark says of a value.
  private func markForm(_ step: ValueStep, _ range: Range<Int>) -> FieldMark.Form {
    guard case .text(.field(let field, let encodings)) = step.form else { return Self.fixedForm(step) }
    return encodings[value(field)?.number ?? 0].map { .text($0) } ?? .bytes
  }

  /// What a mark says of a value whose encoding no other value tells.
  static func fixedForm(_ step: ValueStep) -> FieldMark.Form {
    switch step.form {
    case .unsigned, .signed, .signMagnitude: return step.littleEndian ? .littleEndian : .number
    case .flag, .present, .varint: return .structure
    case .text(.fixed(let encoding)): return .text(encoding)
    case .text(.field), .bytes: return .bytes
    case .bcd: return .digits
    case .bcdTime, .time1900: return .time
    case .ipv4: return .address(family: 0)
    case .address: return .address(family: 2)
    case .pair, .commas: return .text(.ascii)
    }
  }

  private func whole(_ number: UInt64, _ count: Int, _ step: ValueStep) -> FieldValue? {
    let shift = UInt64(64 - count * 8)
    var value: Int64
    switch step.form {
    case .flag: return .flag(number != 0)
    case .signed: value = Int64(bitPattern: number << shift) >> Int64(shift)
    case .signMagnitude:
      let sign = UInt64(1) << UInt64(count * 8 - 1)
      let magnitude = Int64(bitPattern: number & (sign - 1))
      value = number & sign != 0 ? -magnitude : magnitude
    default:
      guard step.places > 0 || step.sign >= 0 else { return .unsigned(number) }
      guard let positive = Int64(exactly: number) else { return .unsigned(number) }
      value = positive
    }
    if step.sign >= 0, self.value(step.sign)?.number ?? 0 != 0 { value = -value }
    return step.places > 0 ? .decimal(value, places: step.places) : .signed(value)
  }

  /// The text of `range`, as much as is kept of one.
  func text(_ range: Range<Int>, _ encoding: TextEncoding) -> String {
    TextDecoding.text(bytes[range].prefix(Self.maximumBytes), encoding)
  }

  private func hex(_ range: Range<Int>) -> String {
    var digits = ""
    for byte in bytes[range].prefix(Self.maximumBytes) {
      digits.append(Character(Unicode.Scalar(Self.digit(byte >> 4))))
      digits.append(Character(Unicode.Scalar(Self.digit(byte & 15))))
    }
    return digits
  }

  private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }

  private func bcdTime(_ range: Range<Int>, _ zone: String) -> FieldValue? {
    let parts = bytes[range].map { ($0 >> 4, $0 & 15) }
    guard parts.allSatisfy({ $0.0 < 10 && $0.1 < 10 }) else { return nil }
    let numbers = parts.map { Int($0.0) * 10 + Int($0.1) }
    guard (1...12).contains(numbers[1]), (1...31).contains(numbers[2]), numbers[3] < 24, numbers[4] < 60,
      numbers[5] < 60
    else { return nil }
    func two(_ i: Int) -> String { numbers[i] < 10 ? "0\(numbers[i])" : "\(numbers[i])" }
    return .text("20\(two(0))-\(two(1))-\(two(2))T\(two(3)):\(two(4)):\(two(5))\(zone)")
  }

  /// Decimal numbers with commas between them; `nil` where one is none.
  private func commas(_ range: Range<Int>) -> FieldValue? {
    guard range.count <= Self.maximumBytes else { return nil }
    var numbers: [FieldValue] = []
    for word in bytes[range].split(separator: 44, omittingEmptySubsequences: false) {
      guard numbers.count < Self.maximumValues,
        let number = Int64(String(decoding: word, as: UTF8.self).trimmingSpaces)
      else { return nil }
      numbers.append(.signed(number))
    }
    return .list(numbers)
  }
}

extension String {
  /// Without the white space of ASCII around it.
  var trimmingSpaces: Substring {
    let isSpace: (Character) -> Bool = { $0.isASCII && $0.isWhitespace }
    var text = self[...]
    while let first = text.first, isSpace(first) { text.removeFirst() }
    while let last = text.last, isSpace(last) { text.removeLast() }
    return text
  }
}
