package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
)

// head is a header line before the first step, for all steps that have its values and no such header themselves.
type head struct {
	http1.Field
	line int
	used bool
}

// takeHead takes a header line before the first step.
func (r *scenarioReader) takeHead(text string) bool {
	name, v, ok := strings.Cut(text, ":")
	if _, _, starts := startOfStep(text); starts || !ok || name == "" || strings.ContainsAny(name, " @/{") {
		return false
	}
	r.heads = append(r.heads, head{Field: http1.Field{Name: name, Value: strings.TrimSpace(v)}, line: r.line})
	return true
}

// addHeads adds the headers of all steps to those of a step.
func (r *scenarioReader) addHeads(header []http1.Field, s *Step, body bool, where *lines) []http1.Field {
	for i := range r.heads {
		h := &r.heads[i]
		if httpreq.Header(header).Has(h.Name) || strings.EqualFold(h.Name, "Content-Type") && !body || !r.canFill(h.Value, s) {
			continue
		}
		h.used, where.header[h.Name] = true, h.line
		header = append(header, h.Field)
	}
	return header
}

// canFill reports whether a step has the values in a text.
func (r *scenarioReader) canFill(text string, s *Step) bool {
	env := *r.env
	env.Values = append(slices.Clone(env.Values), s.repeat.Name)
	for _, one := range s.Sets {
		env.Values = append(env.Values, one.Name)
	}
	_, err := env.Parse("", text)
	return !errors.Is(err, payload.ErrUnknown)
}

// checkHeads finds headers of all steps that no step has.
func (r *scenarioReader) checkHeads() error {
	for _, h := range r.heads {
		if !h.used {
			return r.at(h.line, fmt.Errorf("no step has the header %s: none has the values in it, or each has such a header of its own; correct the header, or leave it out", h.Name))
		}
	}
	return nil
}
