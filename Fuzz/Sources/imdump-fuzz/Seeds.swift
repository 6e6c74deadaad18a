import Glibc
@testable import IMCapture
@testable import IMProfile
@testable import IMDescriptors
import IMWire

/// Writes a corpus for each target into a folder of its name: the samples, their packets, what their connections said.
func writeSeeds(from samples: String, to folder: String) {
  mkdir(folder, 0o755)
  for target in targets { mkdir("\(folder)/\(target.name)", 0o755) }
  var (number, inferred) = (0, 0)
  func seed(_ target: String, _ bytes: [UInt8]) {
    number += 1
    guard let file = fopen("\(folder)/\(target)/seed-\(number)", "w") else { return }
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
  }
  for name in [
    "tjp-damage.pcap", "tjp-weak-network.pcap", "mqtt-mosquitto.pcap", "mqtt5-mosquitto.pcap", "smpp-gateway.pcap",
    "diameter-charging.pcap", "goim-room.pcap", "jt808-terminals.pcap", "iec104-station.pcap", "amqp091-confirms.pcap",
    "xmpp-chat.pcap",
    "tjp-ipv6-vlan.pcapng", "proxy-balancer.pcap",
    "mqtt-websocket-deflate.pcap",
  ] {
    let bytes = contents("\(samples)/\(name)")
    let form = name.hasSuffix("ng") ? "pcapng" : "pcap"
    for count in [200, 2_000, 20_000] where count < bytes.count { seed(form, [UInt8](bytes.prefix(count))) }
    let packets = packets("\(samples)/\(name)")
    for start in stride(from: 0, to: min(packets.count, 400), by: 8) {
      var script: [UInt8] = [UInt8(start / 8 & 1)]
      for packet in packets[start..<min(packets.count, start + 8)] {
        script += [0, 1, UInt8(packet.count >> 8 & 7), UInt8(packet.count & 255)] + packet.prefix(0x7ff)
      }
      seed("packets", script)
    }
    // The bytes of segments, as far as their headers are plain.
    for packet in packets.prefix(200)
    where packet.count > 66 && packet[12] == 8 && packet[13] == 0 && packet[14] == 0x45 {
      let payload = [UInt8](packet[min(packet.count, 34 + Int(packet[46] >> 4) * 4)...].prefix(255))
      guard payload.count > 2 else { continue }
      // Each takes as long as a thousand of other targets.
      inferred += 1
      if inferred % 8 == 1 { seed("inference", [UInt8(payload.count - 1), 0, 0, 0] + payload) }
      for target in ["tjp", "mqtt", "smpp", "diameter", "goim", "jt808", "iec104", "amqp091", "xmpp", "stream"] {
        seed(target, [0, 7, 9, 0x0a, UInt8(payload.count)] + payload + [0x0b, UInt8(payload.count)] + payload)
      }
      seed("check", [0, 10, UInt8(payload.count)] + payload + [1, 25, UInt8(payload.count)] + payload)
      seed("tlv", [UInt8](payload.dropFirst(28)))
      for (plan, header) in [28, 2, 16, 20, 16, 12].enumerated() where payload.count > header {
        let body = payload.count - header
        for type in 0..<6 {
          seed(
            "fields",
            [UInt8(plan), UInt8(type), 0, UInt8(header)] + payload.prefix(header) + [0, UInt8(body)]
              + payload.dropFirst(header))
        }
      }
      seed("frames", payload)
      seed("frames", [UInt8](payload.dropFirst(28)))
      seed("varint", [UInt8](payload.prefix(5)))
      seed("checksum", payload)
      seed("inflate", [UInt8](payload.dropFirst(28)))
      seed("proxy", payload)
      // Unframed by the client, and framed by the server.
      seed("websocket", [0, 0x02, UInt8(payload.count)] + payload + [0x01, UInt8(payload.count)] + payload)
    }
  }
  for (kind, header) in [
    (0, [8, 0, 0, 0, 0, 0, 7, 0]), (2, [12, 0, 0, 3, 0, 0, 7, 0]), (3, [0, 0, 0x65, 0x58, 0, 0, 7, 0]),
    (5, [0, 2, 0, 1, 0, 2, 0, 0x21]),
    (6, [0, 0x10, 2, 0, 0, 0, 0, 0]), (7, [1, 0, 0, 1, 1]), (13, [0, 0, 8, 0]), (22, [1, 1, 0, 1, 0, 7, 8, 0]),
  ] as [(UInt8, [UInt8])] {
    let inner = packets("\(samples)/mqtt-mosquitto.pcap").prefix(4)
    for packet in inner {
      let content = header + ([5, 13, 22].contains(kind) ? [UInt8](packet.dropFirst(14)) : packet)
      seed("tunnels", [0, kind, UInt8(content.count >> 8 & 7), UInt8(content.count & 255)] + content)
    }
  }
  for line in [
    #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1","traceId":"0a","flags":1}]}]}]}"#,
    #"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","sum":{"dataPoints":[{"asInt":"-1"}]}}]}]}]}"#,
    #"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"exponentialHistogram":{"dataPoints":[{"sum":0.5,"positive":{"offset":-7,"bucketCounts":["1"]}}]}}]}]}]}"#,
    #"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a","status":{"code":2}}]}]}]}"#,
  ] { seed("otlp-lines", Array(line.utf8) + [10] + Array(line.utf8)) }
  seed("otlp-answer", [0x0a, 0x07, 0x08, 0xac, 0x02, 0x12, 0x02, 0x6e, 0x6f])
  seed("otlp-answer", Array(#"{"partialSuccess":{"rejectedSpans":"7","errorMessage":"why"}}"#.utf8))
  // Each suite with its hellos and without: records, gaps, KeyUpdates, keys in between.
  for suite: UInt8 in 0..<8 {
    for start: UInt8 in [0, 1, 2, 14, 30] {
      var script: [UInt8] = [suite, start, 0]
      for step: UInt8 in 0..<12 {
        script += [step & 1 << 7, 20] + [UInt8](repeating: step, count: 20)
        script += step % 4 == 3 ? [3 | step & 4 << 5, 9] + [UInt8](repeating: 1, count: 9) + [5] : []
        script += step == 5 ? [5, 0, 10, 3, 7, 0, 50] : step == 8 ? [9, 0x89, 10, 3, 13, 4] : []
      }
      seed("tls", script)
    }
  }
  // The same through an engine: each suite alone, in WebSocket, after a clear beginning, started late, with late keys and segments.
  for suite: UInt8 in 0..<8 {
    for options: [UInt8] in [[0, 0], [0, 4], [0, 32], [0, 17], [0, 130], [1, 132], [0, 140]] {
      var script: [UInt8] = [suite] + options
      for step: UInt8 in 0..<30 {
        // Six in seven come, one way or the other; the rest is late or lost.
        let fate: UInt8 = step % 7 == 6 ? 0x60 : step % 11 == 10 ? 0x70 : step % 5 == 4 ? 0x50 : 0
        script += [(step & 1) << 7 | fate | step % 4, 7, step]
        if step % 9 == 8 { script += [0x0d, 0, step, 0x0a, 0, 0, 0x0c, 0, step] }
        if step == 20 { script += [0x05, 0, 0x09, 0, 40] }
      }
      seed("tls-stream", script)
    }
  }
  let digits = String(repeating: "0a", count: 32)
  let labels = ["CLIENT_RANDOM", "CLIENT_TRAFFIC_SECRET_0", "SERVER_HANDSHAKE_TRAFFIC_SECRET", "EXPORTER_SECRET", "#"]
  for end in ["\n", "\r\n"] {
    let lines = labels.map { "\($0) \(digits) \(digits)\($0 == "CLIENT_RANDOM" ? digits.prefix(32) : "")" }
    seed("keylog", Array(("\u{feff}" + lines.joined(separator: end) + end).utf8))
    let line = Array((lines[0] + end).utf8)
    for order: UInt8 in 0...1 {
      seed(
        "secrets",
        [order, 4, UInt8(line.count >> 8), UInt8(line.count & 255)] + line + [0, 0, 3, 1, 2, 3, 9, 0, 2, 65, 10])
    }
  }
  seed(
    "hello",
    [1, 0, 0, 93, 3, 3] + [UInt8](repeating: 7, count: 32) + [0, 0, 4, 0x13, 1, 0xc0, 0x2b, 1, 0, 0, 48]
      + [
        0, 0, 0, 7, 0, 5, 0, 0, 2, 0x69, 0x6d, 0, 16, 0, 5, 0, 3, 2, 0x68, 0x32, 0, 43, 0, 5, 4, 3, 4, 3, 3, 0, 13, 0,
        4, 0, 2, 4, 3,
      ]
      + [0, 10, 0, 4, 0, 2, 0, 29, 0, 42, 0, 0, 0xfe, 0x0d, 0, 0])
  for step: UInt8 in [0, 4, 8] {
    var script: [UInt8] = [step]
    for file: UInt8 in 0..<3 {
      let records: [UInt8] = (0..<5).flatMap {
        [$0 * 3 + file, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, file, $0, 1, 2]
      }
      script += [1, 0, UInt8(records.count)] + records
    }
    seed("merge", script)
  }
  seed("terminal", Array("\u{1b}[A\u{1b}OP\u{1b}[<0;10;7M\u{1b}[200~paste\u{1b}[201~x\u{1b}[1;5C张三👍🏽".utf8))
  seed("sockets", Array("/system.slice/docker-\(String(repeating: "0123456789abcdef", count: 4)).scope".utf8))
  seed("sockets", [88, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 1] + [UInt8](repeating: 1, count: 70))
  seed("inflate", [0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x06, 0x00, 0x02, 0x4d, 0x01, 0x27])
  seed("gzip", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x4c, 0x4a, 0x06, 0, 0xc2, 0x41, 0x24, 0x35, 3, 0, 0, 0])
  seed("alert-state", alertStateSeed())
  seed("alert-spool", alertSpoolSeed())
  seed("store", [0, 0, 0, 60, 3, 0, 0, 0, 4])
  seed("store", [0, 0, 0x10, 0x40, 7] + Array("messages".utf8))
  seed("reassembly", (0..<120).map { UInt8(truncatingIfNeeded: $0 * 37) })
  for name in BuiltInProfiles.names {
    guard let text = BuiltInProfiles.text(name) else { continue }
    seed("profile", [UInt8](text.utf8))
    // Pieces, because targets read no further than is quick.
    for start in stride(from: 0, to: text.utf8.count, by: 500) {
      seed("yaml", [UInt8](text.utf8.dropFirst(start).prefix(500)))
    }
  }
  for text in [#"{"id":"a","ctrl":{"code":200},"pub":{}}"#, #"[2,"id",{"a":[1,{"b":null}]},-1.5e3]"#] {
    seed("content-json", [UInt8](text.utf8))
  }
  seed("content-protobuf", [0x08, 0xac, 0x02, 0xb2, 0x01, 4, 0x12, 2, 0x61, 0x62, 0x5d, 1, 0, 0, 0])
  seed("content-headers", Array("SEND\ncontent-length:4\r\nid: a b\n\nbody".utf8))
  seed("content-words", Array("-ERR 'No such room'\r\n".utf8))
  for text in ["*2\r\n$3\r\nGET\r\n*1\r\n:5\r\n", "%1\r\n+a\r\n$-1\r\n", "PING a\r\n"] {
    seed("content-resp", [UInt8](text.utf8))
  }
  for text in yamlSeeds { seed("yaml", [UInt8](text.utf8)) }
  // Short ones, because most of the time goes to reading YAML.
  for text in shortProfiles + delimitedProfiles { seed("profile", [UInt8](text.utf8)) }
  for text in ["SAY 1 hello\r\nOK 1\n", "~\u{1}\u{1}ab}^c~~\u{2}\u{1}~"] {
    let bytes = [UInt8](text.utf8)
    seed("delimited", [0, 7, 9, 0x0a, UInt8(bytes.count)] + bytes + [0x0b, UInt8(bytes.count)] + bytes)
  }
  for text in [
    "type == data && rtt_ms > 500", "session == 6854 or fate in {unanswered, damaged}", "tlv[0x1001] contains \"x\"",
    "client.ip == 10.0.0.0/8 and not seq >= 0x1f", "tlv matches \"(?i)^a{2,5}[^b-d]$\"",
  ] { seed("filter", [UInt8](text.utf8)) }
  for text in [
    "GET /metrics HTTP/1.1\r\nHost: sensor:9464\r\nAccept: application/openmetrics-text;q=0.5,*/*;q=0.1\r\n\r\n",
    "HEAD http://[::1]:9464/metrics?x HTTP/1.0\r\n\r\n", "\r\nOPTIONS * HTTP/1.1\r\nhost:\t\r\nX-Y:\u{e4}\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi",
    "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    "GET / HTTP/1.1\r\nX: " + String(repeating: "y", count: 8_300),
  ] { for size: UInt8 in [1, 255] { seed("http", [size] + [UInt8](text.utf8)) } }
  // Connections that ask, in both dialects, are answered, and go.
  seed("responder", [0, 2, 0, 2, 1, 2, 3, 13, 49, 49, 49, 49, 49, 9, 7, 0, 2, 4, 2, 3, 9, 14, 255])
  seed("responder", [0, 1, 0x12, 0, 0x12, 2, 0x12, 6, 0x12, 3, 29, 50, 50, 50, 50, 50, 0x1b, 9, 0x19, 0x18, 14, 60])
  for bytes in endpointSeeds { seed("endpoint", bytes) }
  for words in [
    ["log", "-avvr", "x", "--number=3", "y"], ["-rtype == data", "--", "--all"], ["log", "other", "z"], ["othr"],
    ["help", "log"],
    ["--no-chek"], ["--all=1"], ["-n", "-1"], ["-vh"], ["--version"],
  ] { seed("words", [UInt8](words.joined(separator: "\0").utf8)) }
}

/// Scripts of the target `endpoint`: connect, say, let it flow; and frames with what is in them, for `frames`.
let endpointSeeds: [[UInt8]] = [
  [0, 1, 0, 1, 1, 2, 0, 20, 0, 200, 2, 2, 9, 20, 2],
  [2, 1, 0, 1, 1, 2, 0, 20, 16, 30, 2, 8, 0, 0, 40, 9, 30, 1, 1, 2, 2, 2],
  [1, 1, 0, 2, 0, 50, 9, 100, 1, 1, 2, 9, 100, 5, 0, 0, 40, 255, 2, 2],
  [2, 1, 0, 1, 1, 2, 7, 0, 0, 0, 0, 0, 0, 1, 10, 0x10, 1, 0, 0, 0, 4, 65, 66, 67, 68, 2],
  [4, 1, 0, 1, 1, 2, 0, 9, 10, 40, 2, 12, 10, 60, 1, 0, 2],
  [2, 1, 0, 1, 1, 2, 0x2d, 0, 10, 20, 10, 255, 10, 255, 0x0d, 9, 40, 1, 0, 2],
]

private func contents(_ path: String) -> [UInt8] {
  guard let file = fopen(path, "r") else { fail("\(path) cannot be read") }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 1 << 22)
  return [UInt8](bytes.prefix(fread(&bytes, 1, bytes.count, file)))
}

