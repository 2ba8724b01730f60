package shell

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// openAPI describes the API, as OpenAPI 3.1.
//
//go:embed openapi.json
var openAPI []byte

const kindJSON = "application/json"

func serveOpenAPI(_ *session, w http.ResponseWriter, _ *request) {
	writeBytes(w, http.StatusOK, kindJSON, openAPI)
}

// order is the body of a request with a command line.
type order struct {
	Line   string   `json:"line"`
	Words  []string `json:"words"`
	Answer string   `json:"answer"` // to the question of a command
}

// said is the answer to a command line.
type said struct {
	Output string   `json:"output"`           // what the shell would have said
	Jobs   []view   `json:"jobs,omitempty"`   // jobs of the line
	Errors []string `json:"errors,omitempty"` // of commands after the first job
}

// readOrder reads the command line of a body.
func readOrder(body []byte) (o order, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err = d.Decode(&o); err == nil && d.Decode(&struct{}{}) != io.EOF {
		err = errors.New("text after the object")
	}
	switch {
	case err != nil:
		return o, fmt.Errorf("the body is not a command line: %w; send {\"line\": \"status\"}", err)
	case (o.Line == "") == (len(o.Words) == 0):
		return o, errors.New("the body has no command; send either \"line\" or \"words\"")
	case len(o.Words) > 0:
		o.Line = join(o.Words)
	}
	return o, nil
}

func serveNewJob(c *session, w http.ResponseWriter, r *request) { serveOrder(c, w, r, true) }

func serveLine(c *session, w http.ResponseWriter, r *request) { serveOrder(c, w, r, false) }

// serveOrder runs a command line as a session would. Only one path accepts lines with jobs, so a
// script that expects an immediate answer gets one.
func serveOrder(c *session, w http.ResponseWriter, r *request, jobs bool) {
	o, err := readOrder(r.body)
	if err != nil {
		c.refuse(nil, err)
		problemOf(http.StatusBadRequest, err).write(w)
		return
	}
	actions, err := c.understand(o.Line)
	if err != nil {
		problemOf(statusOf(err, http.StatusUnprocessableEntity), err).write(w)
		return
	}
	switch is := isJob(actions); {
	case jobs && !is:
		err = denied("no command of the line is a job; send the line to /v1/lines")
	case !jobs && is:
		err = denied("a command of the line is a job; send the line to /v1/jobs")
	}
	if err != nil {
		c.refuse(namesOf(actions), err)
		problemOf(http.StatusUnprocessableEntity, err).write(w)
		return
	}
	c.performAll(actions)
	if ask := c.question; ask != nil {
		if o.Answer == "" {
			problemOf(http.StatusConflict, fmt.Errorf("the command asks: %s; send the line again with \"answer\"", strings.TrimSpace(c.sink.String()))).write(w)
			return
		}
		c.question = nil
		ask(o.Answer)
	}
	c.writeSaid(w)
}

// writeSaid answers with what the session said. It is a problem if nothing worked.
func (c *session) writeSaid(w http.ResponseWriter) {
	answer := said{Output: c.sink.String()}
	for _, f := range c.follows {
		answer.Jobs = append(answer.Jobs, c.server.queue.view(f.job))
	}
	err := errors.Join(c.sink.faults...)
	switch {
	case err != nil && len(answer.Jobs) == 0:
		problemOf(statusOf(err, http.StatusConflict), err).write(w)
		return
	case err != nil:
		answer.Errors = strings.Split(err.Error(), "\n")
	}
	if len(answer.Jobs) > 0 {
		w.Header().Set("Location", fmt.Sprintf("/v1/jobs/%d", answer.Jobs[0].ID))
		writeJSON(w, http.StatusAccepted, kindJSON, answer)
		return
	}
	writeJSON(w, http.StatusOK, kindJSON, answer)
}

