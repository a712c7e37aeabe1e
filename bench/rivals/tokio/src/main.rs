//! tokio without an HTTP library: epoll, one thread, the same loop as the other reactors.

use rival_reply::{Args, REPLY, Requests};
use std::io;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut requests = Requests::default();
    let mut buffer = vec![0; 4096];
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        let complete = requests.take(&buffer[..length]).map_err(|_| io::ErrorKind::InvalidData)?;
        for _ in 0..complete {
            stream.write_all(REPLY).await?;
        }
    }
}

fn main() -> io::Result<()> {
    let args = Args::of_process(&["plain"]);
    tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(async {
        let listener = TcpListener::bind(args.address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            // How a connection ends is the client's affair.
            tokio::spawn(async { drop(serve(stream).await) });
        }
    })
}
