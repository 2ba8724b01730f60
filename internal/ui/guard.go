package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/internal/store/fault"
)

// refusal is an answer instead of a page.
type refusal struct {
	status int
	err    error
	header [2]string
}

func (f *refusal) Error() string { return f.err.Error() }

// refuse makes a refusal.
func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, err: fmt.Errorf(format, args...)}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for name, value := range map[string]string{
		"Content-Security-Policy": html.Policy() + "; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		h.Set(name, value)
	}
	answer, err := s.answer(r)
	size := int64(len(answer.body))
	defer s.unread.Add(-size)
	if s.unread.Add(size) > maxUnread && err == nil {
		err = refuse(http.StatusServiceUnavailable, "clients have not read %d MiB of other pages yet; try again later", maxUnread>>20)
	}
	if err != nil {
		answer = s.notice(err)
	}
	if answer.to != "" {
		h.Set("Location", answer.to)
	}
	if answer.header[0] != "" {
		h.Set(answer.header[0], answer.header[1])
	}
	if answer.file != "" {
		h.Set("Content-Disposition", `attachment; filename="`+answer.file+`"`)
	}
	h.Set("Content-Type", answer.kind)
	h.Set("Content-Length", fmt.Sprint(len(answer.body)))
	w.WriteHeader(answer.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(answer.body) // the client is gone
	}
}

// served is a whole answer.
type served struct {
	status   int
	kind     string
	to, file string // a redirect; the name of a file to save
	header   [2]string
	body     []byte
}

// answer makes the answer to a request, or an error.
func (s *Server) answer(r *http.Request) (served, error) {
	if err := s.check(r); err != nil {
		return served{}, err
	}
	page, known := s.pages[r.URL.EscapedPath()] // exactly: nothing is decoded or cleaned
	switch {
	case !known:
		return served{}, refuse(http.StatusNotFound, "there is no such page; begin with the list of runs")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		f := refuse(http.StatusMethodNotAllowed, "takt ui only reads; use GET")
		f.header = [2]string{"Allow", "GET, HEAD"}
		return served{}, f
	}
	parameters := r.URL.Query()
	if err := page.check(parameters); err != nil {
		return served{}, err
	}
	turns := s.turns
	if r.URL.Path == PathLive {
		turns = s.liveTurns
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-r.Context().Done():
		return served{}, r.Context().Err()
	case <-time.After(turnTime):
		return served{}, refuse(http.StatusServiceUnavailable, "%d other pages are being made; try again later", maxPages)
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), pageTime, fmt.Errorf("the store needs more than %v", pageTime))
	defer cancel()
	return page.make(ctx, parameters)
}

// check decides who may look.
func (s *Server) check(r *http.Request) error {
	if len(r.URL.RawQuery) > maxQuery {
		return refuse(http.StatusRequestURITooLong, "the address has more than %d KiB of parameters; use fewer filters", maxQuery>>10)
	}
	if status, err := door.FromPage(r, s.tokens != nil); err != nil {
		return refuse(status, "%w", err)
	}
	v := door.VisitorOf(r)
	if err := s.known(r, v); err != nil {
		return err
	}
	v.Welcome()
	return nil
}

// known refuses who may not look.
func (s *Server) known(r *http.Request, v *door.Visitor) error {
	if s.tokens != nil {
		return s.authenticate(r, door.AddressOf(v.RemoteAddr()))
	}
	if v.Peer(s.peer) == door.PeerStranger { // only this machine can connect, but it may have other users
		return refuse(http.StatusForbidden, "these pages are for the user that runs takt ui; others need a token, which its owner gives with --token-file")
	}
	return nil
}

// authenticate looks for a token: as the password of any user, which browsers ask for, or as Bearer.
func (s *Server) authenticate(r *http.Request, address string) error {
	_, token, basic := r.BasicAuth()
	if scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " "); !basic && strings.EqualFold(scheme, "bearer") {
		token = strings.TrimSpace(text)
	}
	asked := refuse(http.StatusUnauthorized, "the request has no right token; give the token as the password, with any user name")
	asked.header = [2]string{"WWW-Authenticate", `Basic realm="takt ui", charset="UTF-8"`}
	if token == "" {
		return asked
	}
	found, ok := s.tries.Check(address, func() *door.Token { return s.tokens.Find(token) })
	switch {
	case !ok:
		f := refuse(http.StatusTooManyRequests, "too many wrong tokens; wait for a minute")
		f.header = [2]string{"Retry-After", fmt.Sprint(int(door.TryTime.Seconds()))}
		return f
	case found == nil:
		return asked
	}
	return nil
}

// notice is the answer that shows an error.
func (s *Server) notice(err error) served {
	n := Notice{Title: "takt ui", Word: "no page", Tone: "warn", Back: PathRuns}
	a := served{status: http.StatusServiceUnavailable, kind: kindHTML}
	n.Text = strings.ReplaceAll(err.Error(), "\n", "; ")
	var f *refusal
	usage := (*usageError)(nil)
	switch {
	case s.source.Absent(err):
		n = firstRun()
		a.status = http.StatusOK
	case errors.As(err, &f):
		a.status, a.header = f.status, f.header
	case errors.As(err, &usage):
		a.status = http.StatusBadRequest
	case errors.Is(err, fault.ErrNotFound):
		a.status = http.StatusNotFound
		n.Hint = "A run that ended just now may not be in the store yet: load the page again. If its report waits for the store, takt store sync sends it."
	case errors.Is(err, context.DeadlineExceeded):
		n.Hint = "The store does not answer in time: another process may have locked it, or its disk or cluster is slow. Load the page again."
	}
	if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || a.status == http.StatusMisdirectedRequest {
		n.Back = "" // it would be refused, too
	}
	var b bytes.Buffer
	if err := n.Write(&b, Frame("", "")); err != nil {
		return served{status: http.StatusInternalServerError, kind: "text/plain; charset=utf-8", body: []byte(err.Error())}
	}
	a.body = b.Bytes()
	return a
}
