import IMEngine
import IMOutput

/// Texts of `imdump.msg.tlv` that were made before: the paths of a body's TLVs depend on its tags only, and messages of one
/// type have the same ones.
///
///     tags       0x2001, 0x2002, 0xFFFF > 0x3001
///     pieces     ,"tlv":{"0x2001":"     B","0x2002":"     B","0xFFFF.0x3001":"
///
/// A fixed number of them, each at the place that its tags give; longer ones are made each time.
struct TLVPaths: ~Copyable {
  /// TLVs of a body, and bytes of their text.
  private static var maximumTLVs: Int { 16 }
  private static var maximumText: Int { 512 }
  private static var count: Int { 128 }

  /// What is known of one list of tags.
  struct Entry {
    /// The tags with their depths, as `key` gives them; none for a place that is free.
    fileprivate var keys = InlineArray<16, UInt64>(repeating: 0)
    fileprivate var keyCount = 0
    /// How many digits tags have.
    fileprivate var digits = 0
    /// The TLVs that are told, by their places, and where the text in front of each one's length ends.
    fileprivate var places = InlineArray<16, UInt8>(repeating: 0)
    fileprivate var ends = InlineArray<16, UInt16>(repeating: 0)
    fileprivate var leafCount = 0
    fileprivate var text = InlineArray<576, UInt8>(repeating: 0)
  }

  private let entries: UnsafeMutablePointer<Entry>

  /// No texts.
  init() {
    entries = .allocate(capacity: Self.count)
    entries.initialize(repeating: Entry(), count: Self.count)
  }

  deinit { entries.deallocate() }

  /// Bytes that `write` needs at most.
  static var room: Int { maximumText + 24 * maximumTLVs }

  /// The texts of a message's TLVs, whose tags have so many digits; `nil` where they cannot be kept. `make` calls its argument
  /// with the text in front of each length and with the place of the TLV that has it.
  @inline(__always)
  func entry(
    _ facts: UnsafePointer<MessageFacts>, digits: Int, _ make: (_ body: (borrowing ByteWriter, Int) -> Void) -> Void
  ) -> UnsafePointer<Entry>? {
    let count = facts.pointee.named
    guard count <= Self.maximumTLVs else { return nil }
    var hash = UInt64(truncatingIfNeeded: digits)
    for i in 0..<count { hash = (hash ^ Self.key(facts.pointee.tlv(i))) &* 0x9e37_79b9_7f4a_7c15 }
    let entry = entries + Int(truncatingIfNeeded: hash &>> 57)
    var isKnown = entry.pointee.keyCount == count && entry.pointee.digits == digits
    var i = 0
    while isKnown, i < count {
      isKnown = entry.pointee.keys[i] == Self.key(facts.pointee.tlv(i))
      i &+= 1
    }
    if isKnown { return UnsafePointer(entry) }
    return Self.fill(entry, facts, digits, make) ? UnsafePointer(entry) : nil
  }

  /// All that a TLV's path depends on.
  @inline(__always)
  private static func key(_ reference: TLVRef) -> UInt64 {
    UInt64(reference.tag) | UInt64(reference.depth) &<< 32 | (reference.isList ? 1 &<< 48 : 0)
  }

  @inline(never)
  private static func fill(
    _ entry: UnsafeMutablePointer<Entry>, _ facts: UnsafePointer<MessageFacts>, _ digits: Int,
    _ make: (_ body: (borrowing ByteWriter, Int) -> Void) -> Void
  ) -> Bool {
    var new = Entry()
    var end = 0
    var fits = true
    make { text, place in
      fits = fits && text.count <= maximumText && new.leafCount < maximumTLVs
      guard fits else { return }
      text.withBytes { bytes in for i in end..<bytes.count { new.text[i] = bytes[i] } }
      end = text.count
      new.places[new.leafCount] = UInt8(truncatingIfNeeded: place)
      new.ends[new.leafCount] = UInt16(truncatingIfNeeded: end)
      new.leafCount += 1
    }
    guard fits, new.leafCount > 0 else { return false }
    new.keyCount = facts.pointee.named
    new.digits = digits
    for i in 0..<new.keyCount { new.keys[i] = key(facts.pointee.tlv(i)) }
    entry.pointee = new
    return true
  }

  /// Writes the texts of `entry` with the lengths of `facts`, whose tags are the entry's.
  @inline(__always)
  static func write(_ entry: UnsafePointer<Entry>, _ facts: UnsafePointer<MessageFacts>, _ pen: inout UncheckedWriter) {
    guard let offset = MemoryLayout<Entry>.offset(of: \.text) else { return }
    let text = UnsafeRawPointer(entry) + offset
    var start = 0
    for leaf in 0..<entry.pointee.leafCount {
      let end = Int(entry.pointee.ends[leaf])
      pen.padded(text + start, end &- start)
      pen.number(UInt64(facts.pointee.tlv(Int(entry.pointee.places[leaf])).count))
      start = end
    }
    pen.literal(" B\"}")
  }
}
