import IMEngine
import IMMetrics
import IMOTLP
import IMOutput
import IMWire

/// The points of a period, by metric, until they are written.
struct OTLPPoints: ~Copyable {
  /// By `OTLPMetrics.Sum`; the gauge of open connections, and the round trips, come after.
  static let count = OTLPMetrics.Sum.allCases.count + 2
  static let active = count - 2, trips = count - 1
  /// Servers whose points one metric holds at most.
  static let maximumServers = 128

  // SAFETY: initialized by `init`, deinitialized by `deinit`, and never handed out; `place` is below `count`.
  private let buffers: UnsafeMutablePointer<ByteWriter>
  /// Servers that it has points of.
  var servers = 0

  init() {
    buffers = .allocate(capacity: Self.count)
    for place in 0..<Self.count { (buffers + place).initialize(to: ByteWriter(capacity: 1 << 10)) }
  }

  deinit {
    buffers.deinitialize(count: Self.count)
    buffers.deallocate()
  }

  /// Lets `body` write a point of the metric at `place`.
  func add(_ place: Int, _ body: (inout ByteWriter) -> Void) {
    if buffers[place].count > 0 { buffers[place].byte(UInt8(ascii: ",")) }
    body(&buffers[place])
  }

  /// Gives the points of the metric at `place`, unless there are none, and forgets them.
  func take(_ place: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    guard buffers[place].count > 0 else { return }
    buffers[place].withBytes(body)
    buffers[place].removeAll()
  }
}

extension OTLPWriter {
  /// Adds the points of one server and one period.
  func summary(
    _ index: UInt32, _ key: EndpointKey, _ metrics: borrowing PeriodMetrics, _ period: Period,
    _ points: inout OTLPPoints
  ) {
    let isDelta = options.temporality == .delta
    let start = isDelta ? period.start : self.metrics.begunAt ?? period.start
    let profile = ecs.profile(key.plan)
    // The attributes of all points of the server.
    scratch.removeAll()
    scratch.literal("{\"attributes\":[{\"key\":\"network.transport\",\"value\":{\"stringValue\":\"tcp\"}}")
    ecs.server(key.endpoint, attributes: &scratch)
    if let profile { scratch.attribute("network.protocol.name") { $0.text(profile.name.lowercased()) } }
    let base = scratch.withBytes { Array($0) }
    func begin(_ out: inout ByteWriter, _ attributes: UnsafeRawBufferPointer? = nil, hasStart: Bool = true) {
      base.withUnsafeBytes { out.raw($0) }
      if let attributes { out.raw(attributes) }
      out.byte(UInt8(ascii: "]"))
      times(hasStart ? start : nil, period.end, &out)
    }
    let series = OTLPMetrics.series
    var values = [UInt64](repeating: 0, count: series.count)
    for place in series.indices { values[place] = series[place].read(metrics) }
    if !isDelta {
      values = self.metrics.change(index) { server in
        if server.totals.isEmpty {
          server.totals = values
        } else {
          for i in values.indices { server.totals[i] &+= values[i] }
        }
        return server.totals
      }
    }
    for place in series.indices where values[place] > 0 {
      points.add(series[place].sum.rawValue) { out in
        begin(&out, series[place].attributes.bytes)
        out.literal(",\"asInt\":\"")
        out.number(min(values[place], UInt64(Int64.max)))
        out.literal("\"}")
      }
    }
    let active = metrics.active
    points.add(OTLPPoints.active) { out in
      begin(&out, hasStart: false)
      out.literal(",\"asInt\":\"")
      out.number(min(active, UInt64(Int64.max)))
      out.literal("\"}")
    }
    for way in 0...1 {
      let trips = metrics.roundTrips[way]
      let (sum, least, greatest) = (trips.sum, trips.minimum, trips.maximum)
      self.metrics.change(index) { server in
        // In place: the buckets are an array.
        if let least, let greatest {
          server.trips[way].total &+= sum
          server.trips[way].least = min(server.trips[way].least, least)
          server.trips[way].greatest = max(server.trips[way].greatest, greatest)
        }
        guard server.trips[way].histogram.count > 0 else { return }
        points.add(OTLPPoints.trips) { out in
          let direction: StaticString = way == 0 ? "receive" : "transmit"
          base.withUnsafeBytes { out.raw($0) }
          out.attribute("network.io.direction", direction)
          out.byte(UInt8(ascii: "]"))
          times(start, period.end, &out)
          histogram(server.trips[way], &out)
        }
        if isDelta {
          server.trips[way].histogram.removeAll()
          (server.trips[way].total, server.trips[way].least, server.trips[way].greatest) = (0, .max, .min)
        }
      }
    }
    points.servers += 1
    if points.servers >= OTLPPoints.maximumServers { write(&points) }
  }

