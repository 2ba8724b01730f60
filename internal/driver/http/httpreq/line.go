package httpreq

import (
	"fmt"
	"strings"
	"unicode" // maxTargetLine bounds a line, and so the body of a JSON target.
	// startOfTarget takes METHOD URL apart.
)

const MaxLine = 16 << 20

func Start(line string) (method, at string, ok bool) {
	if isPlainTarget(line) {
		return "GET", line, true
	}
	method, at, _ = strings.Cut(line, " ")
	at = strings.TrimSpace(at)
	ok = method == strings.ToUpper(method) && !strings.ContainsAny(method, ":@") && (isPlainTarget(at) || schemed().MatchString(at))
	return method, at, ok
}

// Beginning names a line by its beginning, as far as that cannot be a secret: a URL, or a
// word without digits.
func Beginning(line string) string {
	word, _, _ := strings.Cut(line, " ")
	if strings.Contains(word, "://") || strings.HasPrefix(word, "/") {
		return fmt.Sprintf("%.60q", word)
	}
	word, _, _ = strings.Cut(word, ":")
	if other := strings.TrimFunc(word, func(r rune) bool { return unicode.IsLetter(r) || r == '-' }); word == "" || other != "" || len(word) > 30 {
		return "the line"
	}
	return fmt.Sprintf("the line that begins with %q", word)
}

// isPlainTarget reports whether a line is a URL, or the path of one.
func isPlainTarget(line string) bool {
	return strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://") || strings.HasPrefix(line, "/") || IsHostPort(line)
}
