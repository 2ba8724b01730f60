package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/door"
)

// Limits of the API.
const (
	maxBody     = 128 << 10        // bytes of a request's body; a line has at most 64 KiB
	bodyTime    = 10 * time.Second // for a whole request
	idleTime    = time.Minute      // a connection without a request
	maxHeader   = 16 << 10
	maxAnswer   = 4 << 20  // bytes of what commands say in one answer
	maxReport   = 64 << 20 // bytes of a report
	maxAPIConns = 512
)

// api is the shell over HTTP. Each request is a session of its own, and runs the same code as a
// typed line.
type api struct {
	server *Server
	routes []route
}

// route is one method of a path. A * in the path matches a job's number.
type route struct {
	method string
	path   string
	open   bool // needs no token
	serve  func(c *session, w http.ResponseWriter, r *request)
}

// request is a request whose body was read.
type request struct {
	*http.Request
	body []byte
	id   int // of the path; 0: it has none
}

func newAPI(s *Server) *api {
	a := &api{server: s}
	a.routes = []route{
		{method: http.MethodGet, path: "/v1/openapi.json", open: true, serve: serveOpenAPI},
		{method: http.MethodGet, path: "/v1/jobs", serve: serveJobs},
		{method: http.MethodPost, path: "/v1/jobs", serve: serveNewJob},
		{method: http.MethodGet, path: "/v1/jobs/*", serve: serveJob},
		{method: http.MethodDelete, path: "/v1/jobs/*", serve: serveCancel},
		{method: http.MethodGet, path: "/v1/jobs/*/events", serve: serveEvents},
		{method: http.MethodGet, path: "/v1/jobs/*/report", serve: serveReport},
		{method: http.MethodPost, path: "/v1/lines", serve: serveLine},
	}
	return a
}

// run serves a listener until the context ends.
func (a *api) run(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: a, ReadHeaderTimeout: authTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ReadTimeout: bodyTime, // also of a body that nobody reads because the request is refused
	}
	return door.ServeHTTP(ctx, h, l, endTime)
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	c := a.session(r)
	if status, err := door.FromPage(r, a.server.tokenList() != nil); err != nil {
		p := problemOf(status, err)
		c.noteOneOf(fmt.Sprint(webPage, status), errors.New(p.Cause))
		p.write(w)
		return
	}
	to, id, p := a.find(r)
	var body []byte
	if p == nil {
		body, p = readBody(w, r)
	}
	if p != nil {
		c.noteStranger(door.AddressOf(c.conn.RemoteAddr()), errors.New(p.Cause))
		p.write(w)
		return
	}
	if !to.open {
		release, p := c.enter(r)
		if p != nil {
			p.write(w)
			return
		}
		defer release()
	}
	to.serve(c, w, &request{Request: r, body: body, id: id})
}

// webPage and the status are the key, for the limit of the audit log, of all requests that door.FromPage
// refuses: those of another origin leave room for those of another name.
const webPage = "web page "

// find finds the route of a request. It accepts exactly the paths of the routes: nothing is
// decoded, cleaned or redirected.
func (a *api) find(r *http.Request) (to route, id int, p *problem) {
	var allowed []string
	for _, one := range a.routes {
		n, ok := match(one.path, r.URL.EscapedPath())
		switch {
		case !ok:
			continue
		case one.method == r.Method:
			return one, n, nil
		}
		allowed = append(allowed, one.method)
	}
	if len(allowed) == 0 {
		return to, 0, problemOf(http.StatusNotFound, errors.New("there is nothing at this path; GET /v1/openapi.json lists the paths"))
	}
	p = problemOf(http.StatusMethodNotAllowed, fmt.Errorf("this path does not accept the method; use %s", strings.Join(allowed, " or ")))
	p.header = map[string]string{"Allow": strings.Join(allowed, ", ")}
	return to, 0, p
}

// match reports whether a path matches a pattern, and returns the job's number in the path.
func match(pattern, path string) (id int, ok bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return 0, false
	}
	for i := range want {
		if want[i] == got[i] && want[i] != "*" {
			continue
		}
		if want[i] != "*" {
			return 0, false
		}
		n, err := oneID([]string{got[i]})
		if err != nil || fmt.Sprint(n) != got[i] {
			return 0, false
		}
		id = n
	}
	return id, true
}

