package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

func about(r *run) part.Part { return About(r.Report, true) }

// About has how the run was made: the cost of the load, and in a page the driver's own figures if own, the
// command and the settings.
func About(r *takt.Report, own bool) part.Part {
	extra, floor := "", ""
	if own {
		extra = extras(r.Extra)
	}
	if us := r.Generator.NoiseFloorUS; us > 0 {
		floor = figure.Micros(us)
	}
	one := part.Part{ID: "about", Title: "The run", Last: true, Blocks: []part.Block{
		{In: part.HTML, Title: "Command", Pre: part.CommandLine(r.Command)},
		{In: part.Text | part.HTML, Facts: []part.Fact{
			{Label: "addresses", Says: addresses(r.Extra)},
			{Label: "topics", Says: topics(r.Extra)},
			{Label: "extra", Says: extra},
			{Label: "generator", Says: generator(r.Generator)},
			{Label: "host class", Says: r.Generator.HostClass, In: part.HTML},
			{Label: "noise floor", Says: floor, In: part.HTML},
			{Label: "labels", Says: labels(r, page.Clean), In: part.HTML},
			{Label: "id", Says: r.ID, In: part.HTML},
			{Label: "comparability key", Says: r.ComparabilityKey, In: part.HTML},
			{Label: "takt", Says: r.Tool.Version + " " + r.Tool.Go, In: part.HTML},
		}},
	}}
	if len(r.Variables) > 0 {
		t := &part.Table{Caption: "The settings that shape the load or the target.", Columns: []part.Column{{Title: "variable", Words: true}, {Title: "value", Words: true}}}
		for _, key := range page.Sorted(r.Variables) {
			t.Add(part.Words(key), part.Words(fmt.Sprint(r.Variables[key])))
		}
		one.Blocks = append(one.Blocks, part.Block{In: part.HTML, Fold: "Variables", Table: t})
	}
	if section := ownSection(r); own && section != "" {
		one.Blocks = append(one.Blocks, part.Block{In: part.HTML, Fold: "The driver's own section, as JSON", Pre: section})
	}
	return one
}

// longestOwn is the size of a driver's own section in bytes up to which a page shows it.
const longestOwn = 20_000

// ownSection is the driver's own section; "": the page shows all of it elsewhere, or it is too long.
func ownSection(r *takt.Report) string {
	nested := false
	for _, v := range r.Extra {
		switch v.(type) {
		case map[string]any, []any:
			nested = true
		}
	}
	own, err := json.MarshalIndent(r.Extra, "", "  ")
	if !nested || err != nil || len(own) > longestOwn {
		return ""
	}
	return string(own)
}

// extras are the plain values of the driver's section. Lists and objects are for programs.
func extras(extra map[string]any) string {
	var list []string
	for _, key := range page.Sorted(extra) {
		if extra["targets"] != nil && slices.Contains(shownVolumes(), key) {
			continue // shown with the targets, with their units
		}
		switch v := extra[key].(type) {
		case string, bool, int, int32, int64, uint, uint32, uint64:
			list = append(list, page.Clean(fmt.Sprintf("%s %v", page.Words(key), v)))
		case float64:
			list = append(list, page.Words(key)+" "+page.Float(v))
		}
	}
	return unbroken(list)
}

// addresses are those of a target that has several, over which connections were spread.
func addresses(extra map[string]any) string {
	all, _ := extra["addresses"].([]any)
	var list []string
	for _, addr := range all {
		list = append(list, page.Clean(fmt.Sprint(addr)))
	}
	return unbroken(list)
}

// topics are the records of each topic of a run that has several: written, received, and not read yet.
func topics(extra map[string]any) string {
	all, _ := extra["topics"].(map[string]any)
	var list []string
	for _, name := range page.Sorted(all) {
		one, _ := all[name].(map[string]any)
		text := page.Clean(name)
		for _, f := range []struct{ key, word string }{{"records", " %v written"}, {"received", " %v received"}, {"lag", " lag %v"}} {
			if v, ok := one[f.key]; ok {
				text += fmt.Sprintf(f.word, whole(v))
			}
		}
		list = append(list, text)
	}
	return unbroken(list)
}

// whole is a whole number of the driver's section, which a stored report has as a float.
func whole(v any) any {
	if f, ok := v.(float64); ok {
		return int64(f)
	}
	return v
}

// unbroken joins a list that may be wrapped only between its elements.
func unbroken(list []string) string {
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], " ", page.NoBreak)
	}
	return strings.Join(list, ", ")
}

func generator(g takt.Generator) string {
	if g == (takt.Generator{}) {
		return "" // unknown
	}
	var list []string
	if g.Engine != "" {
		list = append(list, page.Clean(g.Engine)+" engine")
	}
	if g.Loops > 0 {
		list = append(list, page.Plural(g.Loops, "loop"))
	}
	if g.Cores == 0 { // the seconds of a fleet do not say what they cost
		return unbroken(list)
	}
	list = append(list,
		fmt.Sprintf("GOMAXPROCS %d on %s", g.GOMAXPROCS, page.Plural(g.Cores, "core")),
		"CPU "+page.Seconds(g.CPUS).Round(time.Millisecond).String(),
		"max RSS "+page.Size(float64(g.MaxRSS)))
	list = append(list, page.Plural(int(g.GCCycles), "garbage collection"))
	if g.GCCycles > 0 {
		list = append(list, "longest pause "+figure.Micros(g.GCPauseMaxUS))
	}
	return unbroken(list)
}
