package cli

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
)

// A shell completes values by the types of flags, and stored runs, newest first.
func TestCompletion(t *testing.T) {
	store := filepath.Join(t.TempDir(), "runs.db")
	main := func(env string, args ...string) string {
		var out, errs bytes.Buffer
		getenv := func(name string) string {
			if name == "TAKT_STORE" {
				return env
			}
			return ""
		}
		if code := Main(core.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: getenv}, args); code != core.ExitOK {
			t.Fatalf("%q: exit code %d, %s", args, code, errs.String())
		}
		return out.String()
	}
	url := targettest.Serve(t, target.Options{}).URL()
	for _, name := range []string{"one", "two"} {
		main(store, "http", "-n", "5", "-c", "1", "--progress", "none", "--label", "flavour="+name, url)
	}
	for line, want := range map[string]string{
		"http -o ":                "text= json= :2",
		"http -o json=x":          ":2",
		"http --store ":           "elasticsearch:// opensearch:// :2",
		"http --progress ":        "auto line none :4",
		"http --arrivals ":        "uniform poisson gamma: like: :2",
		"http --arrivals like:":   "like: :2", // files may follow
		"replay --jitter ":        "uniform poisson burst :4",
		"kafka produce --client ": "takt franz sarama sarama-async :4",
		"verify --metric p99.":    "p99.9 p99.99 :4",
		"compare --metric ":       "p50 rate :4",
		"collate --sort r":        "report_date revision_date rate :4",
		"collate -o ":             "table csv json markdown html :0",
		"collate fl":              "flavour :4",
		"collate rate_p":          "rate_per_s :4",
		"trace stats -o ":         "text json :4",
		"http --help-":            "--help-all",
		"fleet --shards 2 -- ":    "http kafka capacity verify :4",
		"fleet -- kafka ":         "produce consume e2e :4",
		"fleet -- http --ra":      "--rate :4",
		"fleet -- http --body-f":  "--body-file :4",
		"fleet -- http ":          ":0",
		"fleet -- s":              ":4", // neither store nor show
		"fleet ma":                "manifest",
		"http --body-file ":       ":0",
		"show ./":                 ":0",
	} {
		words := strings.Fields(line)
		if strings.HasSuffix(line, " ") {
			words = append(words, "")
		}
		var got []string
		for row := range strings.Lines(main(store, append([]string{"__complete"}, words...)...)) {
			word, _, _ := strings.Cut(strings.TrimSpace(row), "\t")
			got = append(got, word)
		}
		for _, word := range strings.Fields(want) {
			if !slices.Contains(got, word) {
				t.Errorf("%s: %q, want %s", line, got, want)
				break
			}
		}
		if strings.HasPrefix(line, "fleet -- s") && len(got) != len(strings.Fields(want)) {
			t.Errorf("%s: %q, want only %s", line, got, want)
		}
	}
	for _, line := range []string{"show ", "compare ", "merge ", "verify --base ", "verify --head ", "capacity --from "} {
		rows := strings.Split(main(store, append(append([]string{"__complete"}, strings.Fields(line)...), "")...), "\n")
		newer, older, ok := rows[0], rows[1], len(rows) > 2
		if !ok || newer <= older || !strings.Contains(newer, "http 127.0.0.1:") || !strings.HasSuffix(newer, ", valid") {
			t.Errorf("%s: %q", line, rows)
		}
		id, _, _ := strings.Cut(older, "\t")
		if got := main("", append(append([]string{"__complete"}, strings.Fields(line)[0], "--store", store), append(strings.Fields(line)[1:], id)...)...); !strings.HasPrefix(got, older+"\n:") {
			t.Errorf("%s of --store: %q, want only %q", line, got, older)
		}
	}
	if got := main(filepath.Join(t.TempDir(), "none.db"), "__complete", "show", ""); !strings.HasPrefix(got, ":") {
		t.Errorf("without a store: %q", got)
	}
}
