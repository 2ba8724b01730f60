package trace

import (
	"fmt"
	"regexp"
	"strings"
	"time"
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
func envoyPieces(text string) ([]piece, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(text), `\n`), "\n")
	return cut(text, '%', func(text string) ([]piece, string, error) {
		if rest, ok := strings.CutPrefix(text, "%%"); ok {
			return []piece{{literal: "%"}}, rest, nil
		}
		m := envoyItem.FindStringSubmatch(text)
		if m == nil {
			return nil, "", fmt.Errorf("%.40q is not an item of a format of Envoy, such as %%DURATION%% or %%REQ(:PATH)%%", text)
		}
		v, err := envoyVariable(m[1], m[2])
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", m[0], err)
		}
		return []piece{{name: m[0], variable: v}}, text[len(m[0]):], nil
	})
}

// envoyVariable returns the meaning of an item; takt ignores the values of other items.
// Durations are in milliseconds.
func envoyVariable(name, argument string) (variable, error) {
	switch name {
	case "START_TIME":
		return envoyTime(argument)
	case "REQ":
		return envoyHeader(argument), nil
	}
	return map[string]variable{
		"RESPONSE_CODE":  {set: setStatus},
		"BYTES_RECEIVED": {set: setSize(requestBytes, false)},
		"BYTES_SENT":     {set: setSize(answerBytes, false)},
		"DURATION":       {set: setLatency(time.Millisecond)},

		"DOWNSTREAM_REMOTE_ADDRESS":              {set: setClient},
		"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT": {set: setClient},
	}[name], nil
}

// envoyHeader returns the meaning of a request header; of HEADER?OTHER the first known one.
func envoyHeader(names string) variable {
	known := map[string]variable{
		":method": {set: setMethod}, ":path": {set: setURI, kind: requestKind}, "x-envoy-original-path": {set: setURI, kind: requestKind},
		":authority": {set: setHost, kind: hostKind}, "host": {set: setHost, kind: hostKind}, ":scheme": {set: setScheme},
		"referer": {set: setReferer}, "user-agent": {set: setAgent},
	}
	for name := range strings.SplitSeq(names, "?") {
		if v, ok := known[strings.ToLower(name)]; ok {
			return v
		}
	}
	return variable{}
}

// envoyTime reads the start of a request: the default form, a strftime format, or %s for
// seconds.
func envoyTime(format string) (variable, error) {
	v := variable{set: setStart, kind: timeKind}
	if format == "" || strings.HasPrefix(format, "%s") {
		return v, nil
	}
	layout, err := layoutOf(regexp.MustCompile(`%(\d)f`).ReplaceAllString(format, "%f"))
	if err == nil {
		err = checkLayout(layout)
	}
	if err != nil {
		return v, fmt.Errorf("%w; or log it without a format", err)
	}
	v.blanks, v.set = strings.Count(layout, " "), setLayout(layout, v.set)
	return v, nil
}
