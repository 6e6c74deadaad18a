/// Gives each status that was seen a small number, from 1 on, by which exchanges know it.
///
/// Statuses come off the wire: of more different ones than there are numbers, the later are not known.
struct StatusTable {
  private var places: [StatusCode: UInt16] = [:]
  /// The one asked for last, which is mostly the next one, too.
  private var last = StatusCode(plan: .max, list: 0, number: 0)
  private var lastPlace: UInt16 = 0

  /// The number of `code`, and whether it is a new one; 0 where there is none left.
  mutating func place(_ code: StatusCode) -> (place: UInt16, isNew: Bool) {
    if code == last { return (lastPlace, false) }
    last = code
    if let known = places[code] {
      lastPlace = known
      return (known, false)
    }
    guard places.count < Int(UInt16.max) else {
      lastPlace = 0
      return (0, false)
    }
    lastPlace = UInt16(places.count + 1)
    places[code] = lastPlace
    return (lastPlace, true)
  }
}
