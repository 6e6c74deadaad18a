import Foundation
import IMEngineTestSupport
import IMMetrics
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMOutput

/// Lists of connections: as a table on terminals of any width, as JSON and as comma-separated values, in any order.
@Suite struct ConnectionListTests {
  private static let profiles = ["tjp", "a,\"b\"\\\n\u{1b}[2J"]

  private static func row(
    _ serial: UInt32, _ reason: CloseReason = .fin, by resetBy: Direction? = nil, isDecoded: Bool = true,
    hello: TLSHello? = nil, change: (inout ConnectionReport) -> Void = { _ in }
  ) -> ListedConnection {
    var report = isDecoded ? MadeReport.decoded(serial: serial) : MadeReport.undecoded(serial: serial)
    (report.reason, report.resetBy) = (reason, resetBy)
    (report.firstSeen, report.lastSeen) = (Timestamp(milliseconds: 1_000), Timestamp(milliseconds: 63_123))
    change(&report)
    return ListedConnection(report, hello: hello)
  }

  private static func hello(_ name: String?) -> TLSHello {
    TLSHello(version: 0x0304, serverName: name, protocols: [])
  }

  /// Connections of every kind: maximum numbers, hostile names, IPv6, a proxy.
  private static let rows: [ListedConnection] = [
    row(1) { $0.wireBytes = [10_234, 98_765] },
    row(2, .reset, by: .serverToClient) { report in
      report.rare.fates[0].units = 51
      report.rare.fates[0].unanswered = 3
      report.rare.retries = 4
      report.segments[0].retransmissions = 17
    },
    row(3, .timeout, isDecoded: false) { $0.synCount = 4 },
    row(.max) { report in
      (report.packets, report.wireBytes) = ([.max, .max], [.max, 0])
      (report.gapCount, report.gapBytes, report.info.plan) = (.max, .max, 1)
      (report.serverHandshake, report.clientHandshake) = (.milliseconds(100), .milliseconds(23))
    },
    row(5, .reset, by: .clientToServer, isDecoded: false, hello: hello("a-very-long-name.of-a-server.example.com")) {
      $0.info.plan = FlowProfile.tls.told
    },
    row(6) { report in
      report.info.client = Endpoint(address: IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 1), port: 65_535)
      report.info.carriers = [.proxy2]
      report.sawSyn = false
    },
  ]

  // MARK: Tables

  @Test(arguments: [nil, 60, 79, 100, 119, 120, 150, 400] as [Int?]) func tables(_ width: Int?) throws {
    var out = ByteWriter()
    ConnectionTable(profiles: Self.profiles, zone: .utc, width: width).write(Self.rows, to: &out)
    let lines = out.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    #expect(lines.count == Self.rows.count + 1)
    for line in lines {
      if let width { #expect(cells(line) <= width, "\(line)") }
      #expect(!line.hasSuffix(" ") && !line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f })
    }
    let titles = lines[0].split(separator: " ").map(String.init)
    #expect(titles.first == "#" && titles.contains("client"))
    // At any width, the number of the connection and its end are shown.
    for (line, row) in zip(lines.dropFirst(), Self.rows) {
      #expect(line.split(separator: " ").first.map(String.init) == "\(row.info.serial)")
      #expect(line.contains(row.reason.name))
    }
    // The same rows produce the same bytes.
    var again = ByteWriter()
    ConnectionTable(profiles: Self.profiles, zone: .utc, width: width).write(Self.rows, to: &again)
    #expect(out.text == again.text)
  }

  /// A live list cannot wait for its widest cell, and a part of a table has no heading of its own while the columns stay the same.
  @Test func parts() {
    var table = ConnectionTable(profiles: ["tjp"], zone: .utc, width: nil)
    var out = ByteWriter()
    table.write(part: [Self.rows[0]], to: &out) { _ in }
    table.write(part: [] as [ListedConnection], to: &out) { _ in }
    table.write(part: [Self.rows[0]], to: &out) { _ in }
    let lines = out.text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(
      lines.count == 4 && lines[1] == lines[2] && lines[0].contains("  start UTC  ") && lines[0].contains("client"))
    // Wider cells move the columns, so that a new heading follows after an empty line.
    table.write(part: [Self.rows[3]], to: &out) { _ in }
    let more = out.text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(more.count == 7 && more[3].isEmpty && more[4].contains("client"))
    var live = ByteWriter()
    table.writeLiveHeading(from: Self.rows[0].firstSeen, to: &live)
    for row in Self.rows { table.write(live: row, to: &live) }
    #expect(live.text.split(separator: "\n").count == Self.rows.count + 1)
  }

  @Test func cellsOfOneConnection() {
    let cells = ConnectionCells(profiles: Self.profiles, zone: LocalZone { _ in (3_600, "CET") })
    let expected: [(title: String, values: [String?])] = [
      ("#", ["1", "2", "3"]), ("start", ["01:00:01.000", "01:00:01.000", "01:00:01.000"]),
      ("seconds", ["62.123", "62.123", "62.123"]), ("bytes c2s", ["10234", "0", "0"]), ("lost", ["0", "3", "-"]),
      ("messages", ["0", "51", "-"]), ("retries", ["0", "4", "-"]), ("retrans", ["0", "17", "0"]),
      ("protocol", ["tjp", "tjp", "-"]), ("end", ["fin", "rst by server", "timeout"]),
      ("handshake ms", ["-", "-", "-"]),
      ("no such column", [nil, nil, nil]),
    ]
    for (title, values) in expected {
      #expect(Self.rows.prefix(3).map { cells.text(title, of: $0) } == values, "\(title)")
    }
    #expect(cells.text("handshake ms", of: Self.rows[3]) == "123.000")
    #expect(cells.text("protocol", of: Self.rows[3]) == #"a,"b"\\\x0a\x1b[2J"#)
    #expect(cells.text("protocol", of: Self.rows[4]) == "TLS a-very-long-name.of-a-server.example.com")
    #expect(cells.text("remarks", of: Self.rows[4]) == "not decrypted")
    #expect(cells.text("remarks", of: Self.rows[5]) == "no SYN, PROXY from 10.0.0.7:40001")
  }

  // MARK: JSON and CSV

  /// The fields of a line of CSV, by RFC 4180.
  private static func fields(_ line: Substring) -> [String] {
    var fields: [String] = [], field = "", isQuoted = false
    var rest = line[...]
    while let character = rest.popFirst() {
      switch character {
      case "\"" where isQuoted && rest.first == "\"":
        rest = rest.dropFirst()
        field.append("\"")
      case "\"": isQuoted.toggle()
      case "," where !isQuoted:
        fields.append(field)
        field = ""
      default: field.append(character)
      }
    }
    return fields + [field]
  }

  @Test func rowsForPrograms() throws {
    let writer = ConnectionRowWriter(profiles: Self.profiles)
    var out = ByteWriter()
    writer.writeCSVHeader(to: &out)
    for row in Self.rows { writer.writeCSV(row, to: &out) }
    let lines = out.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(Self.fields)
    #expect(lines.count == Self.rows.count + 1 && Set(lines[0]).count == lines[0].count)
    for (row, fields) in zip(Self.rows, lines.dropFirst()) {
      #expect(fields.count == lines[0].count)
      let csv = Dictionary(uniqueKeysWithValues: zip(lines[0], fields))
      var object = ByteWriter()
      writer.writeJSON(row, to: &object)
      let text = object.text
      #expect(text.hasSuffix("}\n") && text.utf8.filter { $0 < 0x20 }.count == 1)
      let json = Document(
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]))
      #expect(json.number("conn") == Double(row.info.serial) && csv["conn"] == "\(row.info.serial)")
      #expect(json.text("client") == "\(row.info.peer.address) \(row.info.peer.port)")
      #expect(csv["client.ip"] == "\(row.info.client.address)" && csv["client.port"] == "\(row.info.client.port)")
      #expect(json.text("end") == row.reason.name && csv["end"] == row.reason.name)
      #expect(
        json.text("time") == csv["time"] && json.text("sni") == (row.serverName) && csv["sni"] == row.serverName ?? "")
      #expect(json.flag("saw_syn") == row.sawSyn && csv["saw_syn"] == "\(row.sawSyn)")
      // Every metric is either in both formats or in neither.
      for name in lines[0].dropFirst(13) {
        let value = json.number(name), cell = csv[name] ?? "?"
        #expect(cell.isEmpty == (value == nil), "\(name)")
        // Integers in JSON are limited to 2^63 - 1, the limit of Elasticsearch.
        if let value { #expect(value == min(Double(cell) ?? -1, 0x1p63), "\(name)") }
      }
    }
    #expect(lines[4][7] == #"a,"b"\\\x0a\x1b[2J"#)
    // Values of the first two rows, written by hand.
    let (first, second) = (
      Dictionary(uniqueKeysWithValues: zip(lines[0], lines[1])),
      Dictionary(uniqueKeysWithValues: zip(lines[0], lines[2]))
    )
    #expect(first["time"] == "1970-01-01T00:00:01.000000Z" && first["client.ip"] == "10.0.0.7")
    #expect(first["c2s.bytes"] == "10234" && first["s2c.bytes"] == "98765" && first["bytes"] == "108999")
    #expect(second["messages"] == "51" && second["lost"] == "3" && second["retries"] == "4")
    #expect(second["retransmissions"] == "17" && second["rst_by"] == "s2c")
  }

  // MARK: Order

  @Test(arguments: ConnectionOrder.allCases) func everyOrderIsTotal(_ order: ConnectionOrder) {
    let rows = Self.rows
    for a in rows {
      #expect(!order.areInOrder(a, a, profiles: Self.profiles))
      for b in rows where a.info.serial != b.info.serial {
        let isFirst = order.areInOrder(a, b, profiles: Self.profiles)
        #expect(isFirst != order.areInOrder(b, a, profiles: Self.profiles))
        for c in rows where isFirst && order.areInOrder(b, c, profiles: Self.profiles) {
          #expect(order.areInOrder(a, c, profiles: Self.profiles))
        }
      }
    }
  }

  @Test(
    arguments: [
      (.conn, [1, 2, 3, 5, 6, .max]), (.bytes, [.max, 1, 2, 3, 5, 6]), (.lost, [2, 1, 6, .max, 3, 5]),
      (.retransmissions, [2, 1, 3, 5, 6, .max]), (.client, [1, 2, 3, 5, .max, 6]), (.gaps, [.max, 1, 2, 3, 5, 6]),
      // fin, reset by the client, reset by the server, timeout.
      (.end, [1, 6, .max, 5, 2, 3]), (.handshake, [.max, 1, 2, 3, 5, 6]),
    ] as [(ConnectionOrder, [UInt32])])
  func orders(_ order: ConnectionOrder, _ serials: [UInt32]) {
    let sorted = Self.rows.sorted { order.areInOrder($0, $1, profiles: Self.profiles) }
    #expect(sorted.map(\.info.serial) == serials)
  }

  // MARK: Totals

  @Test func totals() {
    var totals = ConnectionTotals()
    #expect(totals.text(shown: 0, all: 0, width: nil) == "0 connections")
    for row in Self.rows { totals.add(row) }
    #expect(
      totals.text(shown: 6, all: 6, width: nil)
        == "6 connections to 192.0.2.9:8080: 3 fin, 2 rst (1 by the client, 1 by the server), 1 timeout")
    #expect(totals.text(shown: 4, all: 1_000, width: nil).hasPrefix("6 connections of 1,000 to 192.0.2.9:8080: "))
    #expect(totals.text(shown: 4, all: 6, width: nil).hasSuffix("1 timeout; 4 shown"))
    totals.add(Self.row(9) { $0.info.server.port = 1 })
    #expect(totals.text(shown: 7, all: 7, width: nil).hasPrefix("7 connections: 4 fin"))
    let lines = totals.text(shown: 7, all: 7, width: 30).split(separator: "\n")
    #expect(lines.count > 1 && lines.allSatisfy { cells(String($0)) <= 30 })
  }
}
