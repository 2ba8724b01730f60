package heyapm

// document has the fields of hey-apm's reports under all names that they had: those of
// 2018 (before commit 02fe43b), after it, and of the protocol v2 (api_version).
type document struct {
	ReportID  string `json:"report_id"`
	Date      string `json:"report_date"`
	Timestamp int64  `json:"timestamp"` // seconds since 1970
	At        string `json:"@timestamp"`
	RevDate   string `json:"rev_date"`
	Host      string `json:"reporter_host"`
	Reporter  string `json:"reporter_revision"`
	Branch    string `json:"branch"`
	Revision  string `json:"revision"`
	Label     string `json:"label"`
	APIs      string `json:"api_version"`

	Duration int64 `json:"duration"` // ns, as asked for
	Elapsed  int64 `json:"elapsed"`  // ns, as it was

	// What was sent.
	Events       *int64 `json:"events"`
	Errors       *int64 `json:"errors"`
	Transactions *int64 `json:"transactions"`
	Spans        int64  `json:"spans"`
	Frames       int64  `json:"frames"`
	Concurrency  *int64 `json:"concurrency"`
	Agents       *int64 `json:"agents"`
	Throttle     *int64 `json:"throttle"`
	Stream       *bool  `json:"stream"`
	Timeout      *int64 `json:"request_timeout"` // ns
	ReqSize      *int64 `json:"req_size"`        // bytes, uncompressed
	RequestSize  *int64 `json:"request_size"`
	BodySize     *int64 `json:"body_size"`

	// The server.
	URL        string   `json:"apm_url"`
	APMHost    string   `json:"apm_host"`
	Servers    *int64   `json:"num_apm"`
	ElasticURL string   `json:"elastic_url"`
	Flags      string   `json:"apm_flags"`
	Limit      *int64   `json:"limit"` // bytes; -1: none
	MaxRSS     *float64 `json:"max_rss"`

	// What came of it.
	TotalRes       *int64 `json:"total_res"`
	TotalResponses *int64 `json:"total_responses"`
	TotalRes202    *int64 `json:"total_res202"`
	Accepted       *int64 `json:"accepted_responses"`
	TotalIndexed   *int64 `json:"total_indexed"`
	Indexed        *int64 `json:"actual_indexed_docs"`
	Flushes        *int64 `json:"request_flushes"`

	// What hey-apm computed itself; taken where it cannot be computed again.
	Pushed        *float64 `json:"pushed"` // bytes
	PushedBPS     *float64 `json:"pushed_bps"`
	AcceptedBPS   *float64 `json:"accepted_bps"`
	LatencyMS     *float64 `json:"latency_ms"`
	Throughput    *float64 `json:"throughput"`
	ActualOfWhole *float64 `json:"actual_expected_ratio"`
	Efficiency    *float64 `json:"efficiency"`
	Cancelled     bool     `json:"cancelled"`
}
