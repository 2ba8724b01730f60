package cli

import (
	"fmt"
	"slices"
	"strings"
)

// labels is the value of a repeatable flag NAME=VALUE.
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
