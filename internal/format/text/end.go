package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/pkg/takt"
)

const (
	maxClasses = 10  // largest number of error classes shown; the format json has all
	maxBody    = 140 // largest part of a body shown, in runes
)

// failures writes result codes and error classes.
func failures(p *page.Page, r *takt.Report) {
	if len(r.Status)+len(r.Errors) > 0 {
		p.Linef("")
	}
	var codes []string
	for _, code := range byLength(page.Sorted(r.Status)) {
		codes = append(codes, fmt.Sprintf("%s%s×%[2]s%[3]d", page.Clean(code), page.NoBreak, r.Status[code]))
	}
	p.Item("status", strings.Join(codes, ", "))
	if len(r.Errors) > 0 {
		p.Linef("%s", p.Paint(page.Bold, "errors"))
	}
	ended := float64(r.Counts.OK + r.Counts.Failed + r.Counts.Unfinished)
	for i, e := range r.Errors {
		if i == maxClasses {
			more(p, r.Errors[i:])
			break
		}
		errorClass(p, e, ended)
	}
}

// byLength sorts shorter codes first, so that numbers are in numerical order.
func byLength(codes []string) []string {
	slices.SortStableFunc(codes, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return codes
}

func errorClass(p *page.Page, e takt.ErrorClass, ended float64) {
	p.Linef("  %s %s", page.Left(page.Clean(e.Class), 18), fmt.Sprintf("%d (%s)", e.Count, page.Percent(float64(e.Count), ended)))
	if s := page.Clean(e.Sample); s != "" {
		p.Bullet("  ", s)
	}
	if s := page.Cut(page.Clean(e.Body), maxBody); s != "" {
		p.Bullet("  body: ", s)
	}
}

func more(p *page.Page, rest []takt.ErrorClass) {
	var n uint64
	for _, e := range rest {
		n += e.Count
	}
	p.Linef("  %s %d", page.Left("and "+page.Plural(len(rest), "more kind"), 18), n)
}

// footer writes the driver's own figures and the cost of the run.
func footer(p *page.Page, r *takt.Report) {
	p.Linef("")
	p.Item("addresses", addresses(r.Extra))
	p.Item("topics", topics(r.Extra))
	p.Item("extra", extras(r.Extra))
	p.Item("generator", generator(r.Generator))
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