// readBody reads the whole body in bounded time, so that no client occupies a connection with a
// body that never ends.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // fails only on a closed connection
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, problemOf(http.StatusRequestEntityTooLarge, fmt.Errorf("the body has more than %d KiB; send a shorter line", maxBody>>10))
	case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problemOf(http.StatusBadRequest, errors.New("the body is not as its headers say; send a Content-Length"))
	case err != nil:
		return nil, problemOf(http.StatusRequestTimeout, fmt.Errorf("the body did not arrive within %v; send it at once", bodyTime))
	}
	_ = control.SetReadDeadline(time.Time{})
	switch kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case r.Method != http.MethodPost && len(body) > 0:
		return nil, problemOf(http.StatusBadRequest, errors.New("this request accepts no body; leave the body out"))
	case r.Method == http.MethodPost && (err != nil || kind != "application/json"):
		p := problemOf(http.StatusUnsupportedMediaType, errors.New("the body is not JSON; send Content-Type: application/json"))
		p.header = map[string]string{"Accept": "application/json"}
		return nil, p
	}
	return body, nil
}

// session returns the session of a request. It has no user yet.
func (a *api) session(r *http.Request) *session {
	return &session{
		server: a.server, ctx: r.Context(), conn: door.VisitorOf(r), number: a.server.sessions.Add(1), from: r.RemoteAddr, role: door.RoleRun,
		notices: make(chan notice, maxNotices), shown: map[int]bool{}, sink: &sink{},
	}
}

// enter identifies the user of a request, and takes a seat.
func (c *session) enter(r *http.Request) (release func(), p *problem) {
	name, address := localUser, ""
	if c.server.tokenList() == nil {
		if err := c.admitLocal(); err != nil {
			return nil, problemOf(http.StatusForbidden, err)
		}
	} else {
		address = door.AddressOf(c.conn.RemoteAddr())
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "bearer") {
			err := errors.New("the request has no token; send Authorization: Bearer TOKEN")
			c.noteStranger(address, err)
			return nil, unauthorized(err)
		}
		var err error
		switch name, err = c.admit(strings.TrimSpace(token), address); {
		case errors.Is(err, errTries):
			c.noteStranger(address, err)
			p := problemOf(http.StatusTooManyRequests, err)
			p.header = map[string]string{"Retry-After": fmt.Sprint(int(door.TryTime.Seconds()))}
			return nil, p
		case err != nil:
			return nil, unauthorized(err)
		}
	}
	door.VisitorOf(r).Welcome()
	if err := c.server.seats.take(address); err != nil {
		c.noteStranger(address, err)
		return nil, problemOf(http.StatusServiceUnavailable, err)
	}
	var err error
	if c.user, err = c.server.state.user(name); err != nil {
		c.server.seats.give(address)
		return nil, problemOf(http.StatusInternalServerError, err)
	}
	return func() { c.server.seats.give(address) }, nil
}

func unauthorized(err error) *problem {
	p := problemOf(http.StatusUnauthorized, err)
	p.header = map[string]string{"WWW-Authenticate": `Bearer realm="takt"`}
	return p
}

// look logs a request that only reads, as the command of the shell that does the same, and
// reports whether the role may give it.
func (c *session) look(command string, harmless bool) *problem {
	words := strings.Fields(command)
	if c.role == door.RoleLook && !harmless {
		err := prefixed(words[0], errLook)
		c.refuse(words[:1], err)
		return problemOf(http.StatusForbidden, err)
	}
	if err := c.allow(action{shown: command, harmless: harmless}); err != nil {
		return problemOf(http.StatusServiceUnavailable, err)
	}
	return nil
}

// tokenList are the tokens; nil: sessions need no token.
func (s *Server) tokenList() door.Tokens { return s.now().tokens }

// sink collects what a session says, and its errors.
type sink struct {
	text   []byte
	lost   int
	faults []error
}

// add adds text, up to maxAnswer.
func (s *sink) add(b []byte) {
	n := min(len(b), maxAnswer-len(s.text))
	s.text = append(s.text, b[:n]...)
	s.lost += len(b) - n
}

// fail adds an error. It does nothing without a sink.
func (s *sink) fail(err error) {
	if s != nil {
		s.faults = append(s.faults, err)
	}
}

// String is the collected text.
func (s *sink) String() string {
	text := strings.ToValidUTF8(string(s.text), "?")
	if s.lost > 0 {
		text += fmt.Sprintf("\n… %d bytes more were not kept\n", s.lost)
	}
	return text
}

// statusOf is the status of an error of a command.
func statusOf(err error, otherwise int) int {
	switch {
	case len(denials(err)) > 0:
		return http.StatusForbidden
	case errors.Is(err, errFull), errors.Is(err, errEnding):
		return http.StatusServiceUnavailable
	}
	return otherwise
}

// isJob reports whether a line has a command for the queue.
func isJob(actions []action) bool {
	return slices.ContainsFunc(actions, func(a action) bool { return a.queued != nil || a.task != nil })
}
