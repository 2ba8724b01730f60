package answers

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/foreign"
)

// place is a part of an answer: status, a header, the body, or a value in JSON. The zero up is the root.
type place struct {
	up    *place
	key   string // name of a member, or of a root such as status
	index int    // from 0, in a list; -1: a member
	depth int
}

// The roots.
const (
	rootStatus = "status"
	rootHeader = "header"
	rootBody   = "body"
	rootJSON   = "$"
)

func root(name string) *place { return &place{key: name, index: -1} }

func (p *place) member(name string) *place {
	return &place{up: p, key: name, index: -1, depth: p.depth + 1}
}

func (p *place) element(i int) *place { return &place{up: p, index: i, depth: p.depth + 1} }

// path names the place for all positions in lists, such as $.items[*].id; at names it with its positions.
func (p *place) path() string { return p.text(false) }
func (p *place) at() string   { return p.text(true) }

// longestKey bounds a name in a path.
const longestKey = 64

func (p *place) text(positions bool) string {
	var list []*place
	for ; p != nil; p = p.up {
		list = append(list, p)
	}
	var b strings.Builder
	b.WriteString(list[len(list)-1].key)
	for i := len(list) - 2; i >= 0; i-- {
		switch p := list[i]; {
		case p.index >= 0 && positions:
			fmt.Fprintf(&b, "[%d]", p.index)
		case p.index >= 0:
			b.WriteString("[*]")
		case list[len(list)-1].key == rootHeader:
			b.WriteString(" " + foreign.Cut(p.key, longestKey))
		case plainKey(p.key):
			b.WriteString("." + p.key)
		default:
			b.WriteString("[" + strconv.Quote(foreign.Cut(p.key, longestKey)) + "]")
		}
	}
	return b.String()
}

// plainKey reports whether a name needs no quotes in a path.
func plainKey(s string) bool {
	if s == "" || len(s) > longestKey {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// anyKey stands for all names, where the names vary.
const anyKey = "*"

var position = regexp.MustCompile(`\[[0-9]+\]`)

// ParsePath reads a path as the report has it: status, body, header NAME, or $ and a path in JSON. Positions in
// lists stand for all of them.
func ParsePath(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch word, name, _ := strings.Cut(text, " "); {
	case text == rootStatus, text == rootBody:
		return text, nil
	case word == rootHeader && name != "":
		return rootHeader + " " + headerName(strings.TrimSuffix(strings.TrimSpace(name), ":")), nil
	case text == rootJSON, strings.HasPrefix(text, rootJSON+"."), strings.HasPrefix(text, rootJSON+"["):
		return position.ReplaceAllString(text, "[*]"), nil
	}
	return "", fmt.Errorf("%.60q is not a part of an answer; write status, body, header NAME, or a path in JSON such as $.items[*].id", text)
}

// within reports whether a path is that of a part, or below it.
func within(path, part string) bool {
	rest, ok := strings.CutPrefix(path, part)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[' || rest[0] == ' ')
}
