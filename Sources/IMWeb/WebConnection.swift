import IMOutput

/// One connection to a run's server: one request, one answer, and its end. It has no socket and no clock; times are seconds
/// of one that never goes back.
///
///     reading --request--> waiting --text--> answering --all sent--> lingering --client's end--> over
///        |                    `--5 s: 503-------^
///        `--refusal: 400, 404, 405, 421, 431----^            each of them ends after 10 s, all in all; 30 for a page
struct WebConnection {
  /// Where it stands.
  enum Phase: Equatable {
    /// Its request has not come as a whole.
    case reading
    /// The capture has to write a text.
    case waiting(WebResource)
    /// The answer is being sent.
    case answering
    /// The answer is sent, and so is the end of this side. What the client still says is thrown away: a socket that is
    /// closed before would reset the connection, and the answer might be lost with it.
    case lingering
    /// Nothing more is to come.
    case over
  }

  /// Seconds that a connection may last, all in all; that the capture may take to write a text; and that a client may take
  /// to see the answer's end.
  static let patience = 10.0, waiting = 5.0, lingering = 2.0
  /// Seconds that a page may take besides, which is longer than metrics are.
  static let pagePatience = 20.0
  /// Bytes behind a request that are thrown away, at most.
  static let maximumRest = 4 << 20

  /// Where it stands.
  private(set) var phase = Phase.reading
  private var deadline: Double
  private let offers: WebOffers
  /// When the phase has lasted too long.
  private var phaseEnd = Double.infinity
  private var parser = HTTPRequestParser()
  private var rest = 0
  private var isInputOver = false
  private var output: ArraySlice<UInt8> = []

  /// A connection that was taken at `now`.
  init(at now: Double, offers: WebOffers = WebOffers()) {
    deadline = now + Self.patience
    self.offers = offers
  }

  /// Whether what the client says is to be read.
  var wantsInput: Bool { phase != .over && !isInputOver && rest < Self.maximumRest }
  /// What is to be sent next; empty for nothing.
  var unsent: ArraySlice<UInt8> { phase == .answering ? output : [] }
  /// When it has lasted too long, as it stands.
  var end: Double { min(deadline, phaseEnd) }

  /// Takes what the client has said. What it is to be answered with, when that was the end of its request.
  mutating func received(_ bytes: Span<UInt8>, at now: Double) -> WebResource? {
    guard phase == .reading else {
      rest += bytes.count
      if phase == .lingering, !wantsInput { phase = .over }
      return nil
    }
    let before = parser.count
    let outcome = parser.take(bytes)
    rest += bytes.count - (parser.count - before)
    switch outcome {
    case .needMore: return nil
    case .refusal(let status):
      refuse(status)
      return nil
    case .request(let request):
      guard request.method != .other else {
        refuse(.methodNotAllowed)
        return nil
      }
      switch offers.choose(request) {
      case .refusal(let status):
        refuse(status)
        return nil
      case .resource(let resource):
        phase = .waiting(resource)
        phaseEnd = now + Self.waiting
        if resource == .page { deadline += Self.pagePatience }
        return resource
      }
    }
  }

  /// The client says nothing more. What it has asked is answered nevertheless; a piece of a request is none.
  mutating func inputEnded() {
    isInputOver = true
    switch phase {
    case .reading where parser.count > 0: refuse(.badRequest)
    case .reading, .lingering: phase = .over
    case .waiting, .answering, .over: break
    }
  }

  /// The connection is broken.
  mutating func failed() { phase = .over }

  /// The text is here.
  mutating func answer(_ response: HTTPResponse) {
    guard phase != .answering, phase != .lingering, phase != .over else { return }
    output = parser.method == .head ? response.bytes[..<response.headCount] : response.bytes[...]
    phase = .answering
    phaseEnd = .infinity
  }

  private mutating func refuse(_ status: HTTPStatus) { answer(HTTPResponse(refusal: status)) }

  /// So many bytes of `unsent` are on their way. Whether that was all, so that this side of the connection is to end.
  mutating func sent(_ count: Int, at now: Double) -> Bool {
    output = output.dropFirst(count)
    guard phase == .answering, output.isEmpty else { return false }
    output = []
    phase = wantsInput ? .lingering : .over
    phaseEnd = now + Self.lingering
    return true
  }

  /// It has lasted too long. A capture that does not come round to a text hangs, and whoever asks shall know; there is
  /// nothing else to say.
  mutating func expire() {
    if case .waiting = phase { refuse(.serviceUnavailable) } else { phase = .over }
  }
}
