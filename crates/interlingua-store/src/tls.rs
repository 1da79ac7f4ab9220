//! TLS to PostgreSQL servers. Certificates are always checked, against the roots of the web or against a given file.
//!
//! The address has the words of PostgreSQL's own programs: `sslmode` (`disable`, `prefer`, `require`, `verify-full`) and
//! `sslrootcert` (a file in PEM). Unlike there, `require` checks the certificate, too.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

/// The TLS settings of a server.
#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
}

impl Tls {
    /// The settings in an address, and the address without the words that only this module supports.
    pub(crate) fn of_address(address: &str) -> Result<(String, Self), String> {
        let (base, query) = address.split_once('?').unwrap_or((address, ""));
        let mut roots = None;
        let mut words = Vec::new();
        for word in query.split('&').filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                Some(("sslrootcert", path)) => roots = Some(roots_in(&decoded(path)?)?),
                Some(("sslmode", "verify-full")) => words.push("sslmode=require"),
                Some(("sslmode", mode @ ("verify-ca" | "allow"))) => {
                    return Err(format!("`sslmode={mode}` is not supported; `verify-full` is"));
                }
                _ => words.push(word),
            }
        }
        let mark = if words.is_empty() { "" } else { "?" };
        let roots = roots.unwrap_or_else(|| webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect());
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok((format!("{base}{mark}{}", words.join("&")), Self { config: Arc::new(config) }))
    }
}

/// The certificates in a file.
fn roots_in(path: &str) -> Result<RootCertStore, String> {
    let unreadable =
        |cause: &dyn std::fmt::Display| format!("cannot read the certificates in `{path}`: {cause}");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))? {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    if roots.is_empty() {
        return Err(unreadable(&"the file has none"));
    }
    Ok(roots)
}

/// A value of an address without percent signs.
fn decoded(value: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next(), rest.next()].map(|digit| digit.map(char::from));
        let [Some(Some(high)), Some(Some(low))] = digits.map(|digit| digit.map(|digit| digit.to_digit(16)))
        else {
            return Err(format!("`{value}` has a percent sign without two digits"));
        };
        bytes.push((high * 16 + low) as u8);
    }
    String::from_utf8(bytes).map_err(|_| format!("`{value}` is not UTF-8"))
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = EncryptedSocket;
    type TlsConnect = ServerTls;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<ServerTls> {
        // A socket file has no name that a certificate could hold. The client asks for no TLS there.
        let name = if host.is_empty() { "localhost" } else { host };
        let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
        Ok(ServerTls { connector: TlsConnector::from(Arc::clone(&self.config)), name })
    }
}

/// TLS to one server.
pub(crate) struct ServerTls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for ServerTls {
    type Stream = EncryptedSocket;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedSocket>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move { self.connector.connect(self.name, socket).await.map(EncryptedSocket) })
    }
}

/// An encrypted connection.
pub(crate) struct EncryptedSocket(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for EncryptedSocket {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for EncryptedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for EncryptedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_of_this_module_are_taken_from_an_address() {
        let address = |text| Tls::of_address(text).map(|(address, _)| address);
        assert_eq!(address("postgres://h/d").as_deref(), Ok("postgres://h/d"));
        let plain = "postgres://h/d?sslmode=disable&options=-c%20a";
        assert_eq!(address(plain).as_deref(), Ok(plain));
        assert_eq!(
            address("postgres://h/d?sslmode=verify-full").as_deref(),
            Ok("postgres://h/d?sslmode=require")
        );
        assert!(address("postgres://h/d?sslmode=allow").is_err());
        let missing = address("postgres://h/d?sslrootcert=%2Fmissing%2Epem").expect_err("no file");
        assert!(missing.contains("/missing.pem"), "{missing}");
        assert!(address("postgres://h/d?sslrootcert=%2").is_err());
    }
}