  /// Adds the points of the capture's packets, as far as these were counted.
  func capture(
    _ figures: CaptureMetrics, since previous: CaptureMetrics?, from start: Timestamp, to end: Timestamp,
    _ points: inout OTLPPoints
  ) {
    let outcomes: [(StaticString, UInt64?)] = [
      ("received", CaptureMetrics.growth(figures.received, previous?.received)),
      ("dropped_by_kernel", CaptureMetrics.growth(figures.dropped, previous?.dropped)),
      ("dropped_by_interface", CaptureMetrics.growth(figures.interfaceDropped, previous?.interfaceDropped)),
      ("processed", CaptureMetrics.growth(figures.processed, previous?.processed)),
    ]
    let isDelta = options.temporality == .delta
    for (place, outcome) in outcomes.enumerated() {
      guard let count = outcome.1 else { continue }
      metrics.packets[place] &+= count
      let value = isDelta ? count : metrics.packets[place]
      guard value > 0 else { continue }
      points.add(OTLPMetrics.Sum.packets.rawValue) { out in
        out.literal("{\"attributes\":[{\"key\":\"imdump.capture.outcome\",\"value\":{\"stringValue\":\"")
        out.literal(outcome.0)
        out.literal("\"}}]")
        times(isDelta ? start : metrics.begunAt ?? start, end, &out)
        out.literal(",\"asInt\":\"")
        out.number(min(value, UInt64(Int64.max)))
        out.literal("\"}")
      }
    }
  }

  /// Writes the points of a period as metrics.
  func write(_ points: inout OTLPPoints) {
    points.servers = 0
    let temporality = options.temporality.number
    for sum in OTLPMetrics.Sum.allCases {
      points.take(sum.rawValue) { bytes in
        lines.write(.metrics) { out in
          out.text("{\"name\":\"\(sum.name.text)\",\"unit\":\"\(sum.name.unit)\",\"sum\":{\"aggregationTemporality\":")
          out.number(temporality)
          out.literal(",\"isMonotonic\":true,\"dataPoints\":[")
          out.raw(bytes)
          out.literal("]}}")
        }
      }
    }
    points.take(OTLPPoints.active) { bytes in
      lines.write(.metrics) { out in
        out.literal("{\"name\":\"imdump.connections.active\",\"unit\":\"{connection}\",\"gauge\":{\"dataPoints\":[")
        out.raw(bytes)
        out.literal("]}}")
      }
    }
    points.take(OTLPPoints.trips) { bytes in
      lines.write(.metrics) { out in
        out.literal(
          "{\"name\":\"imdump.rtt.duration\",\"unit\":\"s\",\"exponentialHistogram\":{\"aggregationTemporality\":")
        out.number(temporality)
        out.literal(",\"dataPoints\":[")
        out.raw(bytes)
        out.literal("]}}")
      }
    }
  }

  private func times(_ start: Timestamp?, _ end: Timestamp, _ out: inout ByteWriter) {
    if let start {
      out.literal(",\"startTimeUnixNano\":\"")
      out.nanoseconds(min(start, end))
      out.byte(UInt8(ascii: "\""))
    }
    out.literal(",\"timeUnixNano\":\"")
    out.nanoseconds(end)
    out.byte(UInt8(ascii: "\""))
  }

  /// What follows the times of a point of round trips.
  private func histogram(_ trips: borrowing OTLPMetrics.Trips, _ out: inout ByteWriter) {
    out.literal(",\"count\":\"")
    out.number(trips.histogram.count)
    out.literal("\",\"sum\":")
    out.seconds(microseconds: max(0, trips.total))
    if trips.least <= trips.greatest {
      out.literal(",\"min\":")
      out.seconds(microseconds: trips.least)
      out.literal(",\"max\":")
      out.seconds(microseconds: trips.greatest)
    }
    out.literal(",\"scale\":3,\"zeroCount\":\"")
    out.number(trips.histogram.zeroCount)
    out.literal("\",\"zeroThreshold\":0.000001")
    if let (offset, counts) = trips.histogram.buckets {
      out.literal(",\"positive\":{\"offset\":")
      out.number(Int64(offset))
      out.literal(",\"bucketCounts\":[")
      for (place, count) in counts.enumerated() {
        if place > 0 { out.byte(UInt8(ascii: ",")) }
        out.byte(UInt8(ascii: "\""))
        out.number(count)
        out.byte(UInt8(ascii: "\""))
      }
      out.literal("]}")
    }
    out.byte(UInt8(ascii: "}"))
  }
}
