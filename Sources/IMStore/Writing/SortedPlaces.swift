extension Array<UInt32> {
  /// Places of the elements in ascending order; equal ones stay as they are.
  ///
  /// Key and place are sorted as one number: a comparison by a closure costs several times as much.
  var sortedPlaces: [Int] {
    var keys: [UInt64] = []
    keys.reserveCapacity(count)
    for (place, key) in enumerated() { keys.append(UInt64(key) << 32 | UInt64(place)) }
    keys.sort()
    return keys.map { Int($0 & 0xffff_ffff) }
  }
}
