import IMWire

extension Pseudonyms {
  /// What stands for decimal digits, two a byte. Zeros in front stay, and no others come to be.
  ///
  /// The exclusive or of all bytes stays what it was. Protocols with such digits often have it for a checksum, and escape bytes:
  /// another sum could want an escape that the frame has no room for, and a heartbeat holds nothing else that could make up for it.
  package func digits(_ bytes: [UInt8]) -> [UInt8] {
    var nibbles = bytes.flatMap { [$0 >> 4, $0 & 15] }
    let first = nibbles.firstIndex { $0 != 0 } ?? nibbles.count
    let end = nibbles[first...].firstIndex { $0 > 9 } ?? nibbles.count
    guard end - first > 1 else { return bytes }
    // Upper and lower halves of bytes are summed apart.
    for _ in 0..<256 {
      for round in 0..<6 { mix(&nibbles, first..<end, round) }
      if nibbles[first] != 0 { break }
    }
    return stride(from: 0, to: nibbles.count, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
  }

  /// One round: pairs of digits of the same halves become other pairs with the same exclusive or, as all other digits say.
  private func mix(_ nibbles: inout [UInt8], _ range: Range<Int>, _ round: Int) {
    for half in 0..<2 {
      let places = range.filter { $0 % 2 == half }
      guard places.count > 1 else { continue }
      for i in stride(from: round % 2, to: places.count, by: 2) {
        let (a, b) = (places[i], places[(i + 1) % places.count])
        guard a != b else { continue }
        var state = hash.sipHash(Kind.digits.rawValue ^ UInt64(round) << 8 ^ UInt64(a) << 16)
        for place in range where place != a && place != b { state = next(state, UInt64(nibbles[place])) }
        let sum = nibbles[a] ^ nibbles[b]
        let all = (0..<10).map { UInt8($0) }.filter { $0 ^ sum < 10 }
        guard let place = all.firstIndex(of: nibbles[a]) else { continue }
        nibbles[a] = all[Int(permuted(UInt32(place), of: UInt32(all.count), state))]
        nibbles[b] = nibbles[a] ^ sum
      }
    }
  }
}
