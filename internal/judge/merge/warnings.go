package merge

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// said is a warning of some shards.
type said struct {
	takt.Warning
	shards []string // in order
}

// few is the largest number of shards whose warnings of one code are told one by one. Of more, the worst
// few are told, with the number of all.
const few = 3

// unitedWarnings returns the warnings of the shards. Those of a code that few shards have, or that say the
// same in all of them, keep their sentences with the names of their shards. It leaves out dropped
// operations, which the verdict counts for the whole.
func unitedWarnings(list []shard) (all []takt.Warning) {
	for _, same := range byCode(list) {
		shards := map[string]bool{}
		for _, w := range same {
			for _, name := range w.shards {
				shards[name] = true
			}
		}
		if len(same) > 1 && len(shards) > few {
			all = append(all, collapsed(same, len(shards), len(list)))
			continue
		}
		for _, w := range same {
			all = append(all, w.united(len(list)))
		}
	}
	return all
}

// byCode are the warnings by code, in the order in which the codes first appear.
func byCode(list []shard) (codes [][]said) {
	at := map[string]int{}
	index := map[takt.Warning]int{} // in its code
	for _, s := range list {
		for _, w := range s.Warnings {
			if w.Code == "dropped" {
				continue
			}
			i, known := at[w.Code]
			if !known {
				i = len(codes)
				at[w.Code], codes = i, append(codes, nil)
			}
			j, known := index[w]
			if !known {
				j = len(codes[i])
				index[w], codes[i] = j, append(codes[i], said{Warning: w})
			}
			if to := &codes[i][j]; len(to.shards) == 0 || to.shards[len(to.shards)-1] != s.Schedule.Shard {
				to.shards = append(to.shards, s.Schedule.Shard)
			}
		}
	}
	return codes
}

// united is the warning with the names of its shards. A warning of all shards needs no names unless it
// contains a number, which would look like a number of the whole.
func (w said) united(all int) takt.Warning {
	switch {
	case len(w.shards) == all && !strings.ContainsAny(w.Message, "0123456789"):
	case len(w.shards) == 1:
		w.Message = "shard " + w.shards[0] + ": " + w.Message
	default:
		w.Message = "each of the shards " + verdict.Named(w.shards) + ": " + w.Message
	}
	return w.Warning
}

// collapsed is one warning for those of n of all shards: how many, and the worst few.
func collapsed(same []said, n, all int) takt.Warning {
	list := slices.Clone(same)
	which := "the first"
	if sizes, ok := sizesOf(same); ok {
		which = "the worst"
		order := make([]int, len(same))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
		for to, from := range order {
			list[to] = same[from]
		}
	}
	list = list[:min(few, len(list))]
	advice := adviceOf(list)
	var told []string
	for _, w := range list {
		name := "shard " + w.shards[0]
		if more := len(w.shards) - 1; more > 0 {
			name += fmt.Sprintf(" and %d more", more)
		}
		told = append(told, name+": "+strings.TrimSuffix(w.Message, advice))
	}
	return takt.Warning{Code: same[0].Code, Message: fmt.Sprintf("%d of %d shards, %s: %s", n, all, which, strings.Join(told, "; ")+advice)}
}

// adviceOf is what follows the first semicolon of all the warnings, which usually says what to do. It is
// told once.
func adviceOf(list []said) string {
	_, advice, _ := strings.Cut(list[0].Message, "; ")
	if advice == "" || slices.ContainsFunc(list, func(w said) bool { return !strings.HasSuffix(w.Message, "; "+advice) }) {
		return ""
	}
	return "; " + advice
}

// size is the first figure of a warning, with what is before it, its unit, and the next word, which may be
// the unit.
var size = regexp.MustCompile(`^([^0-9]*)([0-9][0-9.]*)(\S*)( \S*)?`)

// sizesOf returns the first figure of each warning, if the sentences are alike up to its unit, so that the
// largest is the worst. A sentence whose first figure is a duration may have any unit of time.
func sizesOf(same []said) (sizes []float64, alike bool) {
	var before, unit, next string
	for i, w := range same {
		m := size.FindStringSubmatch(w.Message)
		if m == nil {
			return nil, false
		}
		v, err := strconv.ParseFloat(m[2], 64)
		if d, bad := time.ParseDuration(m[2] + strings.TrimRight(m[3], ",;:)")); bad == nil && m[3] != "" {
			v, err, m[3], m[4] = d.Seconds(), nil, "s", ""
		}
		if err != nil || i > 0 && (m[1] != before || m[3] != unit || m[4] != next) {
			return nil, false
		}
		before, unit, next = m[1], m[3], m[4]
		sizes = append(sizes, v)
	}
	return sizes, true
}
