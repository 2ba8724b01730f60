package shell

import (
	"cmp"
	"io"
	"slices"
	"strings"
)

// Sessions with a token work with names: they see the names of folders, and paths of files relative
// to the folder of sessions' files.

// place is a path of the server, and how sessions with a token see it.
type place struct{ path, shown string }

// places are what the session does not see the paths of, the longest first.
func (c *session) places() (all []place) {
	if c.own {
		return nil
	}
	o := &c.server.options
	add := func(path, shown string) {
		if len(path) > 1 && !strings.Contains(path, "://") {
			all = append(all, place{path, shown}, place{realPath(path), shown})
		}
	}
	for name, path := range c.server.now().Folders {
		add(path, name)
	}
	add(o.DumpDir, "")
	add(o.StateDir, "(the server's state)")
	add(o.Store, "(the server's store)")
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(len(b.path), len(a.path)) })
	return all
}

// seen is a text as the session may see it.
func (c *session) seen(text string) string { return withoutPlaces(text, c.places()) }

// seenError is an error as the session may see it.
func (c *session) seenError(err error) error {
	if err == nil {
		return nil
	}
	text := c.seen(err.Error())
	if text == err.Error() {
		return err
	}
	return &shownError{text, err}
}

type shownError struct {
	text string
	err  error
}

// Error implements error.
func (e *shownError) Error() string { return e.text }

// Unwrap returns the whole error.
func (e *shownError) Unwrap() error { return e.err }

// seenBy writes what a program prints for a session. It sees a path only if the program writes the path
// in one piece, as programs do.
func (c *session) seenBy(w io.Writer) io.Writer {
	all := c.places()
	if len(all) == 0 {
		return w
	}
	return &placeless{w, all}
}

type placeless struct {
	w   io.Writer
	all []place
}

// Write implements io.Writer.
func (p *placeless) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.w, withoutPlaces(string(b), p.all)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// withoutPlaces replaces paths by what is shown for them.
func withoutPlaces(text string, all []place) string {
	for _, p := range all {
		text = p.replace(text)
	}
	return text
}

// replace replaces the path, where it is not a part of another one.
func (p place) replace(text string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, p.path)
		if i < 0 {
			return b.String() + text
		}
		before, after := text[:i], text[i+len(p.path):]
		text = after
		b.WriteString(before)
		switch {
		case before != "" && inPath(before[len(before)-1]), after != "" && inPath(after[0]):
			b.WriteString(p.path)
		case p.shown == "" && len(after) > 1 && after[0] == '/' && inPath(after[1]):
			text = after[1:]
		default:
			b.WriteString(cmp.Or(p.shown, "(the folder of files)"))
		}
	}
}

// inPath reports whether a byte can be a part of a name in a path.
func inPath(b byte) bool {
	return b == '_' || b == '-' || b == '~' || b >= 0x80 || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
