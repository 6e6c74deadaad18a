import IMEngine

/// What a line of JSON says of a frame's type and whether it has a session, by plan.
///
/// Plain memory: a plan's own class and strings would be retained and released for every frame.
struct TypeTexts: ~Copyable {
  private struct Place {
    var start = 0, count = 0
  }
  private struct Plan {
    /// Its types' places, and whether its frames carry a session's number.
    var first = 0, count = 0, hasSession = false
  }
  private let plans: UnsafeMutablePointer<Plan>
  private let places: UnsafeMutablePointer<Place>
  private let bytes: UnsafeMutablePointer<UInt8>

  /// The quoted names of all types of `protocols`.
  init(_ protocols: [ProtocolPlan]) {
    var (text, found, known) = ([UInt8](), [Place](), [Plan]())
    for plan in protocols {
      known.append(Plan(first: found.count, count: plan.typeNames.count, hasSession: plan.hasSession))
      for name in plan.typeNames {
        let quoted = "\"\(name)\"".utf8
        found.append(Place(start: text.count, count: quoted.count))
        text += quoted
      }
    }
    plans = Self.copy(known)
    places = Self.copy(found)
    bytes = Self.copy(text)
  }

  deinit {
    plans.deallocate()
    places.deallocate()
    bytes.deallocate()
  }

  private static func copy<T: BitwiseCopyable>(_ elements: [T]) -> UnsafeMutablePointer<T> {
    let memory = UnsafeMutablePointer<T>.allocate(capacity: max(1, elements.count))
    for (i, element) in elements.enumerated() { (memory + i).initialize(to: element) }
    return memory
  }

  /// Whether frames of the plan carry a session's number.
  @inline(__always)
  func hasSession(_ plan: UInt8) -> Bool { plans[Int(plan)].hasSession }

  /// The quoted name of a type; `nil` for one that the profile does not know.
  @inline(__always)
  func name(_ plan: UInt8, _ index: UInt8) -> UnsafeRawBufferPointer? {
    guard Int(index) < plans[Int(plan)].count else { return nil }
    let place = places[plans[Int(plan)].first &+ Int(index)]
    return UnsafeRawBufferPointer(start: bytes + place.start, count: place.count)
  }
}
