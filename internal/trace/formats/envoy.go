package formats

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace/fill"
	"github.com/taktload/takt/internal/trace/pattern"
	"github.com/taktload/takt/internal/trace/stamp"
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
func envoyPieces(text string) ([]pattern.Piece, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(text), `\n`), "\n")
	return pattern.Cut(text, '%', func(text string) ([]pattern.Piece, string, error) {
		if rest, ok := strings.CutPrefix(text, "%%"); ok {
			return []pattern.Piece{{Literal: "%"}}, rest, nil
		}
		m := envoyItem.FindStringSubmatch(text)
		if m == nil {
			return nil, "", fmt.Errorf("%.40q is not an item of a format of Envoy, such as %%DURATION%% or %%REQ(:PATH)%%", text)
		}
		v, err := envoyVariable(m[1], m[2])
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", m[0], err)
		}
		return []pattern.Piece{{Name: m[0], Variable: v}}, text[len(m[0]):], nil
	})
}

// envoyVariable returns the meaning of an item; takt ignores the values of other items.
// Durations are in milliseconds.
func envoyVariable(name, argument string) (pattern.Variable, error) {
	switch name {
	case "START_TIME":
		return envoyTime(argument)
	case "REQ":
		return envoyHeader(argument), nil
	}
	return map[string]pattern.Variable{
		"RESPONSE_CODE":  {Set: fill.Status},
		"BYTES_RECEIVED": {Set: fill.Size(fill.RequestBytes, false)},
		"BYTES_SENT":     {Set: fill.Size(fill.AnswerBytes, false)},
		"DURATION":       {Set: fill.Latency(time.Millisecond)},

		"DOWNSTREAM_REMOTE_ADDRESS":              {Set: fill.Client},
		"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT": {Set: fill.Client},
	}[name], nil
}

// envoyHeader returns the meaning of a request header; of HEADER?OTHER the first known one.
func envoyHeader(names string) pattern.Variable {
	known := map[string]pattern.Variable{
		":method": {Set: fill.Method}, ":path": {Set: fill.URI, Role: pattern.Request}, "x-envoy-original-path": {Set: fill.URI, Role: pattern.Request},
		":authority": {Set: fill.Host, Role: pattern.Host}, "host": {Set: fill.Host, Role: pattern.Host}, ":scheme": {Set: fill.Scheme},
		"referer": {Set: fill.Referer}, "user-agent": {Set: fill.Agent},
	}
	for name := range strings.SplitSeq(names, "?") {
		if v, ok := known[strings.ToLower(name)]; ok {
			return v
		}
	}
	return pattern.Variable{}
}

// envoyTime reads the start of a request: the default form, a strftime format, or %s for
// seconds.
func envoyTime(format string) (pattern.Variable, error) {
	v := pattern.Variable{Set: fill.Start, Role: pattern.Time}
	if format == "" || strings.HasPrefix(format, "%s") {
		return v, nil
	}
	layout, err := stamp.LayoutOf(regexp.MustCompile(`%(\d)f`).ReplaceAllString(format, "%f"))
	if err == nil {
		err = stamp.CheckLayout(layout)
	}
	if err != nil {
		return v, fmt.Errorf("%w; or log it without a format", err)
	}
	v.Blanks, v.Set = strings.Count(layout, " "), fill.Layout(layout, v.Set)
	return v, nil
}
