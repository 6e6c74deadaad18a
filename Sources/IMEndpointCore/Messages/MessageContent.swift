/// What a message says.
public enum MessageContent: Hashable, Sendable {
  /// Text.
  case text(String)
  /// An image.
  case image(Media)
  /// A sound.
  case audio(Media)
  /// A film.
  case video(Media)
  /// A file with its bytes.
  case file(Media)
  /// A file that could be had: its name and size.
  case fileOffer(name: String, byteCount: UInt64)
  /// A place.
  case location(Location)
  /// What an application makes of it.
  case custom([UInt8])
  /// A user is typing, or has stopped.
  case typing(Bool)
  /// A user's status, with words of their own.
  case status(UserStatus, String)

  /// The bytes of an image, a sound, a film or a file, and what is known about them.
  public struct Media: Hashable, Sendable {
    /// The bytes.
    public var bytes: [UInt8]
    /// A file's name.
    public var name: String?
    /// Such as `image/jpeg`.
    public var mediaType: String?
    /// Width and height in pixels.
    public var dimensions: Dimensions?
    /// Milliseconds.
    public var duration: UInt32?

    /// Media of its parts.
    public init(
      _ bytes: [UInt8], name: String? = nil, mediaType: String? = nil, dimensions: Dimensions? = nil,
      duration: UInt32? = nil
    ) {
      self.bytes = bytes
      self.name = name
      self.mediaType = mediaType
      self.dimensions = dimensions
      self.duration = duration
    }
  }

  /// Width and height in pixels.
  public struct Dimensions: Hashable, Sendable, BitwiseCopyable {
    /// Pixels from left to right.
    public var width: UInt32
    /// Pixels from top to bottom.
    public var height: UInt32

    /// Dimensions of their parts.
    public init(width: UInt32, height: UInt32) {
      self.width = width
      self.height = height
    }
  }

  /// A place on the earth, to 10⁻⁷ degrees: a centimetre.
  public struct Location: Hashable, Sendable {
    /// Ten-millionths of a degree north.
    public var latitude: Int32
    /// Ten-millionths of a degree east.
    public var longitude: Int32
    /// What the place is called.
    public var name: String?

    /// A place of its parts.
    public init(latitude: Int32, longitude: Int32, name: String? = nil) {
      self.latitude = latitude
      self.longitude = longitude
      self.name = name
    }
  }

  /// Whether a user is there.
  public enum UserStatus: UInt8, Sendable, BitwiseCopyable {
    /// Not there.
    case offline
    /// There.
    case online
    /// Away for a while.
    case away
    /// Not to be disturbed.
    case busy
  }

  /// The category that numbers such a message, unless it goes to a group.
  public var category: SequenceCategory {
    switch self {
    case .image, .audio, .video, .file: .media
    default: .normal
    }
  }
}

/// A message: what it says, and to whom.
public struct Message: Hashable, Sendable {
  /// What it says.
  public var content: MessageContent
  /// The user it goes to; `nil`: the server itself.
  public var recipient: String?
  /// The user it comes from; the server that forwards it writes it.
  public var sender: String?
  /// The group it goes to.
  public var group: String?

  /// A message of its parts.
  public init(_ content: MessageContent, to recipient: String? = nil, from sender: String? = nil, group: String? = nil)
  {
    self.content = content
    self.recipient = recipient
    self.sender = sender
    self.group = group
  }

  /// The category that numbers the message.
  public var category: SequenceCategory { group == nil ? content.category : .broadcast }
}
