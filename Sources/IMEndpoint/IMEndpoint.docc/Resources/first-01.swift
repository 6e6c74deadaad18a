import IMEndpoint

let server = try resolve(host: "127.0.0.1", port: 8080)[0]
let client = try Client(ClientConfiguration(server: server, user: "ann"))
await client.connect()
