import IMWire

/// The protocol's own handshake: on each connection, from the frame that asks to its acknowledgment or its answer.
extension Tracker {
  /// Takes note of a frame of the handshake's type, which was tracked just now.
  mutating func handshake(
    _ frame: UnsafePointer<Frame>, as step: HandshakeStep, _ flow: Ref<Flow>, _ direction: Direction,
    _ plan: UnsafePointer<Plan>
  ) {
    let figure = figures.pointer(flow.pointee.figures)
    switch step {
    case .request:
      // One that is open for too long is over; the next copy of it, or the next request, is another try.
      let isOpen =
        figure.pointee.handshake.contains(.requested)
        && Self.isInTime(frame.pointee.timestamp, figure.pointee.handshakeAt, plan.pointee.handshakeLimit)
      if !isOpen, !figure.pointee.handshake.isReady {
        figure.pointee.handshakeAt = frame.pointee.timestamp
        figure.pointee.handshake.insert(.requested)
        if direction == .serverToClient { figure.pointee.handshake.insert(.fromServer) }
      }
      guard let exchange = find(flow.pointee.session, direction, Self.number(of: frame, flow, plan)),
        exchange.pointee.connection == flow.pointee.serial
      else { return }
      figure.pointee.handshakeExchange = table.link(of: exchange)
      exchange.pointee.marks.insert(.isHandshake)
      // The capture may have the acknowledgment first.
      if exchange.pointee.isAnswered { acknowledgeHandshake(exchange, figure) }
    case .answer:
      let asked: Direction = figure.pointee.handshake.contains(.fromServer) ? .serverToClient : .clientToServer
      guard figure.pointee.handshake.contains(.requested), direction != asked,
        Self.isInTime(frame.pointee.timestamp, figure.pointee.handshakeAt, plan.pointee.handshakeLimit)
      else { return }
      figure.pointee.handshake.insert(.answered)
      ready(figure, frame.pointee.timestamp)
    }
  }

  /// The number under which a frame that expects an answer is known.
  private static func number(
    of frame: UnsafePointer<Frame>, _ flow: Ref<Flow>, _ plan: UnsafePointer<Plan>
  ) -> UInt64 {
    let kind = frame.pointee.kind
    return kind.pointee.flags.contains(.unnumbered)
      ? FrameRecord.ownNumber(flow, kind.pointee.index, frame, plan) : frame.pointee.sequence
  }

  private static func isInTime(_ now: Timestamp, _ begun: Timestamp, _ limit: Nanoseconds) -> Bool {
    let passed = now.time(since: begun)
    return passed >= .zero && passed <= limit
  }

  /// The request's exchange was answered by an acknowledgment.
  mutating func acknowledgeHandshake(
    _ exchange: Ref<KeptExchange>, _ figure: Ref<ConnectionMetrics>
  ) {
    if exchange.pointee.flags.contains(.refused) {
      figure.pointee.handshake.insert(.refused)
      return
    }
    figure.pointee.handshake.insert(.acknowledged)
    ready(figure, exchange.pointee.ackedAt)
  }

  private mutating func ready(_ figure: Ref<ConnectionMetrics>, _ now: Timestamp) {
    if figure.pointee.readyAt == .distantPast, !isTimeless { figure.pointee.readyAt = now }
  }
}

extension Tracker {
  /// Takes note of a receipt for the message `number`, which went against `direction` in the flow's session. `rest` is how many
  /// exchanges may still be looked at for this frame: one that names many numbers, each of which many exchanges have, costs no more.
  mutating func receipt(
    _ number: UInt64, _ level: MessageReceipt.Level, _ flow: Ref<Flow>, _ direction: Direction, at now: Timestamp,
    _ rest: inout Int, _ note: inout FrameNote
  ) {
    let way: Direction = direction == .clientToServer ? .serverToClient : .clientToServer
    rest &-= 1
    var found = find(flow.pointee.session, way, number)
    while let exchange = found, rest > 0, role(exchange) != .message {
      rest &-= 1
      found = next(after: exchange)
    }
    guard let exchange = found, role(exchange) == .message, !exchange.pointee.has(level) else { return }
    let latency = Nanoseconds.microseconds(now.microseconds &- exchange.pointee.firstAt.microseconds)
    guard latency >= .zero else { return }
    exchange.pointee.note(level)
    guard !isTimeless else { return }
    note.add(level, latency)
    sink.receipt(
      MessageReceipt(
        exchange: table.id(of: exchange), level: level, latency: latency, direction: way,
        endpoint: figures.pointer(flow.pointee.figures).pointee.endpoint))
  }
}

/// What a frame of the handshake's type is for.
enum HandshakeStep {
  case request, answer
}
