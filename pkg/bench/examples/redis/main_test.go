package main

import (
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/exampletest"
	"github.com/taktload/takt/pkg/takt"
)

// The driver passes takt's suite against the real server.
func TestRealRedis(t *testing.T) {
	exampletest.Example{
		Name: "Redis, GET", Where: exampletest.Server(t, "TAKT_REDIS") + "?read_timeout=500ms", Timeout: 500 * time.Millisecond,
		Open: func(args []string) (*takt.Driver, error) { return open(args, false, 1000, 100) },
	}.Test(t)
}
