package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// list is a repeatable flag.
type list []string

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

func (l *list) String() string { return strings.Join(*l, ",") }

// labels is a repeatable flag of NAME=VALUE.
type labels map[string]string

func (l *labels) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return fmt.Errorf("label %q has no name; write it as name=value", s)
	}
	if *l == nil {
		*l = labels{}
	}
	(*l)[name] = value
	return nil
}

func (l *labels) String() string {
	var parts []string
	for name, value := range *l {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

func (l *labels) values() map[string]string {
	m := map[string]string{}
	for name, value := range *l {
		m[name] = value
	}
	return m
}

// scrubber replaces every secret that the flags and the driver hold.
func scrubber(fs *goFlagSet, holders ...any) *strings.Replacer {
	var pairs []string
	add := func(v any) {
		if s, ok := v.(takt.Secretive); ok {
			for _, secret := range s.Secrets() {
				pairs = append(pairs, secret, takt.Redacted)
			}
		}
	}
	fs.VisitAll(func(f *goFlag) { add(f.Value) })
	for _, h := range holders {
		add(h)
	}
	return strings.NewReplacer(pairs...)
}

// password is that of a URL, also of one that could not be parsed and of one with
// %40 in it, which a driver knows as @.
var password = regexp.MustCompile(`:[^/\s"]+@`)

func hidePassword(s string) string { return password.ReplaceAllString(s, ":"+takt.Redacted+"@") }
