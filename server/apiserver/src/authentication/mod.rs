//! Who asks: client certificates, tokens, the anonymous user.

pub mod user;

pub use user::UserInfo;
