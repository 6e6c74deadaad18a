import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct StateMachineTests {
  /// What the tables are to say, written a second time: a row a state, a column an event, `.` for illegal.
  private static let connection = """
                    connect connectSuccess connectFailure networkError disconnect disconnectComplete forceDisconnect reconnect
      disconnected  connecting connected disconnected . . disconnected disconnected connecting
      connecting    connecting connected disconnected disconnected disconnecting . disconnected .
      connected     . . . disconnected disconnecting . disconnected .
      disconnecting . . . . . disconnected disconnected .
    """

  private static let message = """
                dequeue write acknowledge deliver receipt retry fail cancel
      created   sending . . . . . failed cancelled
      sending   . sent . . . retrying failed cancelled
      sent      . . accepted delivered read retrying failed cancelled
      accepted  . . . delivered read . failed .
      delivered . . . . read . . .
      read      . . . . . . . .
      failed    . . . . . . . .
      retrying  . sent accepted delivered read . failed cancelled
      cancelled . . . . . . . .
    """

  private func rows(_ text: String) -> (columns: [String], rows: [[String]]) {
    let lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    return (lines[0], Array(lines.dropFirst()))
  }

  @Test func everyPairOfStateAndEventOfAConnection() {
    let (columns, rows) = rows(Self.connection)
    var legal = 0
    for row in rows {
      for (column, wanted) in zip(columns, row.dropFirst()) {
        guard let state = ConnectionState.allCases.first(where: { "\($0)" == row[0] }),
          let event = ConnectionEvent.allCases.first(where: { "\($0)" == column })
        else {
          Issue.record("\(row[0]) or \(column) is unknown")
          continue
        }
        if wanted == "." {
          #expect(throws: IllegalTransition(state: state, event: event)) {
            try ConnectionMachine.table.next(state, event)
          }
        } else {
          legal += 1
          let next = try? ConnectionMachine.table.next(state, event)
          #expect(next.map { "\($0)" } == wanted)
        }
      }
    }
    #expect(rows.count == ConnectionState.allCases.count && columns.count == ConnectionEvent.allCases.count)
    #expect(legal == ConnectionMachine.table.count)
  }

  @Test func everyPairOfStateAndEventOfAMessage() {
    let (columns, rows) = rows(Self.message)
    let events: [MessageEvent] = [.dequeue, .write, .acknowledge, .deliver, .receipt, .retry, .fail, .cancel]
    #expect(columns == events.map { "\($0)" } && rows.map { $0[0] } == MessageState.allCases.map { "\($0)" })
    for (state, row) in zip(MessageState.allCases, rows) {
      for (event, wanted) in zip(events, row.dropFirst()) {
        #expect(MessageMachine.next(state, event).map { "\($0)" } ?? "." == wanted, "\(state), \(event)")
        #expect((try? MessageMachine.table.next(state, event)) == MessageMachine.next(state, event))
      }
      #expect(state.isFinal == row.dropFirst().allSatisfy { $0 == "." })
    }
  }

  @Test func anIllegalEventNamesBothAndChangesNothing() throws {
    var machine = ConnectionMachine(at: .seconds(0))
    let illegal = #expect(throws: IllegalConnectionEvent.self) { try machine.handle(.networkError, at: .seconds(1)) }
    #expect(illegal?.description == "networkError is not possible while disconnected")
    #expect(machine.state == .disconnected)
    #expect(machine.time(in: .disconnected, until: .seconds(2)) == .seconds(2))
  }

  @Test func timeInEachState() throws {
    var machine = ConnectionMachine(at: .seconds(10))
    for (event, at) in [
      (ConnectionEvent.connect, 12.0), (.connectSuccess, 12.5), (.networkError, 20), (.reconnect, 21),
      (.connectSuccess, 21.25), (.disconnect, 30), (.disconnectComplete, 30.5),
    ] { try machine.handle(event, at: .seconds(at)) }
    #expect(machine.time(in: .disconnected, until: .seconds(40)) == .seconds(2 + 1 + 9.5))
    #expect(machine.time(in: .connecting, until: .seconds(40)) == .seconds(0.75))
    #expect(machine.time(in: .connected, until: .seconds(40)) == .seconds(7.5 + 8.75))
    #expect(machine.time(in: .disconnecting, until: .seconds(40)) == .seconds(0.5))
    #expect(ConnectionState.allCases.map { machine.visits(to: $0) } == [3, 2, 2, 1])
  }

  /// The life of a message as an application sees it: over a good network, and with an answer that has to be raced for.
  @Test func aMessageIsDeliveredAndRead() throws {
    let simulation = Simulation(seed: 1)
    var life: [MessageState] = []
    simulation.onClientEvent = { _, event, _ in if case .progress(_, _, let state) = event { life.append(state) } }
    simulation.onServerEvent = { event, _ in
      guard case .message(let message) = event else { return }
      simulation.after(2) {
        try? simulation.server.markRead(message.sequence, in: message.session, at: simulation.moment)
        simulation.settleServer()
      }
    }
    let (client, session) = try simulation.addClient()
    simulation.run(until: 1_001)
    try simulation.clients[client].send(Message(.text("hello")), in: session, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_010)
    #expect(life == [.created, .sending, .sent, .accepted, .read])
  }

  @Test func aMessageCanBeFollowed() async throws {
    var observers = MessageObservers()
    let simulation = Simulation(seed: 1)
    simulation.onServerEvent = { event, _ in
      guard case .message(let message) = event else { return }
      try? simulation.server.markRead(message.sequence, in: message.session, at: simulation.moment)
    }
    let (client, session) = try simulation.addClient(connects: false)
    let message = try simulation.clients[client].send(Message(.text("hello")), in: session, at: simulation.moment)
    let other = try simulation.clients[client].send(Message(.text("more")), in: session, at: simulation.moment)
    let (states, others) = (observers.states(of: message), observers.states(of: other))
    var inboxes: [Inbox] = []
    simulation.onClientEvent = { _, event, inbox in if event == inbox.events.first { inboxes.append(inbox) } }
    try simulation.clients[client].connect(session, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_001)
    for inbox in inboxes { observers.publish(inbox) }
    #expect(observers.count == 0)
    observers.finishAll()
    var seen: [MessageState] = []
    for await state in states { seen.append(state) }
    #expect(seen == [.created, .sending, .sent, .accepted, .read])
    var count = 0
    for await _ in others { count += 1 }
    #expect(count == 5)
  }

  @Test func aMessageIsRetriedWhenItsConnectionDies() throws {
    let simulation = Simulation(seed: 1)
    var life: [MessageState] = []
    simulation.onClientEvent = { _, event, _ in if case .progress(_, _, let state) = event { life.append(state) } }
    let (client, session) = try simulation.addClient()
    simulation.run(until: 1_001)
    simulation.conditions.outages = [1_001...1_003]
    try simulation.clients[client].send(Message(.text("hello")), in: session, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_010)
    #expect(life == [.created, .sending, .sent, .retrying, .sent, .accepted])
  }

  /// What has gone out is not sent again; its answer, which comes all the same, is counted and changes nothing.
  @Test func whatHasNoAnswerYetCanBeCancelled() throws {
    let simulation = Simulation(Conditions(delay: 0.3), seed: 1)
    var lives: [MessageID: [MessageState]] = [:]
    simulation.onClientEvent = { _, event, _ in
      if case .progress(let id, _, let state) = event { lives[id, default: []].append(state) }
    }
    let (client, session) = try simulation.addClient()
    simulation.run(until: 1_005)
    func send(_ text: String) throws -> MessageID {
      let id = try simulation.clients[client].send(Message(.text(text)), in: session, at: simulation.moment)
      simulation.settle(client: client)
      return id
    }
    func cancel(_ id: MessageID) -> Bool {
      defer { simulation.settle(client: client) }
      return simulation.clients[client].cancel(id, in: session, at: simulation.moment)
    }
    let messages = [try send("kept"), try send("taken back")]
    simulation.run(until: 1_005.1)
    #expect(cancel(messages[1]) && !cancel(messages[1]))
    #expect(simulation.clients[client].waiting(in: session).unacknowledged == 1)
    simulation.run(until: 1_007)
    #expect(!cancel(messages[0]))
    #expect(lives[messages[0]] == [.created, .sending, .sent, .accepted])
    #expect(lives[messages[1]] == [.created, .sending, .sent, .cancelled])
    let metrics = simulation.clients[client].metrics
    #expect(metrics.duplicateAcknowledgments == 1 && metrics.messagesAcknowledged == 1)
    #expect(metrics.messagesCancelled == 1 && metrics.messagesRetried == 0)

    // Nothing passes: one that was taken back is not among what goes out on the next connection.
    simulation.conditions.outages = [simulation.now...simulation.now + 4]
    let lost = [try send("lost"), try send("lost and taken back")]
    simulation.run(until: 1_009)
    #expect(cancel(lost[1]))
    simulation.run(until: 1_020)
    #expect(lives[lost[0]]?.last == .accepted && lives[lost[1]]?.last == .cancelled)
    #expect(simulation.clients[client].waiting(in: session) == (0, 0))
  }

  @Test func whatHasNotGoneOutCanBeCancelled() throws {
    let simulation = Simulation(seed: 1)
    var life: [MessageState] = []
    simulation.onClientEvent = { _, event, _ in if case .progress(_, _, let state) = event { life.append(state) } }
    let (client, session) = try simulation.addClient(connects: false)
    let message = try simulation.clients[client].send(Message(.text("no")), in: session, at: simulation.moment)
    let answers = (0..<2).map { _ in simulation.clients[client].cancel(message, in: session, at: simulation.moment) }
    #expect(answers == [true, false])
    simulation.settle(client: client)
    #expect(life == [.created, .cancelled])
  }
}
