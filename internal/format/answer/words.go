package answer

import (
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
)

// Revision shortens a hash.
func Revision(s string) string { return page.Clean(stored.ShortRevision(s)) }

// FigureText writes a metric of a row, and ValueText the value of the variable.
func FigureText(metric string, r *query.Row) string { return figureCell(metric, r) }
func ValueText(c query.Collation, r *query.Row) string {
	return page.Clean(settingText(c.Field, r.Value))
}
