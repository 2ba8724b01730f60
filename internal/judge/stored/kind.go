package stored

import (
	"slices"
	"strings"
)

// Kind is what the commands that read reports know about a kind of load.
type Kind struct {
	Name      string
	Variables []string // variables to collate by, for the help
	Leading   []string // settings that collate always shows for a group, in this order
	Columns   []string // metrics of collate
	Judges    []string // two metrics that decide which row of collate is best; the second if no run has the first
	Gated     []string // metrics that decide in verify
	HeyApm    bool     // collate's columns are named and ordered as in hey-apm
}

// KindCapacity is the kind of an answer of takt capacity.
const KindCapacity = "capacity"

// every applies to all loads; a kind without metrics of its own uses those of every.
var every = Kind{
	Variables: strings.Fields("duration_s requests rate_per_s rate stages arrivals overflow connections max_in_flight"),
	Leading:   strings.Fields("service method host path rate_per_s rate stages duration_s requests connections"),
	Columns:   strings.Fields("rate p50 p99 p99.9 errors"),
	Judges:    strings.Fields("p99 rate"),
	Gated:     strings.Fields("p50 p99 errors rate"),
}

// kinds is the only place that knows the names of kinds of load.
var kinds = []Kind{
	{Name: "http", Variables: strings.Fields("method scheme host path protocol client keepalive compression timeout_s user_agent headers content_type body_bytes")},
	{Name: "replay", Variables: strings.Fields("log speed jitter sample methods tail")},
	{Name: "kafka", Variables: strings.Fields("brokers topic acks compression message_bytes batch_records batch_bytes linger_s workers idempotence")},
	{Name: "jms", Variables: strings.Fields("url destinations producers consumers threads max_pending message_bytes persistent ack")},
	{
		Name:      "apm",
		Variables: strings.Fields("events transactions errors spans frames workers profile intake stream apm_host apm_servers"),
		Leading:   strings.Fields("duration_s events spans frames workers"),
		Columns:   strings.Fields("pushed accepted throughput latency index max_rss efficiency p50 p99"),
		Judges:    strings.Fields("efficiency p99"),
		Gated:     strings.Fields("p50 p99 errors rate accepted index efficiency max_rss"),
		HeyApm:    true,
	},
	{
		Name:      "llm",
		Variables: strings.Fields("api model host path prompts prompt_tokens max_tokens prefix_tokens prefixes turns think extra slo timeout_s"),
		Leading:   strings.Fields("model host path rate_per_s rate stages duration_s requests connections"),
		Columns:   strings.Fields("rate ttft.p50 ttft.p99 tpot.p50 maxgap.p99 goodput errors"),
		Judges:    strings.Fields("ttft.p99 rate"),
		Gated:     strings.Fields("ttft.p50 ttft.p99 tpot.p50 errors rate"),
	},
	{Name: "grpc", Variables: strings.Fields("service method streams messages scheme host protocol keepalive timeout_s deadline_s gzip headers")},
	{Name: "test in the shell", Variables: strings.Fields("memory_limit_bytes cpu_limit elastic_host")},
}

// KindOf returns the kind of load with that name in reports.
func KindOf(name string) Kind {
	k := Kind{Name: name}
	if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name }); i >= 0 {
		k = kinds[i]
	}
	if k.Gated == nil {
		k.Leading, k.Columns, k.Judges, k.Gated = every.Leading, every.Columns, every.Judges, every.Gated
	}
	return k
}

// HelpVariables returns the kinds of load whose variables the help lists. The first one stands for
// every load.
func HelpVariables() []Kind { return append([]Kind{every}, kinds...) }
