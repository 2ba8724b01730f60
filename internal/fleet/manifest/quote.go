package manifest

import (
	"fmt"
	"strings"
	"unicode"
)

// shellWord is a word as a POSIX shell reads it back.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_./:=,@%+-", r))
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shellWords are words as a POSIX shell reads them back.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word)
	}
	return strings.Join(quoted, " ")
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
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// bashWords are words as bash reads them back, on one line.
func bashWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word)
		if strings.ContainsFunc(word, unicode.IsControl) {
			quoted[i] = bashEscaped(word)
		}
	}
	return strings.Join(quoted, " ")
}

// bashEscaped is a word as $'...', with escapes for control characters.
func bashEscaped(word string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range word {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x80 && unicode.IsControl(r):
			fmt.Fprintf(&b, `\%03o`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
