package formats

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/taktload/takt/internal/trace/fieldmap"
	"github.com/taktload/takt/internal/trace/fill"
	"github.com/taktload/takt/internal/trace/pattern"
	"github.com/taktload/takt/internal/trace/stamp"
)

// ownItem is an item of takt's own format strings: {FIELD}, {FIELD:FORM}, or {-} for a value to skip.
// The fields are those of a field map. Other format strings have % or $ before their braces.
var ownItem = regexp.MustCompile(`(?:^|[^%$])\{(-|` + strings.Join(fieldmap.Names(), "|") + `)(:[^{}]*)?\}`)

func isOwn(text string) bool { return ownItem.MatchString(text) }

// ownPieces cuts a format string of takt.
func ownPieces(text string) ([]pattern.Piece, error) {
	text = strings.ReplaceAll(text, `\t`, "\t")
	pieces, err := pattern.Cut(text, '{', ownPiece)
	if err != nil {
		return nil, err
	}
	return joinTimes(pieces)
}

func ownPiece(text string) ([]pattern.Piece, string, error) {
	item, rest, ok := strings.Cut(text[1:], "}")
	if !ok {
		return nil, "", fmt.Errorf("%.40q has no }; write {FIELD} or {FIELD:FORM}", text)
	}
	field, form, _ := strings.Cut(item, ":")
	p := pattern.Piece{Name: "{" + item + "}"}
	var err error
	switch {
	case field == "-":
		return []pattern.Piece{p}, rest, nil
	case (field == "start" || field == "end") && strings.Contains(form, "%") && form != "%s":
		p.Layout, err = stamp.LayoutOf(form) // joinTimes checks it: date and time may be two columns
		if p.Set = fill.Start; field == "end" {
			p.Set = fill.End
		}
	default:
		p.Set, err = fieldmap.Setter(field, form)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", p.Name, err)
	}
	switch field {
	case "start", "end":
		p.Role = pattern.Time
	case "request":
		p.Role, p.Blanks = pattern.Request, 2
	case "uri", "path":
		p.Role = pattern.Request
	case "host":
		p.Role = pattern.Host
	}
	return []pattern.Piece{p}, rest, nil
}
