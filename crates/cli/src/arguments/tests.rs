use super::*;
use clap::CommandFactory;

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn bench_takes_a_workload_or_history() {
    let parse = |words: &[&str]| -> Result<BenchArguments, clap::Error> {
        let words = ["hotrow", "bench"].iter().chain(words);
        match Arguments::try_parse_from(words)?.command {
            Command::Bench(arguments) => Ok(*arguments),
            other => panic!("bench is bench, not {other:?}"),
        }
    };
    let plain = parse(&[]).expect("everything has a default");
    assert_eq!((plain.run.workload.as_str(), plain.run.threads.as_slice()), ("tpcc", &[1, 2][..]));
    let ycsb = parse(&["ycsb", "--transactions", "5"]).expect("it is a workload");
    assert_eq!(ycsb.run.transactions, Some(5));
    assert!(parse(&["history", "--format", "elle"]).expect("it is a command").command.is_some());
    let remote = parse(&["tpcb", "--remote", "host=db", "--clients", "1,16", "--replace"]);
    let server = remote.expect("it is a server").run.at.remote.expect("it was given");
    assert_eq!(server.to_string(), "db:5433");
    assert!(parse(&["--remote", "host=db", "--engine", "all"]).is_err());
    assert!(parse(&["--remote", "db"]).is_err() && parse(&["--replace"]).is_err());
    assert!(parse(&["chess"]).is_err());
    assert!(parse(&["ycsb", "--threads", "0"]).is_err());
    assert!(parse(&["ycsb", "--seconds", "1", "--transactions", "5"]).is_err());
}
