package jms

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/value"
)

// destination is a queue or a topic.
type destination struct {
	name  string
	topic bool
}

// parseDestinations reads topic://NAME, queue://NAME or NAME, each of which becomes NAME0,
// NAME1, … if each is above 1. The default is TEST: a topic if subscriptions are durable.
func parseDestinations(args []string, durable bool, each int) (list []destination, faults []error) {
	if len(args) == 0 {
		args = []string{"queue://TEST"}
		if durable {
			args[0] = "topic://TEST"
		}
	}
	seen := map[destination]bool{}
	for _, a := range args {
		scheme, name, found := strings.Cut(a, "://")
		if !found {
			name = a
		}
		if name == "" {
			faults = append(faults, fmt.Errorf("bad destination %q; write queue://NAME or topic://NAME", a))
		}
		for i := range max(0, min(each, maxLinks)) {
			d := destination{name, found && scheme == "topic"}
			if each > 1 {
				d.name += itoa(i)
			}
			if seen[d] {
				faults = append(faults, value.Faultf("destination %s is there twice; name it once, and raise --producers or --consumers", d))
			}
			seen[d] = true
			list = append(list, d)
		}
	}
	if len(list) > maxLinks {
		faults = append(faults, fmt.Errorf("%d destinations; use at most %d", len(list), maxLinks))
	}
	return list, faults
}

func (d destination) kind() string {
	if d.topic {
		return "topic"
	}
	return "queue"
}

func (d destination) String() string { return d.kind() + "://" + d.name }

func names(list []destination) []string {
	var all []string
	for _, d := range list {
		all = append(all, d.String())
	}
	return all
}
