//! tokio and hyper on one thread: HTTP/1.1, or HTTP/2 with prior knowledge.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rival_reply::{Args, BODY};
use std::{convert::Infallible, io};
use tokio::net::TcpListener;

async fn answer(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(BODY)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(rival_reply::CONTENT_TYPE));
    Ok(response)
}

fn main() -> io::Result<()> {
    let args = Args::of_process(&["h1", "h2"]);
    let h2 = args.mode == "h2";
    tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(async {
        let listener = TcpListener::bind(args.address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let io = TokioIo::new(stream);
            // No date, as nobody else sends one. How a connection ends is the client's affair.
            if h2 {
                let mut builder = http2::Builder::new(TokioExecutor::new());
                builder.auto_date_header(false);
                let connection = builder.serve_connection(io, service_fn(answer));
                tokio::spawn(async { drop(connection.await) });
            } else {
                let mut builder = http1::Builder::new();
                builder.auto_date_header(false);
                let connection = builder.serve_connection(io, service_fn(answer));
                tokio::spawn(async { drop(connection.await) });
            }
        }
    })
}
