import IMEndpoint

let server = try resolve(host: "127.0.0.1", port: 8080)[0]
let client = try Client(ClientConfiguration(server: server, user: "ann"))
await client.connect()

let sent = try await client.send(Message(.text("Hello, Bob"), to: "bob"))
let following = Task {
  for await state in sent.states { print("the message is \(state)") }
}

for await event in client.events {
  switch event {
  case .connection(let state, let reason):
    print("ann is \(state)", reason.map { "(\($0))" } ?? "")
  case .failed(let message, let reason) where message == sent.id:
    print("the message failed: \(reason)")
  case .message(let message):
    guard case .text(let text) = message.content else { continue }
    print("\(message.sender ?? "the server"): \(text)")
    try await client.markRead(message)
  default: break
  }
}
await following.value
