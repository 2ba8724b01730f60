package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// object is a mapping of YAML, in the order in which it is written. A library of YAML would need
// structs, or write a mapping in the order of its keys; a template does not quote words of users.
type object []field

// field is a key with its value: a string, int, bool, object or list. A nil value, an empty object
// and an empty list are left out.
type field struct {
	key   string
	value any
}

// list is a sequence of YAML.
type list []any

// yamlDocuments writes objects with --- between them.
func yamlDocuments(all ...object) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = strings.Join(one.lines(), "\n") + "\n"
	}
	return strings.Join(texts, "---\n")
}

// lines are the lines of o, without indentation.
func (o object) lines() (lines []string) {
	for _, f := range o {
		switch v := f.value.(type) {
		case nil:
		case object:
			if below := v.lines(); len(below) > 0 {
				lines = append(append(lines, f.key+":"), indented("  ", below)...)
			}
		case list:
			if len(v) > 0 {
				lines = append(append(lines, f.key+":"), v.lines()...)
			}
		default:
			lines = append(lines, f.key+": "+scalar(v))
		}
	}
	return lines
}

// lines are the lines of l, with the indentation below its key.
func (l list) lines() (lines []string) {
	for _, item := range l {
		below := []string{""}
		if o, ok := item.(object); ok {
			below = o.lines()
		} else {
			below[0] = scalar(item)
		}
		below = indented("    ", below)
		below[0] = "  - " + strings.TrimPrefix(below[0], "    ")
		lines = append(lines, below...)
	}
	return lines
}

func indented(by string, lines []string) []string {
	for i, line := range lines {
		lines[i] = by + line
	}
	return lines
}

// plainText matches texts that YAML reads as texts without quotes, except those of notTexts.
var plainText = regexp.MustCompile(`^[A-Za-z/][-A-Za-z0-9._/]*$`)

// notTexts are words that YAML 1.1 reads as something else than a text.
func notTexts() []string {
	return []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
}

func scalar(v any) string {
	text, ok := v.(string)
	switch {
	case !ok:
		return fmt.Sprint(v)
	case plainText.MatchString(text) && !slices.Contains(notTexts(), strings.ToLower(text)):
		return text
	}
	return yamlText(text)
}

// yamlText is a text as a double-quoted scalar, which YAML 1.1 and 1.2 read alike. What does not
// print is escaped: YAML refuses some of it, and folds line breaks.
func yamlText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
