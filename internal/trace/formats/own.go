package formats

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/taktload/takt/internal/trace/parse"
)

// ownItem is an item of takt's own format strings: {FIELD}, {FIELD:FORM}, or {-} for a value to skip.
// The fields are those of a field map. Other format strings have % or $ before their braces.
var ownItem = regexp.MustCompile(`(?:^|[^%$])\{(-|` + strings.Join(parse.FieldNames(), "|") + `)(:[^{}]*)?\}`)

func isOwn(text string) bool { return ownItem.MatchString(text) }

// ownPieces cuts a format string of takt.
func ownPieces(text string) ([]parse.Piece, error) {
	text = strings.ReplaceAll(text, `\t`, "\t")
	pieces, err := parse.Pieces(text, '{', ownPiece)
	if err != nil {
		return nil, err
	}
	return joinTimes(pieces)
}

func ownPiece(text string) ([]parse.Piece, string, error) {
	item, rest, ok := strings.Cut(text[1:], "}")
	if !ok {
		return nil, "", fmt.Errorf("%.40q has no }; write {FIELD} or {FIELD:FORM}", text)
	}
	field, form, _ := strings.Cut(item, ":")
	p := parse.Piece{Name: "{" + item + "}"}
	var err error
	switch {
	case field == "-":
		return []parse.Piece{p}, rest, nil
	case (field == "start" || field == "end") && strings.Contains(form, "%") && form != "%s":
		p.Layout, err = parse.LayoutOf(form) // joinTimes checks it: date and time may be two columns
		if p.Set = parse.Start; field == "end" {
			p.Set = parse.End
		}
	default:
		p.Set, err = parse.FieldSetter(field, form)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", p.Name, err)
	}
	switch field {
	case "start", "end":
		p.Role = parse.RoleTime
	case "request":
		p.Role, p.Blanks = parse.RoleRequest, 2
	case "uri", "path":
		p.Role = parse.RoleRequest
	case "host":
		p.Role = parse.RoleHost
	}
	return []parse.Piece{p}, rest, nil
}
