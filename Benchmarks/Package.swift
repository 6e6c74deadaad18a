// swift-tools-version: 6.1
import PackageDescription

// Built by Scripts/bench-browse, which has the rooms built for tests: the program looks inside of them.
let package = Package(
  name: "imdump-bench",
  dependencies: [.package(name: "imdump", path: "..")],
  targets: [
    .executableTarget(
      name: "imdump-bench",
      dependencies: [.product(name: "rooms", package: "imdump")],
      swiftSettings: [.enableExperimentalFeature("Lifetimes")])
  ]
)
