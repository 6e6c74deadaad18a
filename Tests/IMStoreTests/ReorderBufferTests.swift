import IMTestSupport
import Testing

@testable import IMStore

/// What comes out of the buffer is what went in, in order as far as the window goes.
@Suite struct ReorderBufferTests {
  /// Puts `numbers` in, in this order; gives what came out, late ones at once, and how many were late.
  private func run(_ numbers: [UInt32]) -> (out: [UInt32], late: Int, most: Int) {
    var buffer = ReorderBuffer<UInt32>()
    var out: [UInt32] = [], late = 0, most = 0
    for number in numbers {
      while buffer.isNextDue(before: number) { if let element = buffer.takeNext() { out.append(element) } }
      if buffer.isLate(number) {
        late += 1
        out.append(number)
      } else {
        buffer.insert(number, number)
        // Of what cannot be copied #expect does not take a call.
        let isThere = buffer.contains(number)
        #expect(isThere)
      }
      most = max(most, buffer.count)
    }
    while buffer.count > 0 { if let element = buffer.takeNext() { out.append(element) } }
    return (out, late, most)
  }

  @Test(arguments: [1, 10, 63, 500, 16_000])
  func whatIsDisplacedByLessThanAWindowComesInOrder(_ distance: Int) {
    var random = SeededRandom(UInt64(distance))
    // Each number is put in up to `distance` places later than it belongs; the first ones are, too.
    let count = 100_000
    let keyed = (0..<count).map { ($0 + Int(random.next() % UInt64(distance)), $0) }
    let numbers = keyed.sorted { $0 < $1 }.map { UInt32($0.1) }
    let (out, late, most) = run(numbers)
    let isWhole = out.sorted().elementsEqual(0..<UInt32(count))
    #expect(isWhole)
    #expect(most <= ReorderBuffer<UInt32>.most)
    // From where half of a number is more than the distance, nothing is late.
    let settled = out.filter { Int($0) > 4 * distance }
    let isSettled = zip(settled, settled.dropFirst()).allSatisfy { $0 < $1 }
    #expect(isSettled && late <= 4 * distance)
    let isInOrder = out.elementsEqual(0..<UInt32(count))
    if distance <= ReorderBuffer<UInt32>.least { #expect(isInOrder && late == 0) }
  }

  @Test func aNumberThatIsMissingHoldsUpNoMoreThanAWindow() {
    let missing: UInt32 = 200_000
    let (out, late, most) = run((0..<400_000).filter { $0 != missing } + [missing])
    #expect(late == 1)
    // It goes past those that still wait when it comes.
    let isInOrder = out.filter { $0 != missing }.elementsEqual((0..<400_000).filter { $0 != missing })
    #expect(isInOrder)
    #expect(out.count == 400_000)
    #expect(most <= ReorderBuffer<UInt32>.most)
  }

  @Test func halfOfTheNumbersAreOutFromTheBeginning() {
    var buffer = ReorderBuffer<UInt32>(), out = 0
    // The first one never comes.
    for number in 1..<UInt32(10_000) {
      while buffer.isNextDue(before: number) { if buffer.takeNext() != nil { out += 1 } }
      buffer.insert(number, number)
      #expect(out >= Int(number) / 2 - ReorderBuffer<UInt32>.least)
    }
  }

  @Test func theLastElementOfANumberStays() {
    var buffer = ReorderBuffer<String>()
    buffer.insert("first", 1)
    buffer.insert("second", 1)
    let count = buffer.count
    let (none, last) = (buffer.takeNext(), buffer.takeNext())
    #expect(count == 1)
    #expect(none == nil)
    #expect(last == "second")
    #expect(buffer.count == 0)
  }

  @Test func placesAreSortedByKeyAndThenAsTheyStand() {
    #expect([UInt32](arrayLiteral: 3, 1, 3, 0, .max, 1).sortedPlaces == [3, 1, 5, 0, 2, 4])
  }
}
