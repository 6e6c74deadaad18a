// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "chat", platforms: [.macOS(.v15)],
  dependencies: [.package(url: "https://git.example.org/imdump.git", from: "1.0.0")],
  targets: [
    .executableTarget(name: "chat", dependencies: [.product(name: "IMEndpoint", package: "imdump")])
  ])
