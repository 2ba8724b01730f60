package format

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

const (
	maxClasses = 10  // largest number of error classes shown; the format json has all
	maxBody    = 140 // largest part of a body shown, in runes
)

// failures writes result codes and error classes.
func failures(p *page, r *takt.Report) error {
	if len(r.Status)+len(r.Errors) > 0 {
		p.linef("")
	}
	var codes []string
	for _, code := range byLength(sorted(r.Status)) {
		codes = append(codes, fmt.Sprintf("%s%s×%[2]s%[3]d", clean(code), noBreak, r.Status[code]))
	}
	p.item("status", strings.Join(codes, ", "))
	if len(r.Errors) > 0 {
		p.linef("%s", p.paint(bold, "errors"))
	}
	ended := float64(r.Counts.OK + r.Counts.Failed + r.Counts.Unfinished)
	for i, e := range r.Errors {
		if i == maxClasses {
			more(p, r.Errors[i:])
			break
		}
		errorClass(p, e, ended)
	}
	return nil
}

// byLength sorts shorter codes first, so that numbers are in numerical order.
func byLength(codes []string) []string {
	slices.SortStableFunc(codes, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return codes
}

func errorClass(p *page, e takt.ErrorClass, ended float64) {
	p.linef("  %s %s", left(clean(e.Class), 18), fmt.Sprintf("%d (%s)", e.Count, percent(float64(e.Count), ended)))
	if s := clean(e.Sample); s != "" {
		p.bullet("  ", s)
	}
	if s := cut(clean(e.Body), maxBody); s != "" {
		p.bullet("  body: ", s)
	}
}

func more(p *page, rest []takt.ErrorClass) {
	var n uint64
	for _, e := range rest {
		n += e.Count
	}
	p.linef("  %s %d", left("and "+plural(len(rest), "more kind"), 18), n)
}

// footer writes the driver's own figures and the cost of the run.
func footer(p *page, r *takt.Report) error {
	p.linef("")
	p.item("extra", extras(r.Extra))
	p.item("generator", generator(r.Generator))
	return nil
}

// extras are the plain values of the driver's section. Lists and objects are for programs.
func extras(extra map[string]any) string {
	var list []string
	for _, key := range sorted(extra) {
		if extra["targets"] != nil && slices.Contains(shownVolumes(), key) {
			continue // shown with the targets, with their units
		}
		switch v := extra[key].(type) {
		case string, bool, int, int32, int64, uint, uint32, uint64:
			list = append(list, clean(fmt.Sprintf("%s %v", words(key), v)))
		case float64:
			list = append(list, words(key)+" "+float(v))
		}
	}
	return unbroken(list)
}

// unbroken joins a list that may be wrapped only between its elements.
func unbroken(list []string) string {
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], " ", noBreak)
	}
	return strings.Join(list, ", ")
}

func generator(g takt.Generator) string {
	if g == (takt.Generator{}) {
		return "" // unknown
	}
	var list []string
	if g.Engine != "" {
		list = append(list, clean(g.Engine)+" engine")
	}
	if g.Loops > 0 {
		list = append(list, plural(g.Loops, "loop"))
	}
	list = append(list,
		fmt.Sprintf("GOMAXPROCS %d on %s", g.GOMAXPROCS, plural(g.Cores, "core")),
		"CPU "+seconds(g.CPUS).Round(time.Millisecond).String(),
		"max RSS "+size(float64(g.MaxRSS)))
	list = append(list, plural(int(g.GCCycles), "garbage collection"))
	if g.GCCycles > 0 {
		list = append(list, "longest pause "+human(g.GCPauseMaxUS))
	}
	return unbroken(list)
}
