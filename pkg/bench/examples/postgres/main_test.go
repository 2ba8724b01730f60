package main

import (
	"testing"

	"github.com/taktload/takt/internal/test/exampletest"
	"github.com/taktload/takt/pkg/takt"
)

// The driver passes takt's suite against the real server.
func TestRealPostgres(t *testing.T) {
	exampletest.Example{
		Name: "PostgreSQL", Where: exampletest.Server(t, "TAKT_POSTGRES"),
		Open: func(args []string) (*takt.Driver, error) { return open(args, "select $1::bigint") },
	}.Test(t)
}
