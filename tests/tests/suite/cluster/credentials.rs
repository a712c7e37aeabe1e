//! Who the programs are: users of their own, by certificates of the cluster's authority.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};

/// Signs certificates, and writes kubeconfigs with them into a folder.
pub(super) struct Credentials {
    pub(super) kubectl: PathBuf,
    pub(super) kubeconfig: PathBuf,
    /// With `ca.crt` and `ca.key`.
    pub(super) pki: PathBuf,
    pub(super) folder: PathBuf,
}

impl Credentials {
    /// A copy of the kubeconfig, for a user who is known by this name and is in no group but that of all.
    pub(super) fn of(&self, user: &str) -> PathBuf {
        let file = |end: &str| self.folder.join(format!("{}.{end}", user.replace(':', "-")));
        let (certificate, key, kubeconfig) = (file("crt"), file("key"), file("kubeconfig"));
        let (text, key_text) = self.sign(user);
        fs::write(&certificate, text).expect("the temporary folder can be written");
        fs::write(&key, key_text).expect("the temporary folder can be written");
        fs::copy(&self.kubeconfig, &kubeconfig).expect("the kubeconfig can be read");
        let path = |path: &Path| path.display().to_string();
        let (certificate, key) = (path(&certificate), path(&key));
        self.config(
            &kubeconfig,
            &[
                "set-credentials",
                user,
                "--embed-certs=true",
                &format!("--client-certificate={certificate}"),
                &format!("--client-key={key}"),
            ],
        );
        self.config(&kubeconfig, &["set-context", "--current", &format!("--user={user}")]);
        kubeconfig
    }

    fn sign(&self, user: &str) -> (String, String) {
        let read = |name: &str| fs::read_to_string(self.pki.join(name)).expect("the authority can be read");
        let authority = KeyPair::from_pem(&read("ca.key")).expect("it is a key");
        let authority = Issuer::from_ca_cert_pem(&read("ca.crt"), authority).expect("it is a certificate");
        let key = KeyPair::generate().expect("keys can be made");
        let mut subject = CertificateParams::default();
        subject.distinguished_name = DistinguishedName::new();
        subject.distinguished_name.push(DnType::CommonName, user);
        subject.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = subject.signed_by(&key, &authority).expect("it can be signed");
        (certificate.pem(), key.serialize_pem())
    }

    fn config(&self, kubeconfig: &Path, arguments: &[&str]) {
        let output = Command::new(&self.kubectl)
            .args(["config", "--kubeconfig"])
            .arg(kubeconfig)
            .args(arguments)
            .output()
            .unwrap_or_else(|e| panic!("{}: {e}", self.kubectl.display()));
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
