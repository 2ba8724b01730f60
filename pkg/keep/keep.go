// Package keep stores the reports of package load where takt's commands find them: takt runs, takt show,
// takt compare and takt history. It is a package of its own because a store needs a database, which
// other programs do not.
package keep

import (
	"context"
	"time"

	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// saveTime is how long storing may take.
const saveTime = 10 * time.Second

// In returns a function for load.Plan.Store that stores reports in a file, which it creates if it does
// not exist. takt's commands read the file with --store PATH.
func In(path string) func(*takt.Report) error {
	return func(r *takt.Report) error {
		ctx, cancel := context.WithTimeout(context.Background(), saveTime)
		defer cancel()
		s, err := store.Open(ctx, path, store.Options{})
		if err != nil {
			return err
		}
		defer s.Close()
		return s.Save(ctx, r)
	}
}
