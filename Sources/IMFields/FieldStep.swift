/// A test of a value that was read before.
package struct FieldTest: Sendable {
  /// The field; `left` for the bytes that are left.
  package var field: Int
  /// What its number is one of; with none, it only has to be there.
  package var ranges: [ClosedRange<UInt64>]
  /// Whether it must not be there.
  package var isAbsent: Bool
  /// What stands for the bytes that are left.
  package static let left = -1

  /// A test of its parts.
  package init(field: Int, ranges: [ClosedRange<UInt64>] = [], isAbsent: Bool = false) {
    (self.field, self.ranges, self.isAbsent) = (field, ranges, isAbsent)
  }
}

/// Tests that hold together, or not all of which hold.
package struct FieldCondition: Sendable {
  /// The tests.
  package var tests: [FieldTest]
  /// Whether it holds where not all of them do.
  package var isNegated: Bool

  /// A condition of its parts.
  package init(_ tests: [FieldTest], isNegated: Bool) { (self.tests, self.isNegated) = (tests, isNegated) }
}

/// How many bytes a value has.
package enum FieldExtent: Equatable, Sendable {
  /// So many.
  case fixed(Int)
  /// All that are left.
  case rest
  /// As a number of so many bytes in front of them says, in little-endian order or not.
  case counted(Int, littleEndian: Bool)
  /// As a number of seven bits a byte in front of them says.
  case varint
  /// Up to a zero byte, which stands within so many.
  case zero(Int)
  /// As the number of a field says that was read before.
  case field(Int)
}

/// The encodings of text.
package enum TextEncoding: String, Sendable, CaseIterable {
  case utf8 = "utf-8"
  case ascii
  case latin1 = "latin-1"
  case gsm7
  case utf16 = "utf-16"
  case gbk
}

/// Which encoding a text has.
package enum EncodingChoice: Sendable {
  /// This one.
  case fixed(TextEncoding)
  /// As the number of a field says, or the one of 0 where the field is absent; without an entry there is no text.
  case field(Int, [UInt64: TextEncoding])
}

/// How the bytes of a value are read.
package enum ValueForm: Sendable {
  case unsigned, signed
  /// A sign in the highest bit and a magnitude in the others.
  case signMagnitude
  case flag
  case varint
  case text(EncodingChoice)
  case bytes
  /// Decimal digits, two a byte; without the zeros in front or with them.
  case bcd(dropsZeros: Bool)
  /// Six bytes of decimal digits: year, month, day, hour, minute, second, in the zone that is printed.
  case bcdTime(zone: String)
  /// Seconds since 1900, as NTP has them; from 2036 on they begin again.
  case time1900
  case ipv4
  /// A family in two bytes, and an address: IPv4, IPv6, or text (E.164).
  case address
  /// That it is there.
  case present
  /// Two texts, each with its length in two bytes in front.
  case pair
  /// Decimal numbers with commas between them.
  case commas
}

/// A part of a number.
package struct BitField: Sendable {
  /// The field.
  package var field: Int
  /// Its lowest bit, from the least significant one.
  package var low: Int
  /// How many bits it has.
  package var count: Int
  /// Whether it is true or false.
  package var isFlag: Bool
  /// The table of its names; negative without one.
  package var names: Int
  /// When it is there.
  package var conditions: [FieldCondition]

  /// A part of its parts.
  package init(field: Int, low: Int, count: Int, isFlag: Bool, names: Int, conditions: [FieldCondition]) {
    (self.field, self.low, self.count) = (field, low, count)
    (self.isFlag, self.names, self.conditions) = (isFlag, names, conditions)
  }
}

