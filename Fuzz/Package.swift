// swift-tools-version: 6.1
import PackageDescription

// Built by Scripts/fuzz, which hands the sanitizers' flags to every module: coverage is wanted of the rooms themselves.
let package = Package(
  name: "imdump-fuzz",
  dependencies: [.package(name: "imdump", path: "..")],
  targets: [
    .executableTarget(
      name: "imdump-fuzz",
      dependencies: [.product(name: "rooms", package: "imdump")],
      swiftSettings: [.enableExperimentalFeature("Lifetimes")])
  ]
)
