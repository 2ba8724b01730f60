package proc

import (
	"regexp"
	"slices"
	"strings"
)

// plainNames are the variables that tell a program where its files and tools are, what
// language it speaks and how it reaches the network.
var plainNames = strings.Fields(`
	PATH HOME USER LOGNAME SHELL PWD TERM TZ TMPDIR LANG LANGUAGE
	XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME
	GOROOT GOPATH GOBIN GOCACHE GOMODCACHE GOTMPDIR GOENV GOFLAGS GOTOOLCHAIN GO111MODULE GOWORK
	GOPROXY GONOPROXY GOSUMDB GONOSUMDB GOPRIVATE GOINSECURE GOVCS
	GOOS GOARCH GOAMD64 GOARM GOARM64 GOEXPERIMENT GODEBUG GOGC GOMEMLIMIT GOMAXPROCS
	CGO_ENABLED CC CXX PKG_CONFIG_PATH
	HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy SSL_CERT_FILE SSL_CERT_DIR`)

// WithoutSettings is the part of environ that a command may see that the user lets takt run: all but takt's
// settings, which may contain secrets.
func WithoutSettings(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "TAKT_") })
}

// credentialed is a URL with a user or a password in it.
var credentialed = regexp.MustCompile(`://[^/\s]*@`)

// PlainEnvironment is the part of environ that a program may see that somebody else has
// written: variables known to hold no secret, those of the locale, and the ones named in
// also. A proxy or a URL with credentials in it is left out.
func PlainEnvironment(environ []string, also ...string) (plain []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		known := slices.Contains(plainNames, name) || strings.HasPrefix(name, "LC_")
		if slices.Contains(also, name) || known && !credentialed.MatchString(value) {
			plain = append(plain, v)
		}
	}
	return plain
}
