//! Stages of a long run: each named, timed and counted, with a summary that a person and CI read the same way.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::count::Counts;
use crate::program::{Failure, say};

/// What a stage did.
pub(crate) type Done = Result<Counts, Broken>;

/// A stage that failed, with what it counted until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) counts: Counts,
    pub(crate) failure: Failure,
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self { counts: Counts::default(), failure }
    }
}

#[derive(Debug)]
enum Outcome {
    Passed,
    Failed(Failure),
    /// Not tried, because this stage before it failed.
    Left(&'static str),
}

#[derive(Debug)]
struct Stage {
    name: &'static str,
    took: Duration,
    counts: Counts,
    outcome: Outcome,
}

/// The stages so far.
#[derive(Debug)]
pub(crate) struct Stages {
    began: Instant,
    stages: Vec<Stage>,
}

impl Stages {
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), stages: Vec::new() }
    }

    /// Runs a stage, unless a stage that it needs failed or was left out itself.
    pub(crate) fn stage(&mut self, name: &'static str, needs: &[&'static str], work: impl FnOnce() -> Done) {
        if let Some(missing) = needs.iter().find(|need| !self.passed(need)) {
            say(&format!("\n── {name}: left out, for `{missing}` failed"));
            let outcome = Outcome::Left(missing);
            self.stages.push(Stage { name, took: Duration::ZERO, counts: Counts::default(), outcome });
            return;
        }
        say(&format!("\n── {name}"));
        let began = Instant::now();
        let done = work();
        let took = began.elapsed();
        let (counts, outcome) = match done {
            Ok(counts) => (counts, Outcome::Passed),
            Err(broken) => (at_least_one_failed(broken.counts), Outcome::Failed(broken.failure)),
        };
        match &outcome {
            Outcome::Failed(failure) => say(&format!("── {name}: FAILED after {}: {failure}", shown(took))),
            Outcome::Passed | Outcome::Left(_) => say(&format!("── {name}: {}", shown(took))),
        }
        self.stages.push(Stage { name, took, counts, outcome });
    }

    fn passed(&self, name: &str) -> bool {
        self.stages.iter().any(|stage| stage.name == name && matches!(stage.outcome, Outcome::Passed))
    }

    /// True when no stage failed.
    pub(crate) fn all_passed(&self) -> bool {
        self.stages.iter().all(|stage| matches!(stage.outcome, Outcome::Passed))
    }

    /// A line for each stage, then the counts of all runners alone on the last line.
    pub(crate) fn summary(&self) -> String {
        let width = self.stages.iter().map(|stage| stage.name.chars().count()).max().unwrap_or(0);
        let mut text = format!("\n── Summary ({})\n", shown(self.began.elapsed()));
        for stage in &self.stages {
            let ended = match &stage.outcome {
                Outcome::Passed => "ok".to_owned(),
                Outcome::Failed(failure) => {
                    format!("FAILED: {}", failure.what.lines().next().unwrap_or_default())
                }
                Outcome::Left(need) => format!("left out, for `{need}` failed"),
            };
            let tests = match stage.counts {
                Counts { passed: 0, failed: 0, .. } => String::new(),
                counts => format!("{} passed, {} failed", counts.passed, counts.failed),
            };
            let _ = writeln!(text, "{:width$}  {:>8}  {tests:22}  {ended}", stage.name, shown(stage.took));
        }
        let _ = write!(
            text,
            "\n{}",
            closing(self.stages.iter().map(|s| s.counts).fold(Counts::default(), |a, b| a + b))
        );
        text
    }
}

/// A stage can fail without a test that failed: it does not compile, it crashes. The sum must still say so.
fn at_least_one_failed(counts: Counts) -> Counts {
    Counts { failed: counts.failed.max(1), ..counts }
}

fn closing(counts: Counts) -> String {
    let skipped = if counts.skipped > 0 { format!(", {} skipped", counts.skipped) } else { String::new() };
    format!("{} passed, {} failed{skipped}", counts.passed, counts.failed)
}

fn shown(took: Duration) -> String {
    let seconds = took.as_secs_f64();
    if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{} m {:02} s", took.as_secs() / 60, took.as_secs() % 60)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn counted(passed: u64, failed: u64) -> Counts {
        Counts { passed, failed, skipped: 0 }
    }

    #[test]
    fn the_last_line_is_the_sum_of_all_runners() {
        let mut run = Stages::begin();
        run.stage("a", &[], || Ok(counted(3, 0)));
        run.stage("b", &["a"], || Ok(Counts { skipped: 2, ..counted(4, 0) }));
        assert!(run.all_passed());
        assert_eq!(run.summary().lines().last(), Some("7 passed, 0 failed, 2 skipped"));
    }

    #[test]
    fn a_stage_that_fails_without_a_failed_test_counts_as_one() {
        let mut run = Stages::begin();
        run.stage("compile", &[], || Err(Failure::new("it does not compile", "read").into()));
        run.stage("tests", &["compile"], || Ok(counted(9, 0)));
        run.stage("others", &["tests"], || Ok(counted(9, 0)));
        run.stage("page", &[], || Ok(counted(5, 0)));
        assert!(!run.all_passed());
        let summary = run.summary();
        assert_eq!(summary.lines().last(), Some("5 passed, 1 failed"), "{summary}");
        assert!(summary.contains("FAILED: it does not compile"), "{summary}");
        assert!(summary.contains("left out, for `compile` failed"), "{summary}");
        assert!(summary.contains("left out, for `tests` failed"), "{summary}");
    }

    #[test]
    fn failed_tests_are_counted_as_they_are() {
        let mut run = Stages::begin();
        let failure = Failure::new("3 tests failed", "read");
        run.stage("tests", &[], || Err(Broken { counts: counted(10, 3), failure }));
        assert_eq!(run.summary().lines().last(), Some("10 passed, 3 failed"));
    }

    #[test]
    fn durations_are_short_to_read() {
        assert_eq!(shown(Duration::from_millis(1240)), "1.2 s");
        assert_eq!(shown(Duration::from_secs(125)), "2 m 05 s");
    }
}
