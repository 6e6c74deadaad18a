/// Makes nodes from events, and refuses what a file of ours has no use for where its event comes, before more is read:
/// anchors and aliases, by which a short file stands for a long one; nesting deeper than anybody writes, which libyaml
/// scans in quadratic time; a second document. A key that stands twice is refused where its mapping ends.
///
/// Types are not resolved and tags are ignored: every scalar is text.
struct YAMLComposer: ~Copyable {
  /// How deep collections nest, at most. It bounds the recursion, too.
  static let maximumDepth = 32

  private typealias Event = YAMLEvents.Event

  private var events: YAMLEvents
  private let source: String
  private let subject: String

  private init(_ text: UnsafeBufferPointer<UInt8>, source: String, subject: String) {
    events = YAMLEvents(text)
    self.source = source
    self.subject = subject
  }

  /// The root of the one document in `text`, which is UTF-8; `nil` where there is none. `source` names the text in errors and
  /// `subject` in sentences.
  static func compose(
    _ text: UnsafeBufferPointer<UInt8>, source: String, subject: String
  ) throws(SourceError) -> YAMLNode? {
    var composer = YAMLComposer(text, source: source, subject: subject)
    return try composer.document()
  }

  // MARK: Nodes

  private mutating func document() throws(SourceError) -> YAMLNode? {
    var root: YAMLNode?
    while true {
      let event = try next()
      switch event.kind {
      case .streamEnd: return root
      case .documentStart where root != nil:
        throw error("another document begins here; a \(subject) is one", event.mark)
      case .streamStart, .documentStart, .documentEnd, .collectionEnd, .shared: continue
      case .scalar, .sequenceStart, .mappingStart: root = try node(event, depth: 1)
      }
    }
  }

  /// The node that begins with `event`, and all that is in it. A collection is `depth` deep, from 1.
  private mutating func node(_ event: Event, depth: Int) throws(SourceError) -> YAMLNode {
    if case .scalar(let text) = event.kind { return YAMLNode(content: .scalar(text), mark: event.mark) }
    guard depth <= Self.maximumDepth else {
      throw error("a \(subject) nests at most \(Self.maximumDepth) levels", event.mark)
    }
    if case .mappingStart = event.kind {
      return YAMLNode(content: .mapping(try mapping(depth)), mark: event.mark)
    }
    return YAMLNode(content: .sequence(try sequence(depth)), mark: event.mark)
  }

  private mutating func sequence(_ depth: Int) throws(SourceError) -> [YAMLNode] {
    var elements: [YAMLNode] = []
    while let event = try member() { elements.append(try node(event, depth: depth + 1)) }
    return elements
  }

  private mutating func mapping(_ depth: Int) throws(SourceError) -> [YAMLNode.Entry] {
    var entries: [YAMLNode.Entry] = []
    while let event = try member() {
      let key = try node(event, depth: depth + 1)
      guard let event = try member() else { break }
      entries.append(YAMLNode.Entry(key: key, value: try node(event, depth: depth + 1)))
    }
    var names = Set<String>(minimumCapacity: entries.count)
    for case let name? in entries.lazy.map(\.key.text) where !names.insert(name).inserted {
      let first = entries.first { $0.key.text == name }
      throw error("'\(name)' is given twice in the same mapping", first?.key.mark)
    }
    return entries
  }

  // MARK: Events

  /// The event with which the collection's next member begins; `nil` at its end.
  private mutating func member() throws(SourceError) -> Event? {
    let event = try next()
    if case .collectionEnd = event.kind { return nil }
    return event
  }

  private mutating func next() throws(SourceError) -> Event {
    let event: Event
    do throws(YAMLEvents.Failure) { event = try events.next() } catch { throw self.error(error.problem, error.mark) }
    if case .shared = event.kind { throw error("anchors and aliases are not allowed in a \(subject)", event.mark) }
    return event
  }

  private func error(_ message: String, _ mark: YAMLMark?) -> SourceError {
    SourceError(source: source, line: mark?.line, column: mark?.column, message: message)
  }
}
