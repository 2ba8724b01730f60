package trace

import "bytes"

// pathParser reads a list of requests: [METHOD] PATH or [METHOD] URL; what follows
// on the line is passed over. A path may lack its first slash.
type pathParser struct{}

func (pathParser) parse(line []byte, f *filler) error {
	if line[0] == '#' {
		return errComment
	}
	words := bytes.TrimSpace(line)
	method, rest, ok := bytes.Cut(words, []byte(" "))
	if ok && isMethod(method) {
		f.rec.Method, words = method, bytes.TrimSpace(rest)
	}
	uri, _, _ := bytes.Cut(words, []byte(" "))
	if len(uri) > 0 && uri[0] != '/' && !bytes.Contains(uri, []byte("://")) {
		from := len(f.rec.buf)
		f.rec.buf = append(append(f.rec.buf, '/'), uri...)
		uri = f.rec.buf[from:]
	}
	if err := f.setURI(uri); err != nil {
		return err
	}
	return f.finish(false)
}
