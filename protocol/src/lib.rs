//! Sans-I/O protocols of the API server: HTTP/1.1, HTTP/2 with HPACK, and what Kubernetes reads from a request
//! (RequestInfo, query options, selectors, media types). Fed bytes split anywhere, it never does I/O.
#![forbid(unsafe_code)]

pub mod exchange;
pub mod h1;
pub mod h2;
pub mod head;
pub mod hpack;
pub mod limits;
pub mod media_type;
pub mod path;
pub mod query;
pub mod request_info;
pub mod selector;
pub mod spdy;
pub mod websocket;
