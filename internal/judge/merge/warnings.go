package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/internal/warn"
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
	type sentence struct {
		code takt.WarningCode
		text string
	}
	at := map[takt.WarningCode]int{}
	index := map[sentence]int{} // in its code
	for _, s := range list {
		for _, w := range s.Warnings {
			if w.Code == warn.Dropped {
				continue
			}
			i, known := at[w.Code]
			if !known {
				i = len(codes)
				at[w.Code], codes = i, append(codes, nil)
			}
			key := sentence{w.Code, w.Message}
			j, known := index[key]
			if !known {
				j = len(codes[i])
				index[key], codes[i] = j, append(codes[i], said{Warning: w})
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
	list, alike := ranked(same)
	which := "the first"
	if alike {
		which = "the worst"
	}
	list = list[:min(few, len(list))]
	advice := adviceOf(list)
	var told []string
	for _, w := range list {
		name := "shard " + w.shards[0]
		if more := len(w.shards) - 1; more > 0 {
			name += fmt.Sprintf(" and %d more", more)
		}
		told = append(told, name+": "+strings.TrimSuffix(w.Message, "; "+advice))
	}
	format, args := "%d of %d shards, %s: %s", []any{takt.Number("shards", n), takt.Number("all", all), which, strings.Join(told, "; ")}
	if advice != "" {
		format, args = format+"; %s", append(args, takt.Advice(advice))
	}
	w := takt.Words{}.Warning(same[0].Code, format, args...)
	if alike {
		w.Fields = append(w.Fields, list[0].Fields...)
	}
	return w
}

// adviceOf is the advice at the end of all the warnings, which is told once; "": they have not the same.
func adviceOf(list []said) string {
	advice := list[0].Advice
	if slices.ContainsFunc(list, func(w said) bool { return w.Advice != advice || !strings.HasSuffix(w.Message, "; "+advice) }) {
		return ""
	}
	return advice
}

// ranked sorts the warnings by their first field, the largest first. Without the same field in all it reports
// false.
func ranked(same []said) (list []said, alike bool) {
	for _, w := range same {
		if len(w.Fields) == 0 || w.Fields[0].Name != same[0].Fields[0].Name || w.Fields[0].Unit != same[0].Fields[0].Unit {
			return same, false
		}
	}
	list = slices.Clone(same)
	slices.SortStableFunc(list, func(a, b said) int { return cmp.Compare(b.Fields[0].Value, a.Fields[0].Value) })
	return list, true
}
