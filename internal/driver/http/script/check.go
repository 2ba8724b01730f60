package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// ClassCheck is the class of an answer that is not what a check of the scenario wants.
const ClassCheck = "check"

// Check is one @check of a step.
type Check struct {
	session.Check
	Want   *payload.Template        // Check.Value
	Status *httpreq.FailOn          // of a check of the status: those that it accepts; nil: it is another check
	size   func(bytes float64) bool // nil: it is another check
	Timed  bool                     // a time has to be below limit
	Limit  time.Duration
	Due    bool // the time is since the due instant, not since the request was sent
}

// checks is how a check is written, in errors.
const checks = "status 200,3xx, json PATH == VALUE, header NAME, cookie NAME, regexp EXPRESSION, body contains TEXT, size < 10kB, response < 500ms (since the step was due) or service < 500ms (since it was sent)"

// parseCheck reads what follows @check.
func parseCheck(text string) (*Check, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	c := &Check{Check: session.Check{Text: text}}
	if n, err := strconv.Atoi(word); err == nil && n >= 100 && n < 600 {
		return nil, fmt.Errorf("check %.60q: it begins with a status; write @check status %d", text, n)
	}
	switch word {
	case "status":
		c.Status = new(httpreq.FailOn)
		if err := c.Status.Set(strings.TrimSpace(strings.TrimPrefix(rest, "=="))); err != nil || rest == "none" {
			return nil, fmt.Errorf("check %.60q: %.30q is not a list of statuses; write @check status 200,3xx", text, rest)
		}
		return c, nil
	case "size":
		limit, less, ok := bound(rest)
		size, isSize := value.ParseSize(limit)
		if !ok || !isSize || size < 0 || less && size == 0 {
			return nil, fmt.Errorf("check %.60q: %.30q is not a limit of a size; write @check size < 10kB, or > for at least", text, rest)
		}
		c.size = func(bytes float64) bool { return (bytes < size) == less && bytes != size }
		return c, nil
	case "response", "service":
		limit, less, ok := bound(rest)
		d, err := schedule.ParseDuration(limit)
		if !ok || err != nil || !less || d <= 0 {
			return nil, fmt.Errorf("check %.60q: %.30q is not a limit of a time; write @check %s < 500ms", text, rest, word)
		}
		c.Timed, c.Limit, c.Due = true, d, word == "response"
		return c, nil
	case "time", "duration":
		return nil, fmt.Errorf("check %.60q: which time? write @check response %s for the time since the step was due, or @check service %[2]s since it was sent", text, rest)
	}
	one, err := session.ParseCheck(text)
	if err != nil {
		return nil, fmt.Errorf("check %.60q: %w; a check is %s", text, err, checks)
	}
	c.Check = one
	return c, nil
}

// bound reads < LIMIT or > LIMIT.
func bound(text string) (limit string, less, ok bool) {
	if limit, ok = strings.CutPrefix(text, "<"); ok {
		return strings.TrimSpace(limit), true, true
	}
	limit, ok = strings.CutPrefix(text, ">")
	return strings.TrimSpace(limit), false, ok
}

// Reads reports whether c looks at the body of an answer.
func (c *Check) Reads() bool { return c.size != nil || c.Status == nil && !c.Timed && c.InBody() }

// Fails is what is wrong with an answer; nil: c holds. values are those that headers had, and want is what they are
// compared with.
func (c *Check) Fails(status int, body http1.Content, values [][]byte, want string) error {
	switch {
	case c.Status != nil && c.Status.Class(status) == "":
		return fmt.Errorf("%w %q: it is %d", session.ErrCheck, c.Text, status)
	case c.size != nil && !c.size(float64(body.Size)):
		return fmt.Errorf("%w %q: it is %d bytes", session.ErrCheck, c.Text, body.Size)
	case c.Status != nil, c.size != nil:
		return nil
	}
	if c.InBody() {
		var err error
		if values, err = c.Body(body.Bytes); err != nil && body.Why != nil {
			err = body.Why
		}
		if err != nil {
			return fmt.Errorf("%w %q: %w", session.ErrCheck, c.Text, err)
		}
	}
	return c.Holds(values, want)
}

// AsksFor are what a step asks of an answer, with the values of a round.
func (at *Step) AsksFor(value func(string) []byte) ([]*Check, error) {
	if !slices.ContainsFunc(at.asks, func(c *Check) bool { return c.Needs() != nil }) {
		return at.asks, nil
	}
	list := slices.Clone(at.asks)
	for i, c := range list {
		one := *c
		var err error
		if one.Check, err = c.With(value); err != nil {
			return nil, err
		}
		list[i] = &one
	}
	return list, nil
}
