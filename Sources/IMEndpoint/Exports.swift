/// The core, which an app sees through this library.
@_exported public import IMEndpointCore
