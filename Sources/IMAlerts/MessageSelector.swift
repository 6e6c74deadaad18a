package import IMEngine
package import IMWire

/// Which filters of rules match a message, as far as its first frame decides that.
package struct FilterChoice: Equatable, Sendable {
  /// Bit `n` where the filter of `AlertRules.filters` at `n` takes the message, or may still take it: it asks for the fate.
  package var filters: UInt64 = 0
  /// Results of the tests that the frame decides, of filters that ask for the fate, in bits that the selector assigns.
  package var answers: UInt64 = 0
  /// The filters that took it when its fate was decided; `nil` until then.
  var decided: UInt64?

  /// No filter takes it.
  package init() {}
}

/// Where the bits of filters are after other ones took their places: that at `n` is at `filters[n]`, or is gone.
package struct FilterMoves: Equatable, Sendable {
  /// New places of bits of `FilterChoice.filters` and of `FilterChoice.answers`.
  package var filters: [Int?], answers: [Int?]

  /// Moves of their parts.
  package init(filters: [Int?], answers: [Int?]) {
    self.filters = filters
    self.answers = answers
  }

  /// `choice` with its bits at their new places.
  func move(_ choice: FilterChoice) -> FilterChoice {
    func move(_ bits: UInt64, _ places: [Int?]) -> UInt64 {
      var moved: UInt64 = 0
      for (place, new) in places.enumerated() where place < 64 && bits & 1 << UInt64(place) != 0 {
        if let new { moved |= 1 << UInt64(new) }
      }
      return moved
    }
    var moved = FilterChoice()
    moved.filters = move(choice.filters, filters)
    moved.answers = move(choice.answers, answers)
    moved.decided = choice.decided.map { move($0, filters) }
    return moved
  }
}

/// Selects the messages that the filters of rules match, by their frames and, if a filter asks for it, by their fates.
package protocol MessageSelector: AnyObject {
  /// Which filters match a message by its frame. Called for every frame, in order, because a frame may define how later ones are read.
  func selection(
    of frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) -> FilterChoice
  /// The filters among those of `choice` that take a message, now that its fate is known; `status` is that of its answer.
  func decided(_ exchange: Exchange, _ choice: FilterChoice, status: StatusCode?) -> UInt64
  /// A session has a name.
  func named(_ session: UInt32, _ name: String)
  /// A session is forgotten.
  func forgotten(_ session: UInt32)
  /// Nothing more comes of a connection.
  func ended(_ connection: UInt32)
}

/// The messages that filters of rules chose, until nothing more can come of them.
struct SelectedMessages: ~Copyable {
  /// Which filters match each message, by `Exchange.id`.
  private var choices: [UInt32: FilterChoice] = [:]
  /// Those whose fate was decided, oldest first. An answer may still come late.
  private var resolved = RingQueue<UInt32>()
  /// The last message whose first frame was told.
  private var last: UInt32?

  /// Whether the first frame of a message was not told yet: numbers are given in the order of first frames.
  func isAhead(_ exchange: UInt32) -> Bool {
    guard let last else { return true }
    return exchange.isAfter(last)
  }

  /// Takes note of a message whose first frame is there. At most `limit` are kept; false where there is no room.
  mutating func insert(_ exchange: UInt32, _ choice: FilterChoice, limit: Int) -> Bool {
    if isAhead(exchange) { last = exchange }
    guard choice.filters != 0 else { return true }
    while choices.count >= limit, let oldest = resolved.popFirst() { choices[oldest] = nil }
    guard choices.count < limit else { return false }
    choices[exchange] = choice
    return true
  }

  /// The fate of a message was decided, and these filters took it: it is forgotten first.
  mutating func resolve(_ exchange: UInt32, _ filters: UInt64) {
    guard choices[exchange] != nil else { return }
    choices[exchange]?.decided = filters
    resolved.append(exchange)
  }

  /// Which filters match a message.
  subscript(exchange: UInt32) -> FilterChoice { choices[exchange] ?? FilterChoice() }

  /// Filters and their answers have other bits now.
  mutating func move(_ moves: FilterMoves) {
    for (exchange, choice) in choices {
      let moved = moves.move(choice)
      choices[exchange] = moved.filters == 0 ? nil : moved
    }
  }
}