/// A value that stands in the bytes.
package struct ValueStep: Sendable {
  /// The field, or negative where the value only has parts.
  package var field = -1
  /// How many bytes it has.
  package var extent = FieldExtent.rest
  /// How they are read.
  package var form = ValueForm.unsigned
  /// Whether the least significant byte comes first.
  package var littleEndian = false
  /// The lengths that it may have; with another one it is absent. Empty: any that its form has.
  package var lengths: [Int] = []
  /// The places behind the decimal point.
  package var places = 0
  /// The field that says that it is negative; negative itself where there is none.
  package var sign = -1
  /// The table of its names; negative without one.
  package var names = -1
  /// Zero bytes and spaces behind a text, and zero bytes in front, do not count.
  package var isTrimmed = false
  /// A text ends at its first zero byte.
  package var endsAtZero = false
  /// What it is where no byte is left.
  package var fallback: UInt64?
  /// Parts of it.
  package var bits: [BitField] = []
  /// The list of the names of its set bits: the field, and the table.
  package var set: (field: Int, names: Int) = (-1, -1)

  /// A value of which nothing is said.
  package init() {}
}

/// A value that stands in the bytes, shared: a step is looked at far more often than it is made.
package final class SharedValue: Sendable {
  /// The value.
  package let step: ValueStep
  /// Bytes of a plain number, 1 to 8: one that is whole, has no parts, and is there or not; 0 for another value.
  let plainCount: Int

  init(_ step: ValueStep) {
    self.step = step
    guard case .fixed(let count) = step.extent, (1...8).contains(count), case .unsigned = step.form,
      step.field >= 0, step.lengths.isEmpty, step.places == 0, step.sign < 0, step.fallback == nil, step.bits.isEmpty,
      step.set.field < 0
    else {
      plainCount = 0
      return
    }
    plainCount = count
  }
}

/// How many times steps are repeated.
package enum FieldCount: Sendable {
  case toEnd
  /// As a number of so many bytes says.
  case counted(Int)
  /// As the number of a field says that was read before.
  case field(Int)
}

/// What a list is made of.
package enum ListItem: Sendable {
  case value(SharedValue)
  case steps(FieldSteps)

  /// A list of such values.
  package static func value(_ step: ValueStep) -> Self { .value(SharedValue(step)) }
}

/// Text in which keys stand: `id:1 stat:DELIVRD text:...`.
package struct KeyedText: Sendable {
  /// Fields and keys; in small letters.
  package var keys: [(field: Int, key: String)] = []
  /// The field and the key of what is left of the text, in which anything may stand; negative without one.
  package var rest: (field: Int, key: String) = (-1, "")
  /// Fields of which one has to be there.
  package var required: [Int] = []

  /// Keys of which none is known.
  package init() {}
}

/// What a member of a JSON object has to be.
package enum JSONKind: String, Sendable {
  case integer, text
  /// A list of integers; other members are left out.
  case integers
}

/// One step of reading a message, or of making fields of others.
package struct FieldStep: Sendable {
  /// When it is taken.
  package var conditions: [FieldCondition]
  /// What is done.
  package var action: Action

  /// A step of its parts.
  package init(_ action: Action, conditions: [FieldCondition] = []) {
    (self.action, self.conditions) = (action, conditions)
  }

  /// What a step does.
  package indirect enum Action: Sendable {
    case skip(FieldExtent)
    case value(SharedValue)
    case layout(Int)
    case elements(table: Int, FieldExtent)
    case list(field: Int, FieldCount, ListItem)
    /// Steps within so many bytes; as an object where it has a field.
    case within(field: Int, FieldExtent, FieldSteps)
    /// Steps within the bytes of a field that was read.
    case inside(of: Int, FieldSteps)
    /// The first of these fields that is there, each by its path.
    case first(field: Int, [[Int]], names: Int)
    /// The number of a field, and so much more.
    case sum(field: Int, of: Int, plus: Int64)
    /// The bytes that are left, counted and not read.
    case left(field: Int)
    /// An object of other fields, where all of them are there.
    case gather(field: Int, [(field: Int, from: Int)])
    /// Parts of a number that was read.
    case parts(of: Int, [BitField])
    /// The connection remembers the field.
    case remember(Int)
    /// Nothing is read behind this.
    case stop
    /// What the text `of` was when the number `key` came with one.
    case alias(field: Int, key: Int, of: Int)
    case keys(field: Int, of: Int, KeyedText)
    /// The members of a JSON object that is the rest.
    case json([(field: Int, key: String, kind: JSONKind)])
    /// Values that paths lead to.
    case paths(FieldPaths)

    /// A value that is read.
    package static func value(_ step: ValueStep) -> Self { .value(SharedValue(step)) }
  }
}

