import CPcap
import Glibc

/// Looks now and then whether an interface is still there and up.
struct InterfaceWatch: ~Copyable {
  /// What a look found.
  enum Finding {
    case unchanged
    case wentDown
    case cameUp
    case gone
  }

  private let device: String
  private let socket: Int32
  private var index: UInt32
  /// The kind of hardware, which gives packets their link type.
  private let hardware: Int32
  private var isUp = true

  /// A watch on `device`; one that never finds anything where it is no network interface (`any`, `nflog`).
  init(device: String) {
    self.device = device
    index = if_nametoindex(device)
    socket = index == 0 ? -1 : Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    hardware = index == 0 ? -1 : imdump_hardware(socket, device)
  }

  deinit {
    if socket >= 0 { close(socket) }
  }

  /// Whether the device is a loopback.
  var isLoopback: Bool {
    let flags = flags
    return socket >= 0 && flags >= 0 && flags & Int32(IFF_LOOPBACK) != 0
  }

  private var flags: Int32 { imdump_interface_flags(socket, device) }

  /// The number of an interface that has the name and the kind of the one that is gone; nil while there is none.
  var successor: UInt32? {
    let found = imdump_interface_index(socket, device)
    return found > 0 && imdump_hardware(socket, device) == hardware ? UInt32(found) : nil
  }

  /// From now on watches the interface `index`, which counts as up.
  mutating func turn(to index: UInt32) {
    self.index = index
    isUp = true
  }

  /// Compares with the look before.
  mutating func look() -> Finding {
    guard socket >= 0 else { return .unchanged }
    let flags = flags
    if flags == -ENODEV || flags == -ENXIO { return .gone }
    // Deleted and made again under the same name: not the interface this capture is bound to.
    guard flags >= 0, imdump_interface_index(socket, device) == index else { return flags >= 0 ? .gone : .unchanged }
    let wasUp = isUp
    isUp = flags & Int32(IFF_UP) != 0
    return isUp == wasUp ? .unchanged : isUp ? .cameUp : .wentDown
  }
}
