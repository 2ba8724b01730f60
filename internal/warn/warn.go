// Package warn has the codes of all warnings, and the rules for those that can make a run invalid. Codes are an
// interface: scripts compare them.
package warn

import "github.com/taktload/takt/pkg/takt"

// Warnings that can make a run invalid. The comment of a code is its row in docs/exit-codes.md: a test writes
// the rows there.
const (
	// at least 10 operations, and more than 1 % of those sent, had a schedule lag above max(1 ms, 10 % of response p99), or a handshake whose part on takt's side (`client_dial`) took that much longer than three times the quickest one of the run
	GeneratorBottleneck takt.WarningCode = "generator_bottleneck"
	// more than 1 % of the operations due were not sent by the end of the window + 100 ms although a connection was free for them; or more than 1 % (at least 10) were dropped later than the bound of `generator_bottleneck` after they were due
	GeneratorBehind takt.WarningCode = "generator_behind"
	// less than 99 % of the intended rate was achieved, operations waited for connections, and the generator occupied these connections for more than a quarter of their time, or for so long that without it the rate would have been achieved
	GeneratorHeld takt.WarningCode = "generator_held"
	// operations waited for a connection because the generator had frozen or was slow before, or did not compute the handshakes of the connections that were being made, and were sent later than the bound of `generator_bottleneck`. With the late operations of that rule they are more than 1 % of the operations due, and at least 10
	GeneratorBacklog takt.WarningCode = "generator_backlog"
	// a loop worked more than 90 % of the time. Or less than 99 % of the intended rate was achieved, and the generator used more than 90 % of all cores, or more than a third of them while less than 5 % of the machine was idle. Where the arrival time of answers is not known, also: a CPU quota stopped the generator for more than 10 % of the time; or its threads waited for a core for more than half of the time, and longer than they ran. Not of a target that answered nothing. In a closed loop it is only a warning: a loop, or all cores, worked more than 90 % of the time
	GeneratorSaturated takt.WarningCode = "generator_saturated"
	// at least 10 operations, and more than 0.1 % of all, failed at a limit of the generator or its host: open files (`too_many_files`), local ports (`no_ports`), memory of the kernel (`no_memory`). The warning names the limit and the remedy; with fewer failures, it is only a warning. It counts in a closed loop too
	HostLimit takt.WarningCode = "host_limit"
	// the run ended in its warm-up
	NothingMeasured takt.WarningCode = "nothing_measured"
	// scheduled ≠ ok + failed + dropped + unfinished, which is a bug in takt
	Accounting takt.WarningCode = "accounting"
	// of `takt merge --allow-missing`: shards are missing
	ShardsMissing takt.WarningCode = "shards_missing"
	// of `takt merge`: shards ended more than 100 ms and more than 1 % of the window apart, or a signal or `--abort-on` ended only some of them; if they ended more than 100 ms apart and the rest is not true, it is only a warning
	ShardsCut takt.WarningCode = "shards_cut"
	// of `takt merge`: shards began more than 100 ms and more than 1 % of the window apart; if only the first is true, it is only a warning
	ShardsApart takt.WarningCode = "shards_apart"
	// a report from elsewhere said `valid`, but its histograms break the rule of `generator_bottleneck`
	Rejudged takt.WarningCode = "rejudged"
)

// Reasons why a run is invalid.
const (
	ByGenerator = "the generator, not the target, shaped these figures"
	ByShards    = "the shards did not put the whole load on the target at once"
	ByNothing   = "nothing was measured"
)

// Rule is what a warning says about the verdict.
type Rule struct {
	Code   takt.WarningCode
	Reason string // "": the warning decides nothing about the headline
	Always bool   // a run with the warning is invalid; others may be closed loops, or within a bound
	Late   bool   // operations were sent late, which a duet judges for each pair of blocks by itself
}

// Rules are those of all warnings that can make a run invalid.
func Rules() []Rule {
	return []Rule{
		{Code: Accounting, Always: true},
		{Code: NothingMeasured, Reason: ByNothing, Always: true},
		{Code: GeneratorBottleneck, Reason: ByGenerator, Always: true, Late: true},
		{Code: GeneratorBehind, Reason: ByGenerator, Always: true},
		{Code: GeneratorBacklog, Reason: ByGenerator, Always: true, Late: true},
		{Code: GeneratorHeld, Reason: ByGenerator},
		{Code: GeneratorSaturated, Reason: ByGenerator},
		{Code: HostLimit, Reason: ByGenerator},
		{Code: Rejudged, Reason: ByGenerator, Late: true},
		{Code: ShardsMissing, Reason: ByShards},
		{Code: ShardsCut, Reason: ByShards},
		{Code: ShardsApart, Reason: ByShards},
	}
}

