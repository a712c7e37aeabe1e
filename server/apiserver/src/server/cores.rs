//! The CPUs this process may run on.

/// Numbers of the CPUs in the affinity mask, from `/proc/self/status`; all that the machine is said to have where
/// that cannot be read.
pub fn allowed() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cpus = list.and_then(|list| parse(list.trim())).unwrap_or_default();
    if cpus.is_empty() {
        return (0..std::thread::available_parallelism().map_or(1, usize::from)).collect();
    }
    cpus
}

/// `0-3,8,10-11`
fn parse(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert_eq!(parse("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse("5"), Some(vec![5]));
        assert_eq!(parse("x"), None);
        assert!(!allowed().is_empty());
    }
}
