//! Cores, rings, sockets, TLS and timers. Bytes only; all unsafe of the workspace lives here.
