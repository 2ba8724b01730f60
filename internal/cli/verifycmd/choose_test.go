package verifycmd

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/verify"
)

// Two targets and a command with a schedule make a duet; what a duet cannot play is made in
// pairs; and what was asked for stays as it is. The choice is told, with how to choose the other.
func TestVerifyChooses(t *testing.T) {
	const a, b = "http://127.0.0.1:1/", "http://127.0.0.1:2/"
	for _, c := range []struct {
		base, head, flags, command string
		want                       string // duet, auto, the number of pairs, or nothing
		why                        string
	}{
		{a, b, "", "http --rate 500/s -z 5s", "duet", "a duet: both sides are targets"},
		{a, b, "", "http -rate=500/s -z 5s", "duet", "--pairs auto compares whole runs instead"},
		{a, b, "", "http --stages 5s@1/s", "duet", ""},
		{a, b, "--metric p50", "http --rate 500/s", "duet", ""},
		{a, b, "--block 100ms", "http --rate 500/s", "duet", ""},
		{a, b, "", "replay access.log", "duet", ""},
		{a, b, "", "http -n 100", "auto", "the command has no --rate"},
		{a, b, "", "http --rate 5/s --contrast", "auto", "--contrast comes after --"},
		{a, b, "--max-pairs 12", "http --rate 500/s", "auto", "because --max-pairs is given; --duet sends load to both at once"},
		{a, b, "--metric max_rss", "http --rate 500/s", "auto", "a duet cannot gate max_rss"},
		{a, b, "", "apm --rate 500/s", "auto", "a duet cannot gate"},
		{a, a, "", "http --rate 500/s", "auto", "both sides are the same target"},
		{a, b, "--pairs 8", "http --rate 500/s", "8", ""},
		{a, b, "--duet", "http --rate 500/s", "duet", ""},
		{"one.json", "two.json", "", "", "", ""},
		{"one.json", b, "", "http --rate 500/s", "", ""},
		{a, b, "", "", "", ""},
	} {
		v := &verifyCommand{options: verify.DefaultOptions(), series: series{most: 24}, duet: duet{block: 50 * time.Millisecond}, base: []string{c.base}, head: []string{c.head}, env: core.Env{Settings: &core.Settings{}}}
		words := strings.Fields(c.flags)
		for i, word := range words {
			switch word {
			case "--metric":
				v.options.Metrics = []string{words[i+1]}
			case "--pairs":
				v.series.pairs = words[i+1]
			case "--duet":
				v.duet.on = true
			case "--max-pairs", "--block":
				v.env.Settings.Given = append(v.env.Settings.Given, core.Setting{Name: strings.TrimPrefix(word, "--"), Origin: core.Origin{Kind: core.FromFlag}})
			}
		}
		v.choose(strings.Fields(c.command))
		got := v.series.pairs
		if v.duet.on {
			got = "duet"
		}
		if got != c.want || !strings.Contains(v.chosen, c.why) || (v.chosen != "") != (c.why != "" || c.want == "duet" && c.flags != "--duet") {
			t.Errorf("%s --base %s --head %s -- %s: %q, %q; want %q, %q", c.flags, c.base, c.head, c.command, got, v.chosen, c.want, c.why)
		}
	}
}
