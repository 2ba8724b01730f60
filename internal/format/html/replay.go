package html

import (
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/text"
	"github.com/taktload/takt/pkg/takt"
)

// replayed is the section that compares a replay with its log.
func replayed(r *takt.Report) []section {
	return nil
}

var _ = page.Clean
var _ = text.Replayed
