package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

// The largest number of shards that text and Markdown show, and that a page shows, which has at most 500 KB.
const (
	worstShards = 5
	pageShards  = 50
)

// shard is what a merged report says of one of its shards. A figure of 0 is unknown.
type shard struct {
	Name, Host, Verdict string
	Achieved            float64 // per second
	LagP99, ResponseP99 float64 // µs
	CPU                 float64 // per cent of what the shard can use
}

// shardsOf are those of a merged report, the worst first: invalid ones, then by schedule lag, then by response
// time. It is empty for other reports.
func shardsOf(r *takt.Report) (list []shard) {
	if _, merged := r.Extra["shards"]; !merged {
		return nil
	}
	for _, one := range objects(r.Extra["parts"]) {
		name, _ := one["shard"].(string)
		if name == "" {
			continue
		}
		text := func(key string) string { s, _ := one[key].(string); return page.Clean(s) }
		list = append(list, shard{
			Name: page.Clean(name), Host: text("host"), Verdict: text("verdict"), Achieved: plainNumber(one["achieved_per_s"]),
			LagP99: plainNumber(one["schedule_lag_p99_us"]), ResponseP99: plainNumber(one["response_p99_us"]), CPU: plainNumber(one["cpu_percent"]),
		})
	}
	invalid := func(s shard) int {
		if s.Verdict == string(takt.Invalid) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b shard) int {
		return cmp.Or(cmp.Compare(invalid(a), invalid(b)), cmp.Compare(b.LagP99, a.LagP99), cmp.Compare(b.ResponseP99, a.ResponseP99))
	})
	return list
}

// shards has the worst shards of a merged report, with a column only for what a shard says.
func shards(r *run) part.Part {
	list := shardsOf(r.Report)
	if len(list) == 0 {
		return part.Part{}
	}
	t := &part.Table{ID: "shard-table", Caption: "Shards, the worst first: invalid ones, then by schedule lag, then by response time."}
	for _, c := range []struct {
		title string
		words bool
		of    func(shard) part.Value
	}{
		{"shard", true, func(s shard) part.Value { return part.Quoted(s.Name) }},
		{"host", true, func(s shard) part.Value { return part.Known(s.Host != "", part.Quoted(page.Cut(s.Host, longestHost))) }},
		{"achieved", false, func(s shard) part.Value { return part.Figure(page.Rate(page.Round3(s.Achieved))) }},
		{"lag p99", false, func(s shard) part.Value { return part.Known(s.LagP99 > 0, part.Latency(s.LagP99)) }},
		{"p99", false, func(s shard) part.Value { return part.Known(s.ResponseP99 > 0, part.Latency(s.ResponseP99)) }},
		{"CPU", false, func(s shard) part.Value { return part.Known(s.CPU > 0, part.Figure(fmt.Sprintf("%.0f %%", s.CPU))) }},
		{"verdict", true, func(s shard) part.Value { return part.Words(s.Verdict) }},
	} {
		t.Column(part.Column{Title: c.title, Words: c.words}, len(list), func(i int) part.Value { return c.of(list[i]) })
	}
	t.Rows = t.Rows[:min(len(list), pageShards)]
	for i := range t.Rows {
		if i >= worstShards {
			t.Rows[i].In = part.HTML
		}
		if list[i].Verdict == string(takt.Invalid) {
			t.Rows[i].Tone = part.Warn
		}
	}
	shown := shardsShown(len(list), worstShards)
	one := part.Part{ID: "shards", Title: "Shards", Blocks: []part.Block{{
		Title: shown, Above: []part.Sentence{{In: part.Markdown, Text: page.Capital(shown) + ":"}}, Table: t,
	}}}
	if len(list) > pageShards {
		one.Lead = page.Capital(shardsShown(len(list), pageShards)) + "; the report as JSON has all."
	}
	return one
}

// longestHost is the part of a host's name that is shown, in runes.
const longestHost = 20

// shardsShown says how many of the shards a table shows.
func shardsShown(all, n int) string {
	if all <= n {
		return page.Plural(all, "shard")
	}
	return fmt.Sprintf("the worst %d of %d shards", n, all)
}
