package elastic

import (
	"cmp"
	"fmt"

	"github.com/taktload/takt/internal/elastic"
)

// Options are credentials and trust.
type Options = elastic.Options

// Schemes are those of the URLs that Open takes. http:// and https:// are taken too,
// for URLs are copied.
func Schemes() []string {
	return []string{"elasticsearch", "opensearch", "elasticsearch+tls", "opensearch+tls", "http", "https"}
}

// index is the index unless the URL names another: elasticsearch://HOST:PORT/INDEX.
const index = "takt-runs"

// Open gives the store of the cluster at that URL. It asks the cluster nothing yet.
// User and password may stand in the URL; no error shows them.
func Open(where string, o Options) (*Store, error) {
	c, err := elastic.Connect(where, o)
	if err != nil {
		return nil, fmt.Errorf("the store: %w", err)
	}
	s := &Store{cluster: c, index: cmp.Or(c.Path, index), ready: make(chan bool, 1)}
	s.ready <- false
	return s, nil
}