private func packets(_ path: String) -> [[UInt8]] {
  var packets: [[UInt8]] = []
  do throws(CaptureError) {
    let source = try CaptureFile(path: path)
    while try source.nextBatch({ bytes, records in
      for i in records.indices {
        let start = Int(records[i].offset)
        packets.append(
          bytes.extracting(start..<start + Int(records[i].capturedLength)).withUnsafeBytes { [UInt8]($0) })
      }
    }) {}
  } catch {
    return packets
  }
  return packets
}

let delimitedProfiles = [
  """
  profile: flags
  version: 1
  ports: [7100]
  framing: {kind: delimited, delimiter: 7E, escape: {byte: 7D, mask: 20}, maximum: 200}
  header: {length: 2, parts: [{when: {offset: 0, mask: 0x80}, at: 1, length: 2, body: raw}]}
  fields: {type: {offset: 0, size: 1, bits: 4}, sequence: {offset: 1, size: 1}}
  types:
    1: {name: m, role: message, answered: true, body: [{load: {size: 2, into: status, order: little}}, tlv]}
    2: {name: k, role: acknowledgment, answers: [m], body: [{load: {size: 1, into: answered, encoding: bcd}}]}
  status: {also: 9}
  tlv: {tag: {size: 1}, length: {size: 1}, tags: {1: {name: n, type: list}}}
  """,
  """
  profile: lines
  version: 1
  ports: [7100]
  framing: {kind: line, maximum: 100}
  fields: {type: {word: 1}, sequence: {word: 2}, session: {word: 3, sensitive: true}}
  types:
    SAY: {name: say, role: message, answered: true, body: raw}
    OK: {name: ok, role: acknowledgment, answers: all, body: raw}
  """,
]

