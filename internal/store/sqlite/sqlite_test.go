package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/taktload/takt/internal/test/storetest"
)

func TestSuite(t *testing.T) {
	var path string
	storetest.Run(t, func(t *testing.T, again bool) storetest.Store {
		if !again {
			path = filepath.Join(t.TempDir(), "new folder", "50% of? runs#1.db")
		}
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
