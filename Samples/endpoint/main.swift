// Two people say hello over one server. In one terminal: impeer serve
// In another: swift run endpoint-example [host [port]]
import IMEndpoint

let words = CommandLine.arguments.dropFirst()
let host = words.first ?? "127.0.0.1"
let port = words.dropFirst().first.flatMap { UInt16($0) } ?? 8080

// A name may stand for several addresses; the first is the one that the system prefers.
let server = try resolve(host: host, port: port)[0]
let ann = try Client(ClientConfiguration(server: server, user: "ann"))
let bob = try Client(ClientConfiguration(server: server, user: "bob"))
await ann.connect()
await bob.connect()

// Bob says when he is there, and reads what comes. Asking for the next event says that he has the message.
let reading = Task {
  for await event in bob.events {
    switch event {
    case .connection(let state, let reason):
      print("bob is \(state)", reason.map { "(\($0))" } ?? "")
    case .message(let message):
      guard case .text(let text) = message.content else { continue }
      print("bob reads from \(message.sender ?? "the server"): \(text)")
      try await bob.markRead(message)
    default: break
    }
  }
}

// Ann need not wait for her connection, nor for Bob's: what is sent early waits.
let hello = try await ann.send(Message(.text("Hello, Bob"), to: "bob"))
for await state in hello.states {
  // created, sending, sent, accepted by the server, delivered to bob, read; retrying on a bad network
  print("ann's message is \(state)")
}

// What is large goes in a session of its own, which holds no text up.
let picture = MessageContent.Media([UInt8](repeating: 0, count: 200_000), name: "sea.png", mediaType: "image/png")
let sea = try await ann.send(Message(.image(picture), to: "bob"), priority: .low, in: .media)
for await state in sea.states where state == .delivered { break }

for (name, value) in await ann.metrics.values where value > 0 { print("  \(name) \(value)") }
await ann.disconnect()
await bob.disconnect()
reading.cancel()
