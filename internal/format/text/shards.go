package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/pkg/takt"
)

// shownShards is the largest number of shards that the text and Markdown show.
const shownShards = 5

// Shard is what a merged report says of one of its shards. A figure of 0 is unknown.
type Shard struct {
	Name, Host, Verdict string
	Achieved            float64 // per second
	LagP99, ResponseP99 float64 // µs
	CPU                 float64 // per cent of what the shard can use
}

// Shards are those of a merged report, the worst first: invalid ones, then by schedule lag, then by response
// time. It is empty for other reports.
func Shards(r *takt.Report) (list []Shard) {
	if _, merged := r.Extra["shards"]; !merged {
		return nil
	}
	parts, _ := r.Extra["parts"].([]any)
	for _, v := range parts {
		part, _ := v.(map[string]any)
		name, _ := part["shard"].(string)
		if name == "" {
			continue
		}
		text := func(key string) string { s, _ := part[key].(string); return page.Clean(s) }
		list = append(list, Shard{
			Name: page.Clean(name), Host: text("host"), Verdict: text("verdict"), Achieved: plainNumber(part["achieved_per_s"]),
			LagP99: plainNumber(part["schedule_lag_p99_us"]), ResponseP99: plainNumber(part["response_p99_us"]), CPU: plainNumber(part["cpu_percent"]),
		})
	}
	invalid := func(s Shard) int {
		if s.Verdict == string(takt.Invalid) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Shard) int {
		return cmp.Or(cmp.Compare(invalid(a), invalid(b)), cmp.Compare(b.LagP99, a.LagP99), cmp.Compare(b.ResponseP99, a.ResponseP99))
	})
	return list
}

// ShardTable is a table of at most n of the shards, its head first. Its first words columns are texts, and
// its last one. It has a column only for what a shard says.
func ShardTable(list []Shard, n int) (table [][]string, words int) {
	known := func(f func(Shard) float64) bool {
		return slices.ContainsFunc(list, func(s Shard) bool { return f(s) > 0 })
	}
	hosts := slices.ContainsFunc(list, func(s Shard) bool { return s.Host != "" })
	columns := []struct {
		name  string
		value func(Shard) string
		shown bool
	}{
		{"shard", func(s Shard) string { return s.Name }, true},
		{"host", func(s Shard) string { return page.Cut(s.Host, longestHost) }, hosts},
		{"achieved", func(s Shard) string { return page.Rate(page.Round3(s.Achieved)) }, true},
		{"lag p99", func(s Shard) string { return orDash(s.LagP99, figure.Micros) }, known(func(s Shard) float64 { return s.LagP99 })},
		{"p99", func(s Shard) string { return orDash(s.ResponseP99, figure.Micros) }, known(func(s Shard) float64 { return s.ResponseP99 })},
		{"CPU", func(s Shard) string {
			return orDash(s.CPU, func(v float64) string { return fmt.Sprintf("%.0f %%", v) })
		}, known(func(s Shard) float64 { return s.CPU })},
		{"verdict", func(s Shard) string { return s.Verdict }, true},
	}
	table = make([][]string, 1+min(n, len(list)))
	for _, c := range columns {
		if !c.shown {
			continue
		}
		table[0] = append(table[0], c.name)
		for i, s := range list[:len(table)-1] {
			table[1+i] = append(table[1+i], c.value(s))
		}
	}
	words = 1
	if hosts {
		words = 2
	}
	return table, words
}

// longestHost is the part of a host's name that is shown, in runes.
const longestHost = 20

// orDash is a figure, or a dash if it is unknown.
func orDash(v float64, format func(float64) string) string {
	if v == 0 {
		return "–"
	}
	return format(v)
}

// ShardsShown says how many of the shards a table shows.
func ShardsShown(all, n int) string {
	if all <= n {
		return page.Plural(all, "shard")
	}
	return fmt.Sprintf("the worst %d of %d shards", n, all)
}

// shardLines writes the worst shards of a merged report.
func shardLines(p *page.Page, r *takt.Report) {
	list := Shards(r)
	if len(list) == 0 {
		return
	}
	table, words := ShardTable(list, shownShards)
	page.Align(table, func(column int) bool { return column >= words && column < len(table[0])-1 })
	p.Linef("")
	p.Linef("%s", p.Paint(page.Bold, ShardsShown(len(list), shownShards)))
	for i, row := range table {
		line := "  " + strings.Join(row, "  ")
		if i > 0 && strings.TrimSpace(row[len(row)-1]) == string(takt.Invalid) {
			line = p.Paint(page.Yellow, line)
		}
		p.Linef("%s", line)
	}
}

// markdownShards is shardLines in Markdown.
func markdownShards(b *strings.Builder, r *takt.Report) {
	list := Shards(r)
	if len(list) == 0 {
		return
	}
	table, words := ShardTable(list, shownShards)
	shown := ShardsShown(len(list), shownShards)
	fmt.Fprintf(b, "\n%s:\n\n", strings.ToUpper(shown[:1])+shown[1:])
	for i, row := range table {
		b.WriteString("|")
		for j, cell := range row {
			if i > 0 && j < words {
				cell = page.Cell(cell)
			} else {
				cell = page.Escape(cell)
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", words) + strings.Repeat("---:|", len(row)-words-1) + "---|\n")
		}
	}
}
