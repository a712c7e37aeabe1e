//! Static bearer tokens: `--token-auth-file`, a CSV file of `token,user,uid[,"group1,group2"]`.

use std::{collections::HashMap, fmt, io, path::Path, sync::Arc};

use super::{UserInfo, csv};

/// Tokens and whom they stand for.
#[derive(Debug, Default)]
pub struct TokenFile {
    tokens: HashMap<String, Arc<UserInfo>>,
}

/// Why a token file cannot be used.
#[derive(Debug)]
pub enum TokenFileError {
    /// It cannot be read.
    Read(io::Error),
    /// It is no CSV.
    Csv(csv::CsvError),
    /// A record has fewer than three columns; how many.
    Columns(usize),
}

impl fmt::Display for TokenFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenFileError::Read(error) => error.fmt(f),
            TokenFileError::Csv(error) => error.fmt(f),
            TokenFileError::Columns(found) => {
                write!(f, "must have at least 3 columns (token, user name, user uid), found {found}")
            }
        }
    }
}

impl std::error::Error for TokenFileError {}

impl TokenFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, TokenFileError> {
        TokenFile::parse(&std::fs::read_to_string(path).map_err(TokenFileError::Read)?)
    }

    /// Reads the text of a file. Records without a token are left out; of equal tokens the last counts.
    pub fn parse(text: &str) -> Result<Self, TokenFileError> {
        let mut tokens = HashMap::new();
        for (number, record) in csv::parse(text).map_err(TokenFileError::Csv)?.into_iter().enumerate() {
            let [token, name, uid, ..] = record.as_slice() else {
                return Err(TokenFileError::Columns(record.len()));
            };
            if token.is_empty() {
                tracing::warn!(record = number + 1, "empty token in the token file");
                continue;
            }
            let groups = record.get(3).map(|g| g.split(',').map(str::to_owned).collect());
            let user = UserInfo {
                name: name.clone(),
                uid: uid.clone(),
                groups: groups.unwrap_or_default(),
                extra: Vec::new(),
            };
            if tokens.insert(token.clone(), Arc::new(user.authenticated())).is_some() {
                tracing::warn!(record = number + 1, "duplicate token in the token file");
            }
        }
        Ok(TokenFile { tokens })
    }

    /// Whom a token stands for.
    pub fn authenticate(&self, token: &str) -> Option<&Arc<UserInfo>> {
        self.tokens.get(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, token: &str, expect: Option<(&str, &str, &[&str])>) {
        let file = TokenFile::parse(text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        let found = file.authenticate(token);
        let found = found.map(|u| (u.name.as_str(), u.uid.as_str(), u.groups.clone()));
        let expect = expect.map(|(n, u, g)| (n, u, g.iter().map(|g| (*g).to_owned()).collect()));
        assert_eq!(found, expect, "{text:?}");
    }

    #[test]
    fn tokens() {
        let text = "t1,alice,1\nt2,bob,2,\"g1,g2\"\nt3,carol,3,g3\n,nobody,4\nt1,dave,5,\n";
        check(text, "t2", Some(("bob", "2", &["g1", "g2", "system:authenticated"])));
        check(text, "t3", Some(("carol", "3", &["g3", "system:authenticated"])));
        check(text, "t1", Some(("dave", "5", &["", "system:authenticated"])));
        check(text, "", None);
        check(text, "t4", None);
        check(
            "t,u,i,system:masters,more,columns",
            "t",
            Some(("u", "i", &["system:masters", "system:authenticated"])),
        );
    }

    #[test]
    fn too_few_columns() {
        let error = TokenFile::parse("a,b\n").expect_err("two columns");
        assert_eq!(error.to_string(), "must have at least 3 columns (token, user name, user uid), found 2");
    }
}
