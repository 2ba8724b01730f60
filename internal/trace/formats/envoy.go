package formats

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace/parse"
)

// The default formats of Envoy (envoyproxy.io, access logging) and Istio (istio.io, Envoy
// access logs).
const (
	envoyShape = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% ` +
		`%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"`
	istioShape = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% ` +
		`"%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" ` +
		`"%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%`
)

// envoyItem is %NAME%, %NAME(ARGUMENT)% or %NAME(ARGUMENT):LENGTH%.
var envoyItem = regexp.MustCompile(`^%([A-Z][A-Z0-9_]+)(?:\(([^)]*)\))?(?::\d+)?%`)

// isEnvoy reports whether a format is one of Envoy: such a format logs the path by %REQ(…)%.
func isEnvoy(text string) bool { return strings.Contains(text, "%REQ(") }

// envoyPieces cuts a format string of Envoy, the text of its text_format.
func envoyPieces(text string) ([]parse.Piece, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(text), `\n`), "\n")
	return parse.Pieces(text, '%', func(text string) ([]parse.Piece, string, error) {
		if rest, ok := strings.CutPrefix(text, "%%"); ok {
			return []parse.Piece{{Literal: "%"}}, rest, nil
		}
		m := envoyItem.FindStringSubmatch(text)
		if m == nil {
			return nil, "", fmt.Errorf("%.40q is not an item of a format of Envoy, such as %%DURATION%% or %%REQ(:PATH)%%", text)
		}
		v, err := envoyVariable(m[1], m[2])
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", m[0], err)
		}
		return []parse.Piece{{Name: m[0], Variable: v}}, text[len(m[0]):], nil
	})
}

// envoyVariable returns the meaning of an item; takt ignores the values of other items.
// Durations are in milliseconds.
func envoyVariable(name, argument string) (parse.Variable, error) {
	switch name {
	case "START_TIME":
		return envoyTime(argument)
	case "REQ":
		return envoyHeader(argument), nil
	}
	return map[string]parse.Variable{
		"RESPONSE_CODE":  {Set: parse.Status},
		"BYTES_RECEIVED": {Set: parse.Size(parse.RequestBytes, false)},
		"BYTES_SENT":     {Set: parse.Size(parse.AnswerBytes, false)},
		"DURATION":       {Set: parse.Latency(time.Millisecond)},

		"DOWNSTREAM_REMOTE_ADDRESS":              {Set: parse.Client},
		"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT": {Set: parse.Client},
	}[name], nil
}

// envoyHeader returns the meaning of a request header; of HEADER?OTHER the first known one.
func envoyHeader(names string) parse.Variable {
	known := map[string]parse.Variable{
		":method": {Set: parse.Method}, ":path": {Set: parse.URI, Role: parse.RoleRequest}, "x-envoy-original-path": {Set: parse.URI, Role: parse.RoleRequest},
		":authority": {Set: parse.Host, Role: parse.RoleHost}, "host": {Set: parse.Host, Role: parse.RoleHost}, ":scheme": {Set: parse.Scheme},
		"referer": {Set: parse.Referer}, "user-agent": {Set: parse.Agent},
	}
	for name := range strings.SplitSeq(names, "?") {
		if v, ok := known[strings.ToLower(name)]; ok {
			return v
		}
	}
	return parse.Variable{}
}

// envoyTime reads the start of a request: the default form, a strftime format, or %s for
// seconds.
func envoyTime(format string) (parse.Variable, error) {
	v := parse.Variable{Set: parse.Start, Role: parse.RoleTime}
	if format == "" || strings.HasPrefix(format, "%s") {
		return v, nil
	}
	layout, err := parse.LayoutOf(regexp.MustCompile(`%(\d)f`).ReplaceAllString(format, "%f"))
	if err == nil {
		err = parse.CheckLayout(layout)
	}
	if err != nil {
		return v, fmt.Errorf("%w; or log it without a format", err)
	}
	v.Blanks, v.Set = strings.Count(layout, " "), parse.Layout(layout, v.Set)
	return v, nil
}