// Warnings that leave a run valid.
const (
	// more than 1 % of the operations and at least 10, or more than 5 % and at least 3, were sent later than max(200 µs, 5 % of response p99) after they could have been; not if the run is invalid for its lateness
	GeneratorLate takt.WarningCode = "generator_late"
	// of `--arrivals like:LOG`: the log's stamps are coarser than a quarter of its mean gap, so the short gaps were drawn at random
	ArrivalsDrawn takt.WarningCode = "arrivals_drawn"
	// of `--arrivals like:LOG`: the log has fewer requests than the schedule has operations, so its spacing was repeated
	ArrivalsRepeated takt.WarningCode = "arrivals_repeated"
	// the run had no schedule; it is never judged late
	ClosedLoop takt.WarningCode = "closed_loop"
	// a condition of `--abort-on`, or `--crash`, ended the run, which is shorter than was asked for
	Aborted takt.WarningCode = "aborted"
	// a signal ended the run, which is shorter than was asked for
	Cancelled takt.WarningCode = "cancelled"
	// takt was killed, and the report was made from its journal; it ends with the last full second
	Recovered takt.WarningCode = "recovered"
	// of `takt fleet`: the clock of a shard moved by more than 5 ms against the gatherer's during the run, so its last operations were due that much too early or too late
	ClockDrift takt.WarningCode = "clock_drift"
	// of `takt fleet`: a shard was lost in the middle of the run: why, and when
	ShardLost takt.WarningCode = "shard_lost"
	// of `takt merge`: the shards come from several versions of takt, or have several engines, or only some have a label
	ShardsDiffer takt.WarningCode = "shards_differ"
	// of `takt merge`: the generator was the bottleneck in some shards, so they and the whole are invalid; what the other shards used of their CPU
	ShardsLimited takt.WarningCode = "shards_limited"
	// a shard has neither `--run-group` nor `--start-at`, so nothing says which others belong to it
	NoRunGroup takt.WarningCode = "no_run_group"
	// the run is invalid, and without `--connections` its loops had made more than 256 connections
	ManyConnections takt.WarningCode = "many_connections"
	// `--loops` was given for a run that was not in loop mode, or `--pacing` or `--max-lag` for one in worker mode
	NoLoop takt.WarningCode = "no_loop"
	// operations were dropped at the in-flight bound
	Dropped takt.WarningCode = "dropped"
	// of `takt http --scenario`: steps that were not sent, because an earlier step of their round failed or was dropped; they count as dropped
	StepsSkipped takt.WarningCode = "steps_skipped"
	// of `takt http --scenario` with a rate: the think times of a round are more than a tenth of the run, which ends that much later than its schedule, so its rates, means over the whole run, are lower than those of the schedule
	ThinkTimes takt.WarningCode = "think_times"
	// of `takt http --scenario` with a rate: rounds were still polling, trying again or waiting for answers `--drain` after the schedule and its think times, and were cut: requests that were due count as `unfinished`, later ones are in no count
	RoundsCut takt.WarningCode = "rounds_cut"
	// of `--per` and `--scenario`: there were more users at once than connections, so idle connections were closed early, or users waited for one
	UsersCrowded takt.WarningCode = "users_crowded"
	// of `takt http --scenario` with a rate: rounds waited until a line of a file with the word `exclusive` was free
	LinesLent takt.WarningCode = "lines_lent"
	// of `takt http --scenario`: a step with `@teardown` failed, so what the run left at the target is still there
	Teardown takt.WarningCode = "teardown"
	// of `takt http --scenario` without a rate: rounds lasted longer than their `@pace`, so users began the next ones late
	PaceMissed takt.WarningCode = "pace_missed"
	// of `takt http` through a proxy: answers with status 407 were the proxy's own
	ProxyLogin takt.WarningCode = "proxy_login"
	// lines of a file with `&`, `+` or `?` were in the URL as they are, without `{{url …}}`
	FeederInURL takt.WarningCode = "feeder_in_url"
	// of `takt replay --per`: more than half of the requests have no user in the log, so each of them was a user of its own; often the name after `--per` is wrong
	UsersUnknown takt.WarningCode = "users_unknown"
	// of `takt replay --think`: users waited for slow answers, so requests were due later than recorded, by more than 1 % of the log or 1 s
	UsersSlowed takt.WarningCode = "users_slowed"
	// of `takt replay --session`: no answer had a value that `--capture` names, so header lines with it were left out
	ValueUnknown takt.WarningCode = "value_unknown"
	// latencies were outside the histogram's range
	Clamped takt.WarningCode = "clamped"
	// the run ended before its time, because a list of requests, a broker, a topic or a connection ended; exit code 1
	BrokeOff takt.WarningCode = "broke_off"
	// a consumer received fewer messages than `-n` says; the rate leaves out the silence after the last message
	ShortCount takt.WarningCode = "short_count"
	// of `takt jms`: less than 99 % of the rate was sent, since the flags that the warning names allow no more pending messages
	PendingBound takt.WarningCode = "pending_bound"
	// of `takt kafka`: more than 1 % of the records waited for a writer at the end of the schedule, since the flags that the warning names allow no more batches in flight
	WritersBound takt.WarningCode = "writers_bound"
	// of `takt kafka` with `--required-acks none`: brokers closed connections, which is also how they refuse records
	ConnectionsClosed takt.WarningCode = "connections_closed"
	// of `takt kafka` with `--required-acks none`: the number of stored records is not certain
	Stored takt.WarningCode = "stored"
	// of `takt kafka produce` and `e2e`, and of `takt jms`: the topic or the queues gained fewer messages than the broker acknowledged. With `--strict`, exit code 6
	LedgerMissing takt.WarningCode = "ledger_missing"
	// as `ledger_missing`: the topic or the queues gained more messages than takt wrote. With `--strict`, exit code 6
	LedgerSurplus takt.WarningCode = "ledger_surplus"
	// as `ledger_missing`: takt does not know how many messages the topic or the queues gained
	LedgerUnknown takt.WarningCode = "ledger_unknown"
	// of `takt jms`: messages expired in the queues. With `--strict`, exit code 6
	LedgerExpired takt.WarningCode = "ledger_expired"
	// of `takt jms`: the broker gave messages up as dead letters. With `--strict`, exit code 6
	LedgerDead takt.WarningCode = "ledger_dead"
	// of `takt jms` with RabbitMQ: messages left the queues for an unknown reason. With `--strict`, exit code 6
	LedgerRemoved takt.WarningCode = "ledger_removed"
	// of `takt kafka --recorded`: the brokers were slower than the recorded times, so that 64 MiB of records were due and not written; later records waited
	RecordedBound takt.WarningCode = "recorded_bound"
	// of `takt kafka`: the brokers made takt wait for more than 1 % of the run, because it was above their quota. That time is the brokers' (`target`), and so is a backlog; silence in it is no outage, and the run does not show whether the brokers keep up. Not known of `--client sarama`
	Quota takt.WarningCode = "quota"
	// of `takt kafka consume`: records were deleted before the consumer read them; they count as unfinished
	Deleted takt.WarningCode = "deleted"
	// of `takt kafka`: records were refused because their batch was larger than `max.message.bytes` of the topic
	TooLarge takt.WarningCode = "too_large"
	// of `takt kafka`: the topic got partitions during the run
	PartitionsAdded takt.WarningCode = "partitions_added"
	// of `takt kafka`: takt did not find the end of the log, or a partition's reading had not begun, so `lag` is out of date or incomplete
	Lag takt.WarningCode = "lag"
	// the hypervisor took more than 2 % of the CPU time; of `takt capacity`: more than 5 % in a step
	Steal takt.WarningCode = "steal"
	// the CPU quota of the cgroup stopped processes for more than 1 % of the time
	Throttled takt.WarningCode = "throttled"
	// response p50 below 2 × the noise floor of a host that was calibrated
	BelowFloor takt.WarningCode = "below_floor"
	// TCP sent segments again, at least 10 and more than 0.1 % of the operations: the network lost packets, or the target accepted none. Where takt knows those of its own connections, only they count
	Retransmits takt.WarningCode = "retransmits"
	// garbage collection stopped the generator for more than 1 ms
	GC takt.WarningCode = "gc"
	// figures of `--export` did not reach their receiver; the run itself is complete
	ExportLost takt.WarningCode = "export_lost"
	// operations have no row in `-o samples`, whose writer was too slow; all other figures count them
	SamplesSkipped takt.WarningCode = "samples_skipped"
	// of the Go library: GOMAXPROCS is 1, so pacing uses Go's timers
	OneCore takt.WarningCode = "one_core"
	// the target sent bytes on idle connections, where no request was open; takt closed these connections, and no operation failed for it
	Unsolicited takt.WarningCode = "unsolicited"
	// the median request was written more than 15 µs after takt began with it; service time includes that, and the phase `client` shows it
	ClientTime takt.WarningCode = "client_time"
	// the wall clock was set during the run. The kernel's stamps of answers use this clock, so answers of that moment count as received when takt read them; no other duration depends on it
	ClockStep takt.WarningCode = "clock_step"
	// of drivers that report when answers arrived: an instant was before the operation was sent or after it ended, and takt ignored it
	Arrived takt.WarningCode = "arrived"
	// operations were due before the list (standard input, a file) contained them
	ListLate takt.WarningCode = "list_late"
	// of `takt http`: the list of requests ended before the schedule
	ListEnded takt.WarningCode = "list_ended"
	// of `takt http`: each GET had a body
	GetBody takt.WarningCode = "get_body"
	// of `takt http`: the contrast could not be made, or requests of it failed
	Contrast takt.WarningCode = "contrast"
	// of `takt replay`: lines that takt cannot read, with the places and causes of the first three
	BadLines takt.WarningCode = "bad_lines"
	// of `takt replay`: requests further out of order than `--disorder` (30 s): takt made them due at once
	LogDisorder takt.WarningCode = "log_disorder"
	// of `takt replay`: gaps above `--max-gap`: the first three with places and dates
	GapsShortened takt.WarningCode = "gaps_shortened"
	// of `takt replay`: headers of a HAR that takt does not send, counted by name
	HeadersLeftOut takt.WarningCode = "headers_left_out"
	// of `takt replay`: requests of a HAR that takt sends with random bytes, because the archive does not have the content of the files of a form
	BodiesLeftOut takt.WarningCode = "bodies_left_out"
	// of `takt replay`: requests whose recorded host cannot be sent with `--keep-host`
	WithoutHost takt.WarningCode = "without_host"
	// of `takt replay`: in a second with more than 131 072 requests, the rest was due at its end
	Crowded takt.WarningCode = "crowded"
	// of `takt replay`: requests that takt left out, because their body is above 64 MiB, or their method is not signed for S3
	NotSendable takt.WarningCode = "not_sendable"
	// of `takt replay`: operations that ended after 131 072 later ones had begun: they have no row, and takt does not compare them
	RowsLost takt.WarningCode = "rows_lost"
	// of `takt replay`: exchanges that takt did not show because standard error was too slow
	NotShown takt.WarningCode = "not_shown"
	// of `takt replay`: this shard has twice its share of the requests, or more
	UnevenShards takt.WarningCode = "uneven_shards"
	// addresses of the target's name had no load: they did not accept a connection before the run, or the run made too few connections
	Addresses takt.WarningCode = "addresses"
	// of `takt http`: handshakes agreed on TLS 1.3, whose suites `--tls-ciphers` does not choose
	TLSCiphers takt.WarningCode = "tls_ciphers"
	// of `takt http`: secrets of connections were written to a file, or could not be written
	TLSKeylog takt.WarningCode = "tls_keylog"
	// of `takt http`: the server demands a client certificate, or refused that of `--cert`
	ClientCertificate takt.WarningCode = "client_certificate"
	// of `takt http`: 3xx answers that were not followed
	Redirects takt.WarningCode = "redirects"
	// of `takt http`: requests that net/http sent again
	Retries takt.WarningCode = "retries"
	// of `takt http --h2`: all streams that the server allows were in use, so operations waited for one, or were dropped
	H2Streams takt.WarningCode = "h2_streams"
	// of `takt http`: the server answered before it had the whole body, and takt did not send the rest
	EarlyAnswers takt.WarningCode = "early_answers"
	// of `takt http` and `takt llm`: more than 0.1 % of the requests met the end of a connection that the server had kept open after an answer. Some servers close after each answer and do not say so; closed loops send the next request just then
	StaleConnections takt.WarningCode = "stale_connections"
	// of `takt llm`: no request succeeded, and the most frequent status is one from 400 to 499. The warning says what to check
	RequestsRefused takt.WarningCode = "requests_refused"
	// of `takt http --stream` and `takt llm`: takt read more than 1 % of the parts too late to know when they came
	UnknownGaps takt.WarningCode = "unknown_gaps"
	// of `takt kafka`: the consumer met errors and went on
	FetchErrors takt.WarningCode = "fetch_errors"
	// of `takt kafka`: figures did not reach Graphite
	Graphite takt.WarningCode = "graphite"
	// of `takt jms`: the broker gave no credit for a while
	NoCredit takt.WarningCode = "no_credit"
	// of `takt jms`: messages were received and not committed
	Uncommitted takt.WarningCode = "uncommitted"
	// of `takt jms`: a subscription could not be removed
	Subscription takt.WarningCode = "subscription"
	// of `takt jms`: options of the URL that only CORE knows were ignored
	URLOptions takt.WarningCode = "url_options"
	// of `takt jms` and `takt kafka`: there were more outages than a report contains
	ManyOutages takt.WarningCode = "many_outages"
	// the command of a `--fault` did not start, or ended with an exit code above 0, so what it was to cause may not have happened
	Fault takt.WarningCode = "fault"
	// of `takt jms`: messages were acknowledged and not received
	Lost takt.WarningCode = "lost"
	// of `takt jms`: consumers fell behind the senders
	SlowConsumer takt.WarningCode = "slow_consumer"
	// of `takt kafka consume --capture`: the file has its largest size, it is not complete, or some of its records are out of order
	Capture takt.WarningCode = "capture"
	// of `takt kafka consume` and `takt jms consumer`: messages arrived before they were due, so the clocks of sender and receiver differ
	ClockSkew takt.WarningCode = "clock_skew"
	// the client of the protocol could not complete its part of the report
	Finish takt.WarningCode = "finish"
	// the client of the protocol could not send what it had kept back
	Flush takt.WarningCode = "flush"
	// of `takt capacity`: the generator was late in steps, which still prove on which side of the limit their rate is
	LateSteps takt.WarningCode = "late_steps"
	// of `takt capacity`: the target warmed up in steps, so they do not count
	WarmingSteps takt.WarningCode = "warming_steps"
	// of `takt capacity`: steps were invalid, so they do not count
	InvalidSteps takt.WarningCode = "invalid_steps"
	// of `takt capacity`: a load file says nothing about its generator
	GeneratorUnknown takt.WarningCode = "generator_unknown"
	// of `takt capacity`: a load file lacks rows of requests that were offered
	RowsMissing takt.WarningCode = "rows_missing"
	// a number was NaN or infinite and is written as 0 or null: a fault of takt
	NotFinite takt.WarningCode = "not_finite"
	// of `takt kafka`: the file of `--properties` has properties without effect here
	Properties takt.WarningCode = "properties"
	// of `takt kafka`: every user of this machine can read the file of `--properties`, which has a password or a key
	SecretReadable takt.WarningCode = "secret_readable"
	// of `takt apm`: an event is larger than apm-server accepts, 307 200 bytes
	EventSize takt.WarningCode = "event_size"
	// of `takt apm`: answers with status 202 report fewer accepted events than takt sent
	EventsMissing takt.WarningCode = "events_missing"
	// of a test of apm-server: the run is not compared with others, with the reasons
	NotComparable takt.WarningCode = "not_comparable"
	// of a test of apm-server: the documents could not be counted
	NotCounted takt.WarningCode = "not_counted"
	// of a test of apm-server: events were still in flight when takt counted the documents
	NotDrained takt.WarningCode = "not_drained"
	// of a test of apm-server: the server dropped events
	EventsDropped takt.WarningCode = "events_dropped"
	// of a test of apm-server: accepted events are not documents, although the server did not drop them
	DocumentsMissing takt.WarningCode = "documents_missing"
	// of a test of apm-server: there are more documents than accepted events
	DocumentsSurplus takt.WarningCode = "documents_surplus"
	// of a test of apm-server: the server's counters went backwards, so it restarted
	ServerRestarted takt.WarningCode = "server_restarted"
	// of a test of apm-server: the server accepted more events than takt sent
	AccountContradicts takt.WarningCode = "account_contradicts"
	// of a test of apm-server: the server counted fewer events than it accepted in its answers
	EventsNotCounted takt.WarningCode = "events_not_counted"
	// of a test of apm-server: the server counted many more events than the accepted ones of this load
	EventsOfOthers takt.WarningCode = "events_of_others"
)
