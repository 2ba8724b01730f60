package process

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/pause"
)

// A pause lasts as long as it is asked to, or until it is ended.
func TestPauseFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if !pause.For(time.Hour, t.Context().Done()) || !pause.For(0, nil) || time.Since(begun) != time.Hour {
			t.Errorf("a pause of an hour took %v", time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun = time.Now()
		if pause.For(time.Hour, ctx.Done()) || time.Since(begun) != time.Minute {
			t.Errorf("a pause that ends after a minute took %v", time.Since(begun))
		}
	})
}
