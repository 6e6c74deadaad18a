import CMachine

/// The chunks around gaps of late, by direction, so that segments which come after all can be decoded.
///
/// A direction's anomaly record stores its index in this table.
/// The table is bounded in every way; an engine without it would lose what it drops anyway.
struct GapRegionTable: ~Copyable {
  /// Directions of which chunks are remembered; chunks of one; their longest; bytes held in all of them.
  static var maximumSides: Int { 1_024 }
  static var maximumPerSide: Int { 16 }
  static var maximumCount: Int { 4 << 20 }
  let maximumHeld: Int

  /// The chunks of one direction of a flow.
  struct DirectionGaps: ~Copyable {
    /// Index of the flow, and its side.
    fileprivate(set) var flow: UInt32
    fileprivate(set) var side: Int
    /// In order of the stream.
    var gapRegions: [GapRegion] = []
    /// The direction has not found a frame since the last gap: what it passes over belongs to `open`, which ends where
    /// the direction stands.
    var open: GapRegion?
    /// Its place in the table, kept while it is taken out; `none` where it has none.
    fileprivate var place = GapRegionTable.none

    /// Bytes held.
    fileprivate var held: Int { gapRegions.reduce(open?.held ?? 0) { $0 + $1.held } }
    /// Whether no byte came of any of them: then nothing can be decoded there as it is.
    var isBare: Bool { (open?.pieces.isEmpty ?? true) && gapRegions.allSatisfy { $0.pieces.isEmpty } }
  }

  /// A record of gaps that one place owns: the table, or whoever has taken it out.
  typealias DirectionGapsPointer = UnsafeMutablePointer<DirectionGaps>

  /// An empty record of gaps, which belongs to the caller until it is put into the table.
  mutating func newDirectionGaps(flow: UInt32, side: Int) -> DirectionGapsPointer {
    if let directionGaps = spare.take() {
      (directionGaps.pointee.flow, directionGaps.pointee.side) = (flow, side)
      return directionGaps
    }
    let directionGaps = UnsafeMutablePointer<DirectionGaps>.allocate(capacity: 1)
    directionGaps.initialize(to: DirectionGaps(flow: flow, side: side))
    return directionGaps
  }

  /// What stands where a direction has no place.
  static var none: UInt32 { .max }

  private struct Place {
    /// `nil` while it is taken out.
    var directionGaps: DirectionGapsPointer?
    var held = 0
    /// The order in which places were given out; 0 where it is free.
    var age: UInt64
    /// Whether it stands in `order`.
    var isListed = false
  }

  private var places: [Place] = []
  /// An empty one with the memory that it has grown to.
  private var spare: DirectionGapsPointer?
  private var free: [UInt32] = []
  /// Places in the order in which they were given out; those that are free again are passed over.
  private var order = RingQueue<(place: UInt32, age: UInt64)>()
  private var age: UInt64 = 0
  /// Gaps of directions in the table now, and the bytes that they hold.
  private var count = 0
  private var held = 0

  /// A table that holds at most 16 MiB, and at most a sixteenth of what `budget` has for all.
  init(budget: MemoryBudget) { maximumHeld = min(16 << 20, budget.limit / 16) }

  deinit {
    spare?.deinitialize(count: 1)
    spare?.deallocate()
    for place in places {
      place.directionGaps?.deinitialize(count: 1)
      place.directionGaps?.deallocate()
    }
  }

  var isEmpty: Bool { count == 0 }

  /// The record of gaps of a side of the flow at `flow`, if `place` is its own and it is not taken out. A place that was given to another
  /// direction is not told to the one that had it.
  func directionGaps(at place: UInt32, flow: UInt32, side: Int) -> DirectionGapsPointer? {
    guard let directionGaps = places[Int(place)].directionGaps, directionGaps.pointee.flow == flow,
      directionGaps.pointee.side == side
    else {
      return nil
    }
    return directionGaps
  }

  /// Takes that record of gaps out. Until it is put back nothing else finds it.
  mutating func take(_ place: UInt32, flow: UInt32, side: Int) -> DirectionGapsPointer? {
    directionGaps(at: place, flow: flow, side: side) == nil ? nil : take(place)
  }

  /// Takes the record of gaps at `place` out, unless it is out already.
  private mutating func take(_ place: UInt32) -> DirectionGapsPointer? {
    guard let directionGaps = places[Int(place)].directionGaps.take() else { return nil }
    held -= places[Int(place)].held
    count -= 1
    return directionGaps
  }

  /// Puts a record of gaps into the table, or frees it when it is empty; gives its place.
  mutating func put(_ directionGaps: DirectionGapsPointer) -> UInt32 {
    guard !directionGaps.pointee.gapRegions.isEmpty || directionGaps.pointee.open != nil else {
      drop(directionGaps)
      return Self.none
    }
    if directionGaps.pointee.place == Self.none { directionGaps.pointee.place = newPlace() }
    let place = Int(directionGaps.pointee.place)
    list(directionGaps.pointee.place)
    let bytes = directionGaps.pointee.held
    places[place].directionGaps = directionGaps
    places[place].held = bytes
    held += bytes
    count += 1
    return directionGaps.pointee.place
  }

  /// Frees a record of gaps that was taken out, and its place; one is kept for the next gap.
  mutating func drop(_ directionGaps: DirectionGapsPointer) {
    release(directionGaps)
    guard spare != nil else {
      directionGaps.pointee.open = nil
      directionGaps.pointee.gapRegions.removeAll(keepingCapacity: true)
      spare = directionGaps
      return
    }
    directionGaps.deinitialize(count: 1)
    directionGaps.deallocate()
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

  /// Takes its place from a record of gaps.
  private mutating func release(_ directionGaps: DirectionGapsPointer) {
    guard directionGaps.pointee.place != Self.none else { return }
    places[Int(directionGaps.pointee.place)].age = 0
    free.append(directionGaps.pointee.place)
    directionGaps.pointee.place = Self.none
  }

  /// Adds a chunk, the first byte of which is the stream's at `start`, to what a direction passes over behind a gap, where
  /// it does that; false where that would get too long.
  mutating func append(to place: UInt32, at start: Int, _ bytes: borrowing Bytes, _ chunk: StreamChunk) -> Bool {
    guard let directionGaps = places[Int(place)].directionGaps, var open = directionGaps.pointee.open else {
      return true
    }
    guard start + chunk.count - open.start <= Self.maximumCount else { return false }
    // Taken out, so that what it holds is not copied.
    directionGaps.pointee.open = nil
    open.end = max(open.end, start + chunk.count)
    let added = open.fill(at: start, bytes, chunk)
    directionGaps.pointee.open = open
    places[Int(place)].held += added
    held += added
    return true
  }

  /// Takes the direction out whose turn it is to be forgotten, while the table is over a limit.
  mutating func takeExcess() -> DirectionGapsPointer? {
    guard count > Self.maximumSides || held > maximumHeld else { return nil }
    return takeAny()
  }

  /// Takes any direction out, the oldest first; it has no place any more.
  mutating func takeAny() -> DirectionGapsPointer? {
    while let oldest = order.popFirst() {
      guard places[Int(oldest.place)].age == oldest.age else { continue }
      places[Int(oldest.place)].isListed = false
      if let directionGaps = take(oldest.place) {
        release(directionGaps)
        if let next = order.first, let directionGaps = places[Int(next.place)].directionGaps {
          imdump_prefetch(directionGaps)
        }
        return directionGaps
      }
    }
    return nil
  }
}
