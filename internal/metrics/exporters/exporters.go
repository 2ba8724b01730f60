// Package exporters is the table of the systems to which takt exports the figures of a run, and the flag
// --export.
package exporters

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/graphite"
	"github.com/taktload/takt/internal/metrics/influx"
	"github.com/taktload/takt/internal/metrics/openmetrics"
	"github.com/taktload/takt/internal/metrics/otlp"
	"github.com/taktload/takt/internal/metrics/remotewrite"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Kind is a row of the table.
type Kind struct {
	Name  string
	Where string // what follows KIND=, for help
	// Parse reads what follows KIND=. It does not set Shown to more than WHERE: the flag adds KIND=.
	Parse func(where string) (metrics.Destination, error)
}

// Kinds is the table.
func Kinds() []Kind {
	return []Kind{
		{"openmetrics", openmetrics.Where, openmetrics.Parse},
		{"graphite", graphite.Where, graphite.Parse},
		{"influx", influx.Where, influx.Parse},
		{"otlp", otlp.Where, otlp.Parse},
		{"remote-write", remotewrite.Where, remotewrite.Parse},
	}
}

// Parse reads KIND=WHERE.
func Parse(text string) (metrics.Destination, error) {
	name, where, ok := strings.Cut(text, "=")
	if !ok || where == "" {
		return metrics.Destination{}, fmt.Errorf("%.20q says no place; write KIND=WHERE, such as openmetrics=takt.prom", name)
	}
	for _, k := range Kinds() {
		if k.Name == name {
			d, err := k.Parse(where)
			d.Shown = name + "=" + d.Shown
			return d, err
		}
	}
	return metrics.Destination{}, fmt.Errorf("%.20q is unknown; use %s", name, strings.Join(names(), ", "))
}

// Usage lists the kinds for help: openmetrics=FILE, graphite=HOST:PORT.
func Usage() string {
	var list []string
	for _, k := range Kinds() {
		list = append(list, k.Name+"="+k.Where)
	}
	return strings.Join(list, ", ")
}

func names() (list []string) {
	for _, k := range Kinds() {
		list = append(list, k.Name)
	}
	return list
}

// flag is the value of --export.
type flag struct{ list *[]metrics.Destination }

// Flag is the repeatable flag --export. It does not print itself: a value may have a password.
func Flag(list *[]metrics.Destination) value.Flag { return flag{list} }

// Set implements pflag.Value. An empty text replaces the settings of the environment by none.
func (f flag) Set(text string) error {
	if text == "" {
		return nil
	}
	d, err := Parse(text)
	if err == nil {
		*f.list = append(*f.list, d)
	}
	return err
}

// String implements pflag.Value.
func (flag) String() string { return "" }

// Type implements pflag.Value.
func (flag) Type() string { return "list" }

// Repeats implements value.Repeater.
func (flag) Repeats() {}

// Choices implements value.Chooser.
func (flag) Choices() (words []string) {
	for _, k := range Kinds() {
		words = append(words, k.Name+"=")
	}
	return words
}

// Names implements value.Flag.
func (flag) Names(text string) []value.Name {
	d, err := Parse(text)
	if err != nil {
		return nil // Set refuses the text
	}
	return d.Names
}

// Redact implements core.Redacter.
func (flag) Redact(text string) string {
	d, err := Parse(text)
	if err != nil {
		return takt.Redacted
	}
	return d.Shown
}

// Secrets implements takt.Secretive.
func (f flag) Secrets() (list []string) {
	for _, d := range *f.list {
		list = append(list, d.Secrets...)
	}
	return list
}
