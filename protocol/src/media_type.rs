//! Media types: what an `Accept` header asks for, and what a `Content-Type` says of a body.
//!
//! Two layers answer as the real server's do: its router looks at bare types first ("Available representations"),
//! then the negotiation of apiserver looks at parameters ("only the following media types are accepted").

mod accept;
mod content_type;

pub use accept::{Endpoint, NotAcceptable, error_media_type, negotiate, negotiate_discovery};
pub use content_type::{PatchType, UnsupportedMediaType, body_format, patch_type};

/// An encoding of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// `application/json`
    #[default]
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

impl Format {
    /// All, in the order of preference.
    pub const ALL: [Format; 3] = [Format::Json, Format::Yaml, Format::Protobuf];

    /// The media type, as answers carry it.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Yaml => "application/yaml",
            Format::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// The media type of a watch; `None` where the format has none.
    pub fn stream_content_type(self) -> Option<&'static str> {
        match self {
            Format::Json => Some("application/json"),
            Format::Yaml => None,
            Format::Protobuf => Some("application/vnd.kubernetes.protobuf;stream=watch"),
        }
    }

    fn subtype(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Yaml => "yaml",
            Format::Protobuf => "vnd.kubernetes.protobuf",
        }
    }
}

/// The version of `meta.k8s.io` a transformed answer is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetaVersion {
    /// `v1`
    V1,
    /// `v1beta1`
    V1Beta1,
}

impl MetaVersion {
    /// As `apiVersion` shows it.
    pub fn api_version(self) -> &'static str {
        match self {
            MetaVersion::V1 => "meta.k8s.io/v1",
            MetaVersion::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// What an answer is turned into (`as=` of `Accept`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Convert {
    /// `Table`
    Table(MetaVersion),
    /// `PartialObjectMetadata`
    PartialObjectMetadata(MetaVersion),
    /// `PartialObjectMetadataList`
    PartialObjectMetadataList(MetaVersion),
    /// `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`
    APIGroupDiscoveryList,
}

/// A negotiated answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MediaType {
    /// Encoding.
    pub format: Format,
    /// `stream=watch` was asked for.
    pub stream: bool,
    /// What it is turned into.
    pub convert: Option<Convert>,
    /// Indented: `pretty=1` of `Accept`, the `pretty` query parameter, or a person's client.
    pub pretty: bool,
    /// `profile=nopeer`: discovery of this server alone.
    pub no_peer: bool,
}

impl MediaType {
    /// The `Content-Type` of a watch, or the 406 for formats that cannot stream.
    pub fn stream_content_type(&self) -> Result<&'static str, NotAcceptable> {
        self.format.stream_content_type().ok_or_else(NotAcceptable::for_streams)
    }
}

#[cfg(test)]
#[path = "media_type_tests.rs"]
mod tests;
