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
