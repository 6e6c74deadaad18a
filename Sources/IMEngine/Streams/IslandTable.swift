import CMachine

/// The chunks around gaps of late, by direction, so that segments which come after all can be decoded.
///
/// A direction's journal knows its place here. Bounded in every way; what is forgotten is what an engine without it would
/// lose anyway.
struct IslandTable: ~Copyable {
  /// Directions of which chunks are remembered; chunks of one; their longest; bytes held in all of them.
  static var maximumSides: Int { 1_024 }
  static var maximumPerSide: Int { 16 }
  static var maximumCount: Int { 4 << 20 }
  let maximumHeld: Int

  /// The chunks of one direction of a flow.
  struct Coast: ~Copyable {
    /// Index of the flow, and its side.
    fileprivate(set) var flow: UInt32
    fileprivate(set) var side: Int
    /// In order of the stream.
    var islands: [Island] = []
    /// The direction has not found a frame since the last gap: what it passes over belongs to `open`, which ends where
    /// the direction stands.
    var open: Island?
    /// Its place in the table, kept while it is taken out; `none` where it has none.
    fileprivate var place = IslandTable.none

    /// Bytes held.
    fileprivate var held: Int { islands.reduce(open?.held ?? 0) { $0 + $1.held } }
    /// Whether no byte came of any of them: then nothing can be decoded there as it is.
    var isBare: Bool { (open?.pieces.isEmpty ?? true) && islands.allSatisfy { $0.pieces.isEmpty } }
  }

  /// A coast that one place owns: the table, or whoever has taken it out.
  typealias CoastPointer = UnsafeMutablePointer<Coast>

  /// An empty coast, which belongs to the caller until it is put into the table.
  mutating func newCoast(flow: UInt32, side: Int) -> CoastPointer {
    if let coast = spare.take() {
      (coast.pointee.flow, coast.pointee.side) = (flow, side)
      return coast
    }
    let coast = UnsafeMutablePointer<Coast>.allocate(capacity: 1)
    coast.initialize(to: Coast(flow: flow, side: side))
    return coast
  }

  /// What stands where a direction has no place.
  static var none: UInt32 { .max }

  private struct Place {
    /// `nil` while it is taken out.
    var coast: CoastPointer?
    var held = 0
    /// The order in which places were given out; 0 where it is free.
    var age: UInt64
    /// Whether it stands in `order`.
    var isListed = false
  }

  private var places: [Place] = []
  /// An empty one with the memory that it has grown to.
  private var spare: CoastPointer?
  private var free: [UInt32] = []
  /// Places in the order in which they were given out; those that are free again are passed over.
  private var order = RingQueue<(place: UInt32, age: UInt64)>()
  private var age: UInt64 = 0
  /// Coasts in the table now, and the bytes that they hold.
  private var count = 0
  private var held = 0

  /// A table that holds at most 16 MiB, and at most a sixteenth of what `budget` has for all.
  init(budget: MemoryBudget) { maximumHeld = min(16 << 20, budget.limit / 16) }

  deinit {
    spare?.deinitialize(count: 1)
    spare?.deallocate()
    for place in places {
      place.coast?.deinitialize(count: 1)
      place.coast?.deallocate()
    }
  }

  var isEmpty: Bool { count == 0 }

  /// The coast of a side of the flow at `flow`, if `place` is its own and it is not taken out. A place that was given to another
  /// direction is not told to the one that had it.
  func coast(at place: UInt32, flow: UInt32, side: Int) -> CoastPointer? {
    guard let coast = places[Int(place)].coast, coast.pointee.flow == flow, coast.pointee.side == side else {
      return nil
    }
    return coast
  }

  /// Takes that coast out. Until it is put back nothing else finds it.
  mutating func take(_ place: UInt32, flow: UInt32, side: Int) -> CoastPointer? {
    coast(at: place, flow: flow, side: side) == nil ? nil : take(place)
  }

  /// Takes the coast at `place` out, unless it is out already.
  private mutating func take(_ place: UInt32) -> CoastPointer? {
    guard let coast = places[Int(place)].coast.take() else { return nil }
    held -= places[Int(place)].held
    count -= 1
    return coast
  }

  /// Puts a coast into the table, or frees it when it is empty; gives its place.
  mutating func put(_ coast: CoastPointer) -> UInt32 {
    guard !coast.pointee.islands.isEmpty || coast.pointee.open != nil else {
      drop(coast)
      return Self.none
    }
    if coast.pointee.place == Self.none { coast.pointee.place = newPlace() }
    let place = Int(coast.pointee.place)
    list(coast.pointee.place)
    let bytes = coast.pointee.held
    places[place].coast = coast
    places[place].held = bytes
    held += bytes
    count += 1
    return coast.pointee.place
  }

  /// Frees a coast that was taken out, and its place; one is kept for the next gap.
  mutating func drop(_ coast: CoastPointer) {
    release(coast)
    guard spare != nil else {
      coast.pointee.open = nil
      coast.pointee.islands.removeAll(keepingCapacity: true)
      spare = coast
      return
    }
    coast.deinitialize(count: 1)
    coast.deallocate()
  }

  private mutating func newPlace() -> UInt32 {
    age += 1
    guard let place = free.popLast() else {
      places.append(Place(age: age))
      return UInt32(places.count - 1)
    }
    places[Int(place)] = Place(age: age)
    return place
  }

  /// Puts a place at the end of `order`, unless it stands there: it may have been its turn while it was taken out.
  private mutating func list(_ place: UInt32) {
    guard !places[Int(place)].isListed else { return }
    places[Int(place)].isListed = true
    if order.count > 4 * Self.maximumSides {
      let places = places
      order.removeAll { places[Int($0.place)].age != $0.age }
    }
    order.append((place, places[Int(place)].age))
  }

  /// Takes its place from a coast.
  private mutating func release(_ coast: CoastPointer) {
    guard coast.pointee.place != Self.none else { return }
    places[Int(coast.pointee.place)].age = 0
    free.append(coast.pointee.place)
    coast.pointee.place = Self.none
  }

  /// Adds a chunk, the first byte of which is the stream's at `start`, to what a direction passes over behind a gap, where
  /// it does that; false where that would get too long.
  mutating func append(to place: UInt32, at start: Int, _ bytes: borrowing Bytes, _ chunk: StreamChunk) -> Bool {
    guard let coast = places[Int(place)].coast, var open = coast.pointee.open else { return true }
    guard start + chunk.count - open.start <= Self.maximumCount else { return false }
    // Taken out, so that what it holds is not copied.
    coast.pointee.open = nil
    open.end = max(open.end, start + chunk.count)
    let added = open.fill(at: start, bytes, chunk)
    coast.pointee.open = open
    places[Int(place)].held += added
    held += added
    return true
  }

  /// Takes the direction out whose turn it is to be forgotten, while the table is over a limit.
  mutating func takeExcess() -> CoastPointer? {
    guard count > Self.maximumSides || held > maximumHeld else { return nil }
    return takeAny()
  }

  /// Takes any direction out, the oldest first; it has no place any more.
  mutating func takeAny() -> CoastPointer? {
    while let oldest = order.popFirst() {
      guard places[Int(oldest.place)].age == oldest.age else { continue }
      places[Int(oldest.place)].isListed = false
      if let coast = take(oldest.place) {
        release(coast)
        if let next = order.first, let coast = places[Int(next.place)].coast { imdump_prefetch(coast) }
        return coast
      }
    }
    return nil
  }
}