/// How elements stand behind one another, and which are known.
package struct ElementTable: Sendable {
  /// Bytes of tag and length together; those of the tag, and where it begins.
  package var headerCount = 0, tagOffset = 0, tagCount = 1
  /// Bytes of the length, and where it begins; 0 where the tag tells how long a value is.
  package var lengthOffset = 0, lengthCount = 0
  /// Whether the length counts the header.
  package var countsAll = false
  /// Where the vendor's number stands, its bytes, and the bit of the header that says that it is there; 0 bytes without.
  package var vendorOffset = 0, vendorCount = 0, vendorFlagOffset = 0, vendorMask: UInt8 = 0
  /// Elements are filled up to a multiple of this.
  package var padding = 1
  /// Whether the least significant byte of numbers comes first.
  package var littleEndian = false
  /// Whether the tag is a number of seven bits a byte.
  package var hasVarintTag = false
  /// What the value of each known one is, by vendor and tag.
  package var known = KnownElements()

  /// What an element is.
  package enum Known: Sendable {
    case value(SharedValue)
    /// Elements of the same table, as an object.
    case group(field: Int)
    /// Steps; as an object where it has a field.
    case steps(field: Int, lengths: [Int], FieldSteps)

    /// A value that is read.
    package static func value(_ step: ValueStep) -> Self { .value(SharedValue(step)) }
  }

  /// A table that knows none.
  package init() {}
}

/// What an element is known by.
package struct ElementKey: Hashable, Comparable, Sendable {
  /// Who defined the tag; 0 for the protocol itself.
  package var vendor: UInt64
  /// The tag.
  package var tag: UInt64

  /// A key of its parts.
  package init(vendor: UInt64 = 0, tag: UInt64) { (self.vendor, self.tag) = (vendor, tag) }

  /// By vendor, then by tag.
  @inline(__always)
  package static func < (a: ElementKey, b: ElementKey) -> Bool { (a.vendor, a.tag) < (b.vendor, b.tag) }
}

/// The elements that a table knows, in the order of their keys: they are few, so that a search in halves finds one sooner than
/// a hash does.
package struct KnownElements: Sendable {
  private var keys: [ElementKey] = []
  /// What they are, at the same places.
  package private(set) var values: [ElementTable.Known] = []
  /// The same in few bytes.
  private(set) var quick: [QuickStep] = []

  /// Where what the element of `key` is stands in `values`; `nil` where it is not known.
  func find(_ key: ElementKey) -> Int? {
    let place = place(of: key)
    return place < keys.count && keys[place] == key ? place : nil
  }

  /// What the element of `key` is; `nil` where it is not known.
  package subscript(key: ElementKey) -> ElementTable.Known? {
    get { find(key).map { values[$0] } }
    set {
      let place = place(of: key)
      let isThere = place < keys.count && keys[place] == key
      switch newValue {
      case let known?:
        if isThere {
          values[place] = known
          quick[place] = QuickStep(known)
        } else {
          keys.insert(key, at: place)
          values.insert(known, at: place)
          quick.insert(QuickStep(known), at: place)
        }
      case nil:
        guard isThere else { return }
        keys.remove(at: place)
        values.remove(at: place)
        quick.remove(at: place)
      }
    }
  }

  /// The first place whose key is not below `key`.
  private func place(of key: ElementKey) -> Int {
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