func serveJobs(c *session, w http.ResponseWriter, _ *request) {
	if p := c.look("queue", true); p != nil {
		p.write(w)
		return
	}
	writeJSON(w, http.StatusOK, kindJSON, map[string][]view{"jobs": c.server.queue.views()})
}

func serveJob(c *session, w http.ResponseWriter, r *request) {
	if j := c.named(w, r, "queue"); j != nil {
		writeJSON(w, http.StatusOK, kindJSON, c.server.queue.view(j))
	}
}

// named is the job of the path; nil: the answer says why there is none.
func (c *session) named(w http.ResponseWriter, r *request, command string) *job {
	if p := c.look(command, true); p != nil {
		p.write(w)
		return nil
	}
	j := c.server.queue.find(r.id)
	if j == nil {
		c.notFound(w, command, unknownJob(r.id))
	}
	return j
}

// notFound answers that there is nothing, also in the log, which has the command as allowed.
func (c *session) notFound(w http.ResponseWriter, command string, err error) {
	_ = c.note(eventCommand, 0, command, outcomeOf(err, "failed")) // may fail: nothing has changed
	problemOf(http.StatusNotFound, err).write(w)
}

// serveCancel cancels a job as the line cancel ID does; a second request ends the job at once.
func serveCancel(c *session, w http.ResponseWriter, r *request) {
	command := fmt.Sprintf("cancel %d", r.id)
	actions, err := c.understand(command)
	if err != nil {
		problemOf(statusOf(err, http.StatusConflict), err).write(w)
		return
	}
	j := c.server.queue.find(r.id)
	if j == nil {
		c.notFound(w, command, unknownJob(r.id))
		return
	}
	c.performAll(actions)
	if err := errors.Join(c.sink.faults...); err != nil {
		problemOf(statusOf(err, http.StatusConflict), err).write(w)
		return
	}
	writeJSON(w, http.StatusAccepted, kindJSON, said{Output: c.sink.String(), Jobs: []view{c.server.queue.view(j)}})
}

// serveReport answers with the stored report of a job: the last one, or the one of ?run=ID.
func serveReport(c *session, w http.ResponseWriter, r *request) {
	command := fmt.Sprintf("show report of job %d", r.id)
	j := c.named(w, r, command)
	if j == nil {
		return
	}
	runs := c.server.queue.view(j).Reports
	if len(runs) == 0 {
		c.notFound(w, command, fmt.Errorf("job %d has no report yet; GET /v1/jobs/%d/events shows what it does", j.id, j.id))
		return
	}
	run := runs[len(runs)-1]
	if want := r.URL.Query().Get("run"); want != "" {
		if run = want; !slices.Contains(runs, want) {
			c.notFound(w, command, denied("the run is not one of job %d; its reports are %s", j.id, strings.Join(runs, ", ")))
			return
		}
	}
	report, err := c.report(run)
	if err != nil {
		c.notFound(w, command, c.seenError(err))
		return
	}
	writeBytes(w, http.StatusOK, kindJSON, report)
}

// report reads a stored report, as show does.
func (c *session) report(run string) ([]byte, error) {
	args := []string{"show", run, "-o", "json=-"}
	plan, err := c.server.host.Plan(args, c.rules())
	if err != nil {
		return nil, err
	}
	call := c.call(args, plan)
	report := &limited{most: maxReport}
	call.Out, call.Report = c, report
	code, err := c.wait(call)
	switch {
	case err != nil:
		return nil, err
	case code != 0 || !json.Valid(report.Bytes()):
		return nil, fmt.Errorf("the report %s cannot be shown: %s; a run is stored after its end, unless its command has --no-store", run, oneLine(c.sink.String()))
	}
	return report.Bytes(), nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// limited is a buffer that refuses more than most bytes.
type limited struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if l.Len()+len(b) > l.most {
		return 0, fmt.Errorf("it has more than %d MiB", l.most>>20)
	}
	return l.Buffer.Write(b)
}

// patient limits how long a client may read nothing.
func patient(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // fails only on a closed connection
}
