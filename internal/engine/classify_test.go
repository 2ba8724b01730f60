package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// A failure after the time of Loop.Overdue has its class, whatever the target said. Good answers stay good.
func TestOverdue(t *testing.T) {
	late := HandshakeFailed(errors.New("late")) // an error with a class of its own
	for _, c := range []struct {
		class  string
		status int
		took   time.Duration
		err    error
		want   string
	}{
		{"reset", 0, time.Second, late, "tls"}, {"unavailable", 14, time.Second, late, "tls"}, {"unavailable", 14, time.Minute, late, "tls"},
		{"unavailable", 14, time.Second - 1, late, "unavailable"}, {"reset", 0, time.Second, nil, "reset"}, {"", 0, time.Minute, late, ""},
	} {
		r := takt.Result{Class: c.class, Status: c.status}
		if overdue(&takt.Loop{Timeout: time.Second, Overdue: c.err}, c.took, &r); r.Class != c.want || r.Status != c.status {
			t.Errorf("%+v: class %q, status %d", c, r.Class, r.Status)
		}
	}
}
