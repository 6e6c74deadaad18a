import Glibc
import IMDescriptors
import IMShip
import IMSystem

/// Where the keys and passwords of `imdump ship` come from: files, the environment or systemd's credentials. A command line
/// can be read by every user of the host.
enum ShipSecrets {
  /// The access that `options` ask for, with its secrets.
  static func access(_ options: ShipOptions) throws(UsageError) -> CurlRequest.Access {
    var access = options.access
    try checkAddress(options.address, "--to")
    if let address = options.dashboards { try checkAddress(address, "--dashboards") }
    access.apiKey = try secret(options.apiKeyFile, "IMDUMP_SHIP_API_KEY", "imdump-ship-api-key")
    let password = try secret(options.passwordFile, "IMDUMP_SHIP_PASSWORD", "imdump-ship-password")
    let user = options.user ?? getenv("IMDUMP_SHIP_USER").map { String(cString: $0) }
    if let user, access.apiKey == nil {
      guard let password else {
        throw UsageError(
          message: "--user \(user): the password is missing: --password-file, IMDUMP_SHIP_PASSWORD or the credential "
            + "imdump-ship-password")
      }
      access.user = "\(user):\(password)"
    } else if user == nil, password != nil, access.apiKey == nil {
      throw UsageError(message: "a password without a user: give --user or IMDUMP_SHIP_USER")
    }
    if let path = options.headersFile { access.headers = try headers(path) }
    return access
  }

  /// The headers in a file, one a line, which only its user may read.
  private static func headers(_ path: String) throws(UsageError) -> [String] {
    var info = stat()
    guard stat(path, &info) == 0 else { throw UsageError(message: "\(path): \(systemText(errno))") }
    guard info.st_mode & 0o077 == 0 else {
      throw UsageError(message: "\(path): other users of this host can read it: chmod 600 \(path)")
    }
    guard let bytes = ShipStore.contents(path, limit: 65_536) else {
      throw UsageError(message: "\(path): cannot be read, or is larger than 64 KiB")
    }
    var headers: [String] = []
    for line in bytes.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
      let text = String(decoding: line, as: UTF8.self)
      guard let colon = text.firstIndex(of: ":"), colon > text.startIndex,
        text[..<colon].utf8.allSatisfy({ $0 > 32 && $0 < 127 }), text.utf8.allSatisfy({ $0 >= 32 && $0 != 127 })
      else { throw UsageError(message: "\(path): expected headers, one per line: Name: value") }
      headers.append(text)
    }
    return headers
  }

  /// Refuses what is no address, and one with a password in it.
  private static func checkAddress(_ address: String, _ option: String) throws(UsageError) {
    let schemes = ["http://", "https://"]
    guard let scheme = schemes.first(where: { address.hasPrefix($0) }), address.utf8.count <= 2_048,
      address.utf8.allSatisfy({ $0 > 32 && $0 < 127 }), address.utf8.count > scheme.utf8.count
    else {
      throw UsageError(message: "\(option): expected an address that begins with http:// or https://")
    }
    let host = address.dropFirst(scheme.utf8.count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !host.contains("@") else {
      throw UsageError(
        message: "\(option): every user of this host can read a password in an address; give --user and --password-file"
      )
    }
  }

  private static func secret(_ file: String?, _ variable: String, _ credential: String) throws(UsageError) -> String? {
    if let file { return try read(file) }
    if let value = getenv(variable) { return String(cString: value) }
    guard let folder = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }) else { return nil }
    let path = "\(folder)/\(credential)"
    return Glibc.access(path, F_OK) == 0 ? try read(path) : nil
  }

  /// The first line of a file.
  private static func read(_ path: String) throws(UsageError) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw UsageError(message: "\(path): \(systemText(errno))") }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw UsageError(message: "\(path): \(systemText(errno))") }
    let line = bytes[..<count].prefix { $0 != 10 && $0 != 13 }
    guard !line.isEmpty else {
      throw UsageError(message: "\(path): expected a key or password on the first line, which is empty")
    }
    return String(decoding: line, as: UTF8.self)
  }
}
