package post_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/foreign"
)

func TestCause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:1/?token=hunter2", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = http.DefaultClient.Do(r)
	if err == nil || !strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("net/http says %v, so Cause has nothing to do", err)
	}
	for _, e := range []error{err, fmt.Errorf("wrapped: %w", err)} {
		if got := foreign.Cause(e); got != context.Canceled {
			t.Errorf("%v", got)
		}
	}
	other := errors.New("other")
	if foreign.Cause(other) != other || foreign.Cause(nil) != nil {
		t.Error("other errors stay as they are")
	}
}
