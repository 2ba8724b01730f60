package llm

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/taktload/takt/internal/driver/llm/answer"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// reportRefused says what to check if the server refused the requests of a run.
func (o *Options) reportRefused(r *takt.Report) {
	status, n := 0, uint64(0)
	for text, count := range r.Status {
		if code, err := strconv.Atoi(text); err == nil && (count > n || count == n && code < status) {
			status, n = code, count
		}
	}
	if r.Counts.OK > 0 || status < 400 || status > 499 {
		return
	}
	r.Warn(warn.RequestsRefused, "the server refused %d requests with status %d, and no request succeeded; %s", takt.Number("requests", n), status, takt.Advice(o.onRefused(status)))
}

// onRefused is what to do about a status.
func (o *Options) onRefused(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if len(o.conn.Secrets()) > 0 {
			return "check the API key, and that it may use the model"
		}
		return "give the API key: " + o.keyFlag()
	case http.StatusNotFound:
		if o.Model != "" {
			return fmt.Sprintf("check the path %s and --model %s, by what the server says under errors", o.url.Path, o.Model)
		}
		return fmt.Sprintf("check the path %s, and give the server's name of the model with --model", o.url.Path)
	case http.StatusMethodNotAllowed:
		return fmt.Sprintf("check the path %s: it does not take POST", o.url.Path)
	case http.StatusTooManyRequests:
		return "lower the load, or raise the server's limit"
	}
	if o.Model == "" && o.extra["model"] == nil {
		return "see under errors what the server wants; most servers want --model NAME"
	}
	return "see under errors what the server does not accept; --extra sets members of the requests, and null leaves one out"
}

// keyFlag is how the API gets its key.
func (o *Options) keyFlag() string {
	if o.api == answer.Anthropic {
		return "-H 'x-api-key: KEY'"
	}
	return "--bearer-file FILE"
}
