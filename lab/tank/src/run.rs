//! One run: starts the threads, puts their seconds together, applies the rules, and hands back what there is to tell.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::clock::{Clock, process_cpu};
use crate::engine::{Engine, Plan, Report, Settings};
use crate::phout::{PhoutFile, PhoutLines};
use crate::rules::Rule;
use crate::tally::Tally;

/// Time for the threads to be ready before the first request is due.
pub(crate) const LEAD: Duration = Duration::from_millis(20);

/// The reason why a run ended before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    Rule(String),
    Interrupt,
}

/// Figures of one second, of all threads.
#[derive(Debug)]
pub(crate) struct Second {
    pub(crate) number: u64,
    /// Requests that were due in it; nothing in a closed loop.
    pub(crate) planned: Option<u64>,
    pub(crate) tally: Tally,
    /// At its end.
    pub(crate) n_open: u64,
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) total: Tally,
    /// A line for each second: number, planned, sent, answered, failed.
    pub(crate) seconds: Vec<SecondCounts>,
    pub(crate) stop: Option<Stop>,
    /// Requests that had not ended when the run was stopped.
    pub(crate) abandoned: u64,
    /// From the first moment to the last.
    pub(crate) elapsed: Duration,
    /// Processor time of the generator.
    pub(crate) cpu: Duration,
    /// The share of its time that the busiest thread ran or waited for a processor.
    pub(crate) busiest: f64,
}

/// Counts of one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SecondCounts {
    pub(crate) number: u64,
    pub(crate) planned: Option<u64>,
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    pub(crate) failed: u64,
}

/// Carries out a plan. `on_second` sees each second once it is complete.
pub(crate) async fn run(
    mut settings: Settings,
    rules: Vec<Rule>,
    phout: Option<PhoutFile>,
    on_second: impl FnMut(&Second),
) -> Result<Summary> {
    settings.clock = Clock::starting_in(LEAD);
    let cpu_before = process_cpu();
    let (sender, mut reports) = unbounded_channel();
    let threads = (0..settings.n_threads).map(|thread| {
        let lines = phout.as_ref().map(|file| file.lines(settings.clock));
        spawn(settings.clone(), thread, lines, sender.clone())
    });
    let threads = threads.collect::<Result<Vec<_>>>()?;
    drop(sender);
    let mut collector = Collector::new(&settings, rules, on_second);
    collector.collect(&mut reports, &settings).await;
    for thread in threads {
        thread.join().map_err(|_| anyhow!("a thread panicked"))?.context("watch the sockets")?;
    }
    phout.map_or(Ok(()), PhoutFile::finish)?;
    let cpu = Duration::from_nanos(process_cpu() - cpu_before);
    Ok(Summary { cpu, ..collector.summary })
}

/// Starts one thread. If it fails, the others stop as well.
fn spawn(
    settings: Settings,
    number: usize,
    phout: Option<PhoutLines>,
    reports: UnboundedSender<Report>,
) -> Result<JoinHandle<io::Result<()>>> {
    let thread = move || {
        let stop = Arc::clone(&settings.stop);
        let run = Engine::new(settings, number, phout, reports).and_then(Engine::run);
        run.inspect_err(|_| stop.store(true, Ordering::Relaxed))
    };
    thread::Builder::new().name(format!("load-{number}")).spawn(thread).context("start a thread")
}

/// Puts the reports of threads together.
struct Collector<F> {
    plan: Plan,
    rules: Vec<Rule>,
    on_second: F,
    /// Reports of seconds that are not complete, by their number.
    pending: BTreeMap<u64, Second>,
    /// For each thread, the first second that it has not reported.
    reported: Vec<u64>,
    summary: Summary,
}

impl<F: FnMut(&Second)> Collector<F> {
    fn new(settings: &Settings, rules: Vec<Rule>, on_second: F) -> Self {
        let summary = Summary {
            total: Tally::default(),
            seconds: Vec::new(),
            stop: None,
            abandoned: 0,
            elapsed: Duration::ZERO,
            cpu: Duration::ZERO,
            busiest: 0.0,
        };
        let reported = vec![0; settings.n_threads];
        Self { plan: settings.plan.clone(), rules, on_second, pending: BTreeMap::new(), reported, summary }
    }

    /// Takes reports until the last thread has ended.
    async fn collect(&mut self, reports: &mut UnboundedReceiver<Report>, settings: &Settings) {
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        let mut is_listening = true;
        loop {
            tokio::select! {
                report = reports.recv() => match report {
                    Some(report) => self.take(&report),
                    None => return,
                },
                _ = &mut interrupt, if is_listening => {
                    is_listening = false;
                    self.summary.stop.get_or_insert(Stop::Interrupt);
                }
            }
            if self.summary.stop.is_some() {
                settings.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    fn take(&mut self, report: &Report) {
        let second = self.pending.entry(report.second).or_insert_with(|| Second {
            number: report.second,
            planned: None,
            tally: Tally::default(),
            n_open: 0,
        });
        second.tally.add(&report.tally);
        second.n_open += report.n_open as u64;
        self.reported[report.thread] = if report.is_last { u64::MAX } else { report.second + 1 };
        if report.is_last {
            self.end(report);
        }
        let complete = self.reported.iter().copied().min().unwrap_or(0);
        while let Some(entry) = self.pending.first_entry().filter(|entry| *entry.key() < complete) {
            let second = entry.remove();
            self.finish(second);
        }
    }

    /// A thread has ended.
    fn end(&mut self, report: &Report) {
        self.summary.abandoned += report.n_open as u64;
        self.summary.elapsed = self.summary.elapsed.max(Duration::from_nanos(report.moment));
        let busy = report.busy as f64 / report.moment.max(1) as f64;
        self.summary.busiest = self.summary.busiest.max(busy.min(1.0));
    }

    /// All threads have reported a second.
    fn finish(&mut self, mut second: Second) {
        second.planned = self.planned(second.number);
        self.summary.total.add(&second.tally);
        self.summary.seconds.push(SecondCounts {
            number: second.number,
            planned: second.planned,
            sent: second.tally.sent,
            answered: second.tally.answered,
            failed: second.tally.failed(),
        });
        (self.on_second)(&second);
        for rule in &mut self.rules {
            if rule.is_broken_by(&second.tally, second.n_open) && self.summary.stop.is_none() {
                self.summary.stop = Some(Stop::Rule(rule.text().to_owned()));
            }
        }
    }

    fn planned(&self, number: u64) -> Option<u64> {
        let before = |second| self.plan.count_before(Duration::from_secs(second));
        Some(before(number + 1)? - before(number)?)
    }
}
