/// A list that most often holds one element, which then takes no memory of its own.
package struct ShortList<Element>: RandomAccessCollection {
  private var head: Element?
  private var rest: [Element] = []

  /// A list of one or none.
  package init(_ first: Element? = nil) { head = first }

  /// Always 0.
  package var startIndex: Int { 0 }
  /// How many there are.
  package var endIndex: Int { head == nil ? 0 : 1 + rest.count }

  /// The element at `index`, from 0.
  package subscript(index: Int) -> Element {
    if index == 0, let head { return head }
    return rest[index - 1]
  }

  /// Adds one at the end.
  package mutating func append(_ element: Element) {
    if head == nil { head = element } else { rest.append(element) }
  }
}
