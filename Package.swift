// swift-tools-version: 6.1
import PackageDescription

/// One list for every target: Swift 6 mode is the tools version's default.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableExperimentalFeature("Lifetimes"),
]

/// Every load from captured bytes has its bounds check in a debug build, as the tests are, and with `IMDUMP_CHECKED=1` in an
/// optimised one, as the fuzz targets are.
let checked: [SwiftSetting] =
  Context.environment["IMDUMP_CHECKED"] == "1"
  ? [.define("CHECKED")] : [.define("CHECKED", .when(configuration: .debug))]

/// `IMDUMP_HARDWIRED=1` builds an engine that decodes `tjp` without its profile, for Scripts/bench-plan.
let hardWired: [SwiftSetting] =
  Context.environment["IMDUMP_HARDWIRED"] == "1" ? [.define("HARDWIRED")] : []

/// Rooms that work for a person who looks, and not for each packet, are built for size.
let small: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// Rooms in which the tests spend much of their time are optimised in a debug build as well, with its assertions; not with
/// `IMDUMP_DEBUG=1`, for a debugger.
let quick: [SwiftSetting] =
  Context.environment["IMDUMP_DEBUG"] == "1"
  ? [] : [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]

func room(
  _ name: String, _ rooms: [Target.Dependency], resources: [Resource]? = nil, isCold: Bool = false,
  isQuick: Bool = false
) -> Target {
  .target(
    name: name, dependencies: rooms, resources: resources,
    swiftSettings: settings + checked + hardWired + (isCold ? small : []) + (isQuick ? quick : []))
}

func tests(_ name: String, _ rooms: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(
    name: name, dependencies: ["IMTestSupport"] + rooms, exclude: exclude, swiftSettings: settings + checked)
}

/// `IMDUMP_ROOMS=1` offers the rooms to the nested packages `Fuzz` and `Benchmarks`.
let offered: [Product] =
  Context.environment["IMDUMP_ROOMS"] == "1"
  ? [
    .library(
      name: "rooms",
      targets: [
        "IMWire", "IMTLS", "IMDescriptors", "IMCapture", "IMContent", "IMFields", "IMEngine", "IMYAML", "IMProfile",
        "IMInference", "IMRedaction", "IMFilter", "IMOwners", "IMTerminal", "IMBrowser", "IMStore", "IMAlerts",
        "IMOutput", "IMDocuments", "IMShip", "IMSystem", "IMRun", "IMExport", "IMFiles", "IMIndexing", "IMBrowse",
        "IMDelivery", "IMWeb", "IMPipeline", "IMCommandLine", "IMEndpointCore", "IMEndpoint",
      ])
  ] : []

