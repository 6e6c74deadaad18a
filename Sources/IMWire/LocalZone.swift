/// How far local time is from UTC, as whoever shows times to a person, or reads them from one, was told.
public struct LocalZone: Sendable {
  /// The seconds by which local time is ahead of UTC at a moment, in seconds since 1970; what the zone is called then.
  private let rule: @Sendable (Int64) -> (offset: Int, name: String)

  /// A zone by its rule: for a moment in seconds since 1970, the seconds by which it is ahead of UTC, and its name then.
  public init(_ rule: @escaping @Sendable (Int64) -> (offset: Int, name: String)) { self.rule = rule }

  /// UTC.
  public static let utc = LocalZone { _ in (0, "UTC") }

  /// The seconds by which local time is ahead of UTC at `second`, in seconds since 1970.
  public func offset(at second: Int64) -> Int { rule(second).offset }

  /// What the zone is called at `second`, with its distance from UTC: `CST, UTC+08:00`; of UTC itself, `UTC`.
  public func name(at second: Int64) -> String {
    let (offset, name) = rule(second)
    if offset == 0, name == "UTC" { return name }
    return "\(name), UTC\(Self.text(of: offset))"
  }

  /// The zone as the head of a column of times names it: `+08:00`, or `UTC`. If clocks were put forward or back between `first` and
  /// `last`, in seconds since 1970, it is `local`.
  public func label(from first: Int64, to last: Int64) -> String {
    let offset = offset(at: first)
    if self.offset(at: last) != offset { return "local" }
    return offset == 0 ? "UTC" : Self.text(of: offset)
  }

  /// A distance from UTC in seconds as `+08:00`.
  public static func text(of offset: Int) -> String {
    func two(_ value: Int) -> String { (value < 10 ? "0" : "") + String(value) }
    let minutes = abs(offset) / 60
    return (offset < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60)
  }

  /// The moment, in seconds since 1970, at which clocks of the zone show what clocks in UTC show at `reading`. Where they show it
  /// twice, the first of the two; where never, as if they had not been put forward yet.
  public func moment(of reading: Int64) -> Int64 {
    // A day earlier and a day later stand on either side of a change, if there is one.
    let before = offset(at: reading &- 86_400), behind = offset(at: reading &+ 86_400)
    for offset in [before, behind] where self.offset(at: reading &- Int64(offset)) == offset {
      return reading &- Int64(offset)
    }
    return reading &- Int64(before)
  }
}