private let shortProfiles = [
  """
  profile: c
  version: 1
  variable: v
  identity: { sensitive: true }
  heartbeat: { interval: 30s, factor: 1.5 }
  header: { length: 2 }
  length: { offset: 1, encoding: varint }
  fields: { type: { offset: 0 } }
  types:
    1: { name: a, role: control, body: [load: { size: 1, into: v }, load: { size: 1, into: bits }] }
    2:
      name: b
      role: message
      when: { v: 5 }
      body: [{ when: { of: bits, mask: 4, value: 4 }, tlv: { size: varint } }, each: { size: 1, into: status }, end]
  tlv: { tag: { size: 1 }, length: { size: 2 }, keep-alive: 3, tags: { 1: { name: x, value: pair }, 3: { name: y, value: 2 } } }
  """,
  """
  profile: a
  version: 1
  header: {length: 6, magic: {offset: 0, bytes: 4348}}
  length: {offset: 2, size: 2, counts: body, maximum: 99}
  fields: {type: {offset: 4, size: 1}, sequence: {offset: 5, size: 1}}
  sequence: {kind: counter}
  types:
    1: {name: m, role: message, answered: true}
    2: {name: k, role: acknowledgment, answers: [m], body: none}
  """,
  """
  profile: b
  version: 1
  ports: [9]
  header: {length: 2}
  length: {offset: 1, encoding: varint, counts: body, maximum: 999}
  fields: {type: {offset: 0, size: 1, low-bit: 4, bits: 4}}
  sequence: {kind: identifier}
  types:
    3:
      name: p
      role: message
      flags: {mask: 0x0F, value: 0x00}
      body: [{text: {size: 2, into: subject}}, {load: {size: 2, into: sequence}}]
  timing: {answer: 10s}
  """,
]
