import CPcap
import Glibc
import IMDescriptors

/// An activated libpcap handle on an interface, closed in `deinit`.
struct LiveHandle: ~Copyable {
  /// The handle.
  let pointer: OpaquePointer
  /// The stored link type of its packets.
  let linkType: UInt16
  /// Whether its times have nanoseconds.
  let hasNanoseconds: Bool
  /// What can be waited on with poll(2).
  let descriptor: Int32
  /// What libpcap had to say although it opened the interface.
  let warning: String?

  private init(pointer: OpaquePointer, warning: String?) {
    self.pointer = pointer
    self.warning = warning
    linkType = LinkType.normalized(LinkType.stored(fromLibrary: pcap_datalink(pointer)))
    hasNanoseconds = pcap_get_tstamp_precision(pointer) == PCAP_TSTAMP_PRECISION_NANO
    descriptor = pcap_get_selectable_fd(pointer)
  }

  deinit { pcap_close(pointer) }

  /// Opens `device`.  Where only the promiscuous mode is refused, goes on without it and says so in `warning`.
  static func open(_ device: String, _ options: LiveOptions) throws(CaptureError) -> LiveHandle {
    // The pseudo-device `any` has no promiscuous mode; asking would only bring a warning.
    let isPromiscuous = options.isPromiscuous && device != "any"
    do throws(CaptureError) {
      return try activate(device, options, isPromiscuous: isPromiscuous)
    } catch {
      guard isPromiscuous, error.code == .noPermission else { throw error }
      return try activate(
        device, options, isPromiscuous: false, note: "\(device): not in promiscuous mode: no permission")
    }
  }

  private static func activate(
    _ device: String, _ options: LiveOptions, isPromiscuous: Bool, note: String? = nil
  ) throws(CaptureError) -> LiveHandle {
    var message = [CChar](repeating: 0, count: Int(PCAP_ERRBUF_SIZE))
    guard let pointer = pcap_create(device, &message) else { throw .live(.captureFailed, device, text(message)) }
    pcap_set_snaplen(pointer, options.snapLength)
    pcap_set_promisc(pointer, isPromiscuous ? 1 : 0)
    // The kernel gives a block of packets when it is full or this many milliseconds old.
    pcap_set_timeout(pointer, LiveCapture.blockTime)
    pcap_set_buffer_size(pointer, options.bufferSize)
    // Refused where the kernel has no nanoseconds; then the handle says microseconds.
    pcap_set_tstamp_precision(pointer, PCAP_TSTAMP_PRECISION_NANO)
    // No packet before the filter stands: the kernel would count it as received, and libpcap throw it away.
    pcap_set_protocol_linux(pointer, IMDUMP_PROTOCOL_NONE)
    let status = pcap_activate(pointer)
    guard status >= 0 else {
      let reason = String(cString: pcap_geterr(pointer))
      pcap_close(pointer)
      throw .activation(device, status, reason)
    }
    // The cooked header that names the interface. It matters for filters as well: libpcap runs a new one itself on the
    // first blocks of its ring, where the other cooked header has no interface to find.
    if device == "any" { pcap_set_datalink(pointer, DLT_LINUX_SLL2) }
    var warning = note
    if status > 0 {
      let reason = String(cString: pcap_geterr(pointer))
      warning = "\(device): \(reason.isEmpty ? String(cString: pcap_statustostr(status)) : reason)"
    }
    guard pcap_setnonblock(pointer, 1, &message) == 0 else {
      pcap_close(pointer)
      throw .live(.captureFailed, device, text(message))
    }
    return LiveHandle(pointer: pointer, warning: warning)
  }

  /// Compiles `filter` and gives it to the kernel.
  func setFilter(_ filter: String, device: String) throws(CaptureError) {
    var program = bpf_program()
    guard compile(filter, &program) else {
      throw .filter("capture on \(device)", filter, String(cString: pcap_geterr(pointer)))
    }
    defer { pcap_freecode(&program) }
    try attach(&program, device)
  }

  /// The same for the device `any`, without what leaves through the loopback: it comes in there as well. libpcap throws
  /// it away, but only when the kernel has counted it, and given it room.
  func setFilterForAny(_ filter: String?) throws(CaptureError) {
    if let filter { try setFilter(filter, device: "any") }
    let loopback = if_nametoindex("lo")
    guard pcap_datalink(pointer) == DLT_LINUX_SLL2, loopback != 0 else { return }
    let once = "not (ifindex \(loopback) and outbound)"
    var program = bpf_program()
    // A libpcap older than `ifindex` leaves it as it is.
    guard compile(filter.map { "\(once) and (\($0))" } ?? once, &program) else { return }
    defer { pcap_freecode(&program) }
    try attach(&program, "any")
  }

  /// Lets packets in; none was accepted before.
  func begin(device: String) throws(CaptureError) {
    let status = imdump_accept_everything(descriptor)
    // An interface that is down is no error: it may come up.
    guard status == 0 || status == -ENETDOWN else { throw .live(.captureFailed, device, systemText(-status)) }
  }

  private func compile(_ filter: String, _ program: inout bpf_program) -> Bool {
    pcap_compile(pointer, &program, filter, 1, UInt32.max) == 0
  }

  private func attach(_ program: inout bpf_program, _ device: String) throws(CaptureError) {
    guard pcap_setfilter(pointer, &program) == 0 else {
      throw .live(.captureFailed, device, String(cString: pcap_geterr(pointer)))
    }
  }
}

extension CaptureError {
  /// An error of a live capture on `device`.
  static func live(_ code: Code, _ device: String, _ message: String) -> CaptureError {
    CaptureError(code, "capture on \(device)", message)
  }

  /// What `pcap_activate` answered.
  static func activation(_ device: String, _ status: Int32, _ reason: String) -> CaptureError {
    switch status {
    case PCAP_ERROR_PERM_DENIED, PCAP_ERROR_PROMISC_PERM_DENIED:
      return live(
        .noPermission, device, "permission denied; run as root, or: setcap cap_net_raw+ep \(ownProgram())")
    case PCAP_ERROR_NO_SUCH_DEVICE: return live(.noDevice, device, "no such device")
    case PCAP_ERROR_IFACE_NOT_UP: return live(.noDevice, device, "the interface is not up")
    default:
      return live(.captureFailed, device, reason.isEmpty ? String(cString: pcap_statustostr(status)) : reason)
    }
  }
}

/// The path of the running program, for advice.
private func ownProgram() -> String {
  var buffer = [UInt8](repeating: 0, count: 4_096)
  let count = readlink("/proc/self/exe", &buffer, buffer.count)
  return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : "imdump"
}
