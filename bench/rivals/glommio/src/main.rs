//! glommio, as it comes. It sets its rings up itself.

use glommio::{
    GlommioError, LocalExecutorBuilder, Placement,
    net::{TcpListener, TcpStream},
};
use rival_reply::{Args, REPLY, Requests};
use std::{future::poll_fn, io, pin::Pin};

async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut requests = Requests::default();
    let mut buffer = vec![0; 4096];
    loop {
        let length = read(&mut stream, &mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        let complete = requests.take(&buffer[..length]).map_err(|_| io::ErrorKind::InvalidData)?;
        for _ in 0..complete {
            write_all(&mut stream, REPLY).await?;
        }
    }
}

async fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    use futures_io::AsyncRead as _;
    poll_fn(|context| Pin::new(&mut *stream).poll_read(context, buffer)).await
}

async fn write_all(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    use futures_io::AsyncWrite as _;
    while !bytes.is_empty() {
        let written = poll_fn(|context| Pin::new(&mut *stream).poll_write(context, bytes)).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
    }
    Ok(())
}

fn main() -> Result<(), GlommioError<()>> {
    let args = Args::of_process(&["plain"]);
    let executor = LocalExecutorBuilder::new(Placement::Unbound).make()?;
    executor.run(async {
        let listener = TcpListener::bind(args.address)?;
        loop {
            let stream = listener.accept().await?;
            stream.set_nodelay(true)?;
            // How a connection ends is the client's affair.
            glommio::spawn_local(async { drop(serve(stream).await) }).detach();
        }
    })
}