let package = Package(
  name: "imdump",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "imdump", targets: ["imdump"]),
    .executable(name: "impeer", targets: ["impeer"]),
    .library(name: "IMEndpointCore", targets: ["IMEndpointCore"]),
    .library(name: "IMEndpoint", targets: ["IMEndpoint"]),
    .library(name: "IMMailbox", targets: ["IMMailbox"]),
  ] + offered,
  targets: [
    .systemLibrary(
      name: "CPcap", pkgConfig: "libpcap",
      providers: [.apt(["libpcap-dev"]), .brew(["libpcap"])]),
    .systemLibrary(
      name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .systemLibrary(
      name: "CDeflate", pkgConfig: "libdeflate",
      providers: [.apt(["libdeflate-dev"]), .brew(["libdeflate"])]),
    .systemLibrary(
      name: "CYAML", pkgConfig: "yaml-0.1",
      providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),

    .systemLibrary(name: "CEpoll"),
    .systemLibrary(
      name: "CSSL", pkgConfig: "libssl",
      providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .systemLibrary(
      name: "CCrypto", pkgConfig: "libcrypto",
      providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),

    // No unsafe flags: a product that other packages depend on by version reaches it.
    room("IMWire", []),
    room("IMTLS", ["IMWire", "CCrypto"], isQuick: true),
    room("IMTerminal", []),
    .target(name: "CMachine"),
    .target(name: "CSandbox"),
    room("IMDescriptors", ["CSandbox"]),
    room("IMCapture", ["IMDescriptors", "IMWire", "CPcap", "CZlib"]),
    room("IMContent", [], isQuick: true),
    room("IMFields", ["IMWire", "IMContent"]),
    room("IMEngine", ["IMWire", "IMContent", "IMFields", "IMTLS", "CDeflate", "CMachine", "CZlib"]),
    room("IMYAML", ["CYAML"], isCold: true, isQuick: true),
    room(
      "IMProfile", ["IMEngine", "IMContent", "IMFields", "IMYAML", "IMWire"],
      resources: [.embedInCode("Profiles"), .embedInCode("Export/dissector.lua")], isCold: true, isQuick: true),
    room("IMInference", ["IMEngine", "IMContent", "IMWire"], isCold: true, isQuick: true),
    room("IMRedaction", ["IMEngine", "IMFields", "IMContent", "IMWire", "CMachine"]),
    room("IMMetrics", ["IMEngine", "IMTLS", "IMWire"]),
    room("IMFilter", ["IMWire"]),
    room("IMOwners", ["IMWire"], isCold: true),
    room("IMAlerts", ["IMMetrics", "IMEngine", "IMYAML", "IMWire"], isCold: true),
    room(
      "IMOutput", ["IMAlerts", "IMMetrics", "IMEngine", "IMFields", "IMFilter", "IMOwners", "IMTerminal", "IMWire"]),
    room("IMOTLP", ["IMOutput", "IMWire"]),
    room(
      "IMDocuments",
      [
        "IMOTLP", "IMOutput", "IMAlerts", "IMMetrics", "IMEngine", "IMTLS", "IMFields", "IMOwners", "IMYAML", "IMWire",
        "CMachine",
      ]),
    room(
      "IMStore", ["IMOutput", "IMMetrics", "IMEngine", "IMFields", "IMWire", "CSQLite"]),
    room(
      "IMShip", ["IMDocuments", "IMOTLP", "IMWire", "CDeflate"], resources: [.embedInCode("kibana.ndjson.gz")],
      isCold: true),
    room("IMReport", ["IMOutput", "IMMetrics", "IMEngine", "IMTerminal", "IMWire"], isCold: true),
    room(
      "IMBrowser", ["IMTerminal", "IMStore", "IMOutput", "IMEngine", "IMFilter", "IMWire"], isCold: true),
    room("IMSystem", ["IMOutput", "IMTerminal", "IMDescriptors", "IMYAML", "IMWire", "CSandbox"], isCold: true),
    room(
      "IMRun",
      [
        "IMSystem", "IMReport", "IMStore", "IMOutput", "IMMetrics", "IMFilter", "IMOwners", "IMProfile", "IMEngine",
        "IMTLS", "IMFields", "IMCapture", "IMDescriptors", "IMTerminal", "IMYAML", "IMWire", "CSandbox",
      ], isCold: true),
    room(
      "IMFiles",
      [
        "IMRun", "IMDelivery", "IMSystem", "IMDocuments", "IMOTLP", "IMOutput", "IMAlerts", "IMMetrics", "IMOwners",
        "IMEngine", "IMShip", "IMCapture", "IMDescriptors", "IMWire", "CSandbox",
      ], isCold: true),
    room(
      "IMIndexing",
      [
        "IMFiles", "IMRun", "IMSystem", "IMStore", "IMOutput", "IMMetrics", "IMEngine", "IMFields", "IMCapture",
        "IMDescriptors", "IMTerminal", "IMWire", "CSandbox",
      ], isCold: true),
    room(
      "IMExport",
      [
        "IMRun", "IMSystem", "IMRedaction", "IMOutput", "IMFilter", "IMEngine", "IMCapture", "IMDescriptors", "IMWire",
      ], isCold: true),
    room(
      "IMBrowse",
      [
        "IMExport", "IMIndexing", "IMRun", "IMSystem", "IMBrowser", "IMReport", "IMStore", "IMOutput", "IMProfile",
        "IMEngine", "IMFields", "IMCapture", "IMDescriptors", "IMTerminal", "IMYAML", "IMWire", "CSandbox",
      ], isCold: true),
    room(
      "IMDelivery",
      [
        "IMSystem", "IMShip", "IMDocuments", "IMOTLP", "IMOutput", "IMAlerts", "IMEngine", "IMProfile", "IMDescriptors",
        "IMTerminal", "IMYAML", "IMWire", "CSandbox",
      ], isCold: true),
    room("IMWeb", ["IMSystem", "IMOutput", "IMDescriptors", "CSandbox"], isCold: true),
    room(
      "IMPipeline",
      [
        "IMRun", "IMExport", "IMFiles", "IMIndexing", "IMSystem", "IMDelivery", "IMWeb", "IMCapture", "IMDescriptors",
        "IMEngine", "IMFields", "IMProfile", "IMInference", "IMMetrics", "IMFilter", "IMAlerts", "IMOutput", "IMOTLP",
        "IMDocuments", "IMStore", "IMReport", "IMTerminal", "IMOwners", "IMYAML", "IMWire", "CSandbox",
      ], isCold: true),
    room("IMEndpointCore", ["IMWire"]),
    room("IMEndpoint", ["IMEndpointCore", "IMWire", "CDeflate", "CEpoll", "CSSL"]),
    room("IMMailbox", ["IMEndpointCore", "CSQLite"]),
    room("IMCommandLine", ["IMWire"], isCold: true),
    .executableTarget(
      name: "imdump",
      dependencies: [
        "IMPipeline", "IMRun", "IMExport", "IMFiles", "IMIndexing", "IMBrowse", "IMDelivery", "IMSystem", "IMShip",
        "IMBrowser", "IMReport", "IMOTLP", "IMDocuments", "IMOutput", "IMMetrics", "IMEngine", "IMDescriptors",
        "IMWire", "IMCommandLine",
      ],
      swiftSettings: settings + checked + small),
    .executableTarget(
      name: "impeer",
      dependencies: [
        "IMEndpointCore", "IMEndpoint", "IMMailbox", "IMDelivery", "IMSystem", "IMDocuments", "IMOutput", "IMAlerts",
        "IMMetrics", "IMYAML", "IMWire", "IMCommandLine",
      ],
      swiftSettings: settings + checked),
    // What an app sees of IMEndpoint: without the settings of this package, as an app has it.
    .executableTarget(name: "endpoint-example", dependencies: ["IMEndpoint"], path: "Samples/endpoint"),

    .target(
      name: "IMTestSupport", dependencies: ["IMWire"], path: "Tests/IMTestSupport",
      swiftSettings: settings + checked + quick),
    .target(
      name: "IMEngineTestSupport", dependencies: ["IMEngine", "IMTestSupport", "IMWire"],
      path: "Tests/IMEngineTestSupport", swiftSettings: settings + checked),
    tests("IMWireTests", ["IMWire"]),
    tests("IMTLSTests", ["IMTLS", "IMWire", "CSSL"]),
    tests("IMTerminalTests", ["IMTerminal"]),
    tests("IMBrowserTests", ["IMBrowser", "IMTerminal", "IMStore", "IMOutput", "IMEngine", "IMWire"]),
    tests("IMCommandLineTests", ["IMCommandLine"]),
    tests("IMCaptureTests", ["IMCapture", "IMDescriptors", "IMWire"]),
    tests("IMContentTests", ["IMContent"]),
    tests("IMFieldsTests", ["IMFields", "IMProfile", "IMEngine", "IMYAML", "IMWire"]),
    tests("IMEngineTests", ["IMEngine", "IMProfile", "IMWire"]),
    tests("IMYAMLTests", ["IMYAML"]),
    tests("IMProfileTests", ["IMProfile", "IMEndpointCore", "IMEndpoint", "IMEngine", "IMYAML", "IMWire"]),
    tests("IMInferenceTests", ["IMInference", "IMProfile", "IMEngine"]),
    tests("IMRedactionTests", ["IMRedaction", "IMProfile", "IMEngine", "IMFields", "IMWire"]),
    tests("IMFilterTests", ["IMFilter", "IMWire"]),
    tests("IMOwnersTests", ["IMOwners", "IMWire"]),
    tests("IMMetricsTests", ["IMMetrics", "IMEngineTestSupport", "IMEngine", "IMWire"]),
    tests("IMAlertsTests", ["IMAlerts", "IMEngineTestSupport", "IMMetrics", "IMEngine", "IMYAML", "IMWire"]),
    tests(
      "IMOutputTests",
      [
        "IMOutput", "IMEngineTestSupport", "IMAlerts", "IMMetrics", "IMEngine", "IMFilter", "IMTerminal", "IMWire",
      ]),
    tests(
      "IMDocumentsTests",
      ["IMDocuments", "IMOTLP", "IMEngineTestSupport", "IMOutput", "IMMetrics", "IMEngine", "IMYAML", "IMWire"]),
    tests(
      "IMPipelineTests",
      [
        "IMPipeline", "IMRun", "IMFiles", "IMIndexing", "IMBrowse", "IMSystem", "IMDelivery", "IMWeb", "IMBrowser",
        "IMCapture", "IMDescriptors", "IMEngine", "IMMetrics", "IMDocuments", "IMOutput", "IMProfile", "IMReport",
        "IMStore", "IMTerminal", "IMWire",
      ]),
    tests("IMStoreTests", ["IMStore", "IMEngineTestSupport", "IMOutput", "IMEngine", "IMWire"]),
    tests("IMShipTests", ["IMShip", "IMDocuments", "IMOTLP", "IMWire"]),
    tests("IMReportTests", ["IMReport", "IMEngineTestSupport", "IMEngine", "IMMetrics", "IMOutput", "IMWire"]),
    tests("IMEndpointTests", ["IMEndpoint", "IMEndpointCore", "IMMailbox", "IMWire", "CDeflate"]),
    tests(
      "imdumpTests",
      [
        "imdump", "IMCapture", "IMDescriptors", "IMCommandLine", "IMDocuments", "IMEngine", "IMMetrics", "IMOutput",
        "IMOwners", "IMAlerts", "IMProfile", "IMStore", "IMTerminal", "IMWire",
      ],
      exclude: ["Golden"]),
    tests("impeerTests", ["impeer", "endpoint-example", "IMCommandLine", "IMDocuments"]),
  ]
)
