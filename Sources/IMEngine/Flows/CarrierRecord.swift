package import IMTLS
package import IMWire

/// What is kept of a connection whose protocol travels in a carrier. Plain data in a pool, by `Flow.carrier`.
struct CarrierRecord {
  /// The carriers that were seen.
  var carriers: CarrierSet = []
  /// The client and what it connected to, as a PROXY header names them; `nil` where none does.
  var client: Endpoint?, destination: Endpoint?
  /// Whether that client's own connection was TLS.
  var usesTLS = false
  /// Offsets in the streams of side 0 and side 1 behind what carriers put in front of them.
  var begin: InlineArray<2, UInt64> = [0, 0]
  /// What HTTP has said in front of it.
  var http = HTTPExchanges()
  /// The readers of WebSocket frames of side 0 and side 1; `nil` where a side is not known to speak them yet.
  var readers: InlineArray<2, Ref<WebSocketReader>?> = [nil, nil]
  /// The reader of TLS records; `nil` where there are none, or the run has no key log.
  var tls: Ref<TLSReader>?
  /// The side whose ClientHello comes next, of a connection that was decoded without TLS up to there; 255 for none.
  var upgradingSide: UInt8 = 255
  /// The gap regions of side 0 and side 1, for late segments; `nil` where there are none.
  var late: InlineArray<2, Ref<GapReplays>?> = [nil, nil]
  /// What was counted of WebSocket frames.
  var webSocket = WebSocketMetrics()
  /// The plan that the subprotocol names; 255 for none.
  var hint: UInt8 = 255
  /// The direction that pinged first, by its number; 255 before that.
  var beatingWay: UInt8 = 255
  /// The place of its pings' figures among those of heartbeats in the tracker; `.max` before the first.
  var beats: UInt32 = .max

  init() {}
}

/// What a connection's carriers said, for its report. An object, so that reports of TCP alone pay a pointer for it.
package final class CarrierReport: Sendable {
  /// What the client connected to, as a PROXY header names it; `nil` where none does.
  package let destination: Endpoint?
  /// Whether the client's own connection to the load balancer was TLS, as a PROXY header says.
  package let usesTLS: Bool
  /// What its WebSocket frames were; `nil` where it has none.
  package let webSocket: WebSocketMetrics?
  /// What its TLS handshake told, as far as it was read; `nil` without TLS or without a key log.
  package let tls: TLSFacts?
  /// Whether data of its TLS records were decrypted.
  package let isDecrypted: Bool
  /// Why most of the bytes of `unread` were not read, those before TLS began aside; of a connection none of which was decrypted, why its first record was not. `nil`
  /// where there are none.
  package let unreadReason: TLSUnread?
  /// TLS alerts that were read, client to server first.
  package let alerts: InlineArray<2, Int>
  /// Bytes of TLS records that were not read, by reason.
  package let unread: TLSUnreadBytes

  init(_ record: CarrierRecord) {
    destination = record.destination
    usesTLS = record.usesTLS
    webSocket = record.carriers.contains(.webSocket) ? record.webSocket : nil
    let connection = record.tls?.pointee.connection
    tls = connection?.facts
    isDecrypted = record.carriers.contains(.tls)
    let unread = record.tls?.pointee.unread ?? TLSUnreadBytes()
    self.unread = unread
    if isDecrypted || unread[.keyLate] > 0 {
      let most = TLSUnread.allCases.filter { $0 != .beforeTLS }.max { unread[$0] < unread[$1] }
      unreadReason = most.flatMap { unread[$0] > 0 ? $0 : nil }
    } else {
      unreadReason = record.tls?.pointee.unreadReason
    }
    let isSwapped = connection?.isSwapped == true
    alerts = [
      connection?.alertCount(direction: isSwapped ? 1 : 0) ?? 0,
      connection?.alertCount(direction: isSwapped ? 0 : 1) ?? 0,
    ]
  }
}

/// What a carrier tells at its place between the frames.
package struct CarrierEvent: Sendable, BitwiseCopyable {
  /// What was told.
  package enum What: Sendable, BitwiseCopyable {
    /// A PROXY header. `source` is the client and `destination` what it connected to, where the header names them;
    /// `isLocal` says that the proxy speaks for itself, as health checks do.
    case proxy(version: UInt8, isLocal: Bool, source: Endpoint?, destination: Endpoint?)
    /// The connection is one of WebSocket frames from here on; `isCompressed` says that messages may be compressed, and
    /// `isMidstream` that it was told by the frames, since its beginning is not in the capture.
    case webSocket(isCompressed: Bool, isMidstream: Bool)
    /// A close frame, and the reason that it gives.
    case webSocketClose(status: UInt16?)
  }

  /// When the packet came that had its last byte.
  package var timestamp: Timestamp
  /// The direction of the stream that it stands in.
  package var direction: Direction
  /// Where in that stream it begins, and its length in bytes.
  package var streamOffset: UInt64, byteCount: UInt64
  /// What it is.
  package var what: What
}
