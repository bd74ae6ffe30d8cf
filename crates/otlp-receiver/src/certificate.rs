//! Certificates for TLS in tests: of an authority that a client can be told to trust.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A server's certificate, with the authority that signed it.
#[derive(Debug)]
pub struct Certificate {
    authority_pem: String,
    chain: Vec<CertificateDer<'static>>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Certificate {
    /// For `localhost`, good for years.
    pub fn good() -> Certificate {
        Certificate::made("localhost", 2040)
    }

    /// For `localhost`, and long out of date.
    pub fn expired() -> Certificate {
        Certificate::made("localhost", 2020)
    }

    /// For another host.
    pub fn for_another_host() -> Certificate {
        Certificate::made("elsewhere.example", 2040)
    }

    fn made(host: &str, until_year: i32) -> Certificate {
        let authority_key = KeyPair::generate().expect("a key");
        let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        authority.distinguished_name.push(DnType::CommonName, "An authority for tests");
        authority.not_before = rcgen::date_time_ymd(2015, 1, 1);
        authority.not_after = rcgen::date_time_ymd(2040, 1, 1);
        let signed = authority.self_signed(&authority_key).expect("an authority");
        let issuer = Issuer::new(authority, authority_key);

        let key = KeyPair::generate().expect("a key");
        let mut server = CertificateParams::new(vec![host.to_owned()]).expect("parameters");
        server.not_before = rcgen::date_time_ymd(2015, 1, 1);
        server.not_after = rcgen::date_time_ymd(until_year, 1, 1);
        let server = server.signed_by(&key, &issuer).expect("a certificate");
        Certificate {
            authority_pem: signed.pem(),
            chain: vec![server.der().clone()],
            key: PrivatePkcs8KeyDer::from(key.serialize_der()),
        }
    }

    /// What a client trusts it by, for a file.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    pub(crate) fn server_config(&self) -> Arc<rustls::ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("TLS versions")
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), PrivateKeyDer::Pkcs8(self.key.clone_key()))
            .expect("a certificate and its key");
        Arc::new(config)
    }
}
