package document

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/files"
)

// PageOpen and PageClose enclose the data in a page.
const (
	PageOpen  = `<script type="application/vnd.takt.reports" id="takt-reports">`
	PageClose = `</script>`
)

// longestHead is the number of bytes in which a page says that it is one.
const longestHead = 512

// OfPage returns the JSON in in: the reports of an HTML page that takt wrote, or in itself if in
// is not a page.
func OfPage(in io.Reader) (io.Reader, error) {
	b := bufio.NewReader(in)
	head, _ := b.Peek(longestHead) // an error of in returns with the next read
	if !isPage(head) {
		return b, nil
	}
	page, err := io.ReadAll(io.LimitReader(b, audit.MaxDocument+1))
	switch {
	case err != nil:
		return nil, err
	case len(page) > audit.MaxDocument:
		return nil, fmt.Errorf("the page is longer than %d MiB, and no page of takt is", audit.MaxDocument>>20)
	}
	_, rest, found := bytes.Cut(page, []byte(PageOpen))
	packed, _, closed := bytes.Cut(rest, []byte(PageClose))
	if !found || !closed {
		return nil, errors.New("the page contains no report; give a whole page that takt wrote of a run, as with -o html=FILE")
	}
	text, err := unpack(packed)
	return bytes.NewReader(text), err
}

// isPage reports whether a file begins as an HTML page: no JSON begins so.
func isPage(head []byte) bool {
	head = files.TextOf(head)
	return bytes.HasPrefix(bytes.ToLower(bytes.TrimLeft(head, " \t\r\n")), []byte("<!doctype html"))
}
