package httpreq

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Credentials are those of the Authorization header. At most one of the four is given.
type Credentials struct {
	Basic, Bearer         takt.Secret // USER:PASSWORD, and a token
	BasicFile, BearerFile string      // files that hold them

	Line string // what was found, "" for nothing
}

// maxCredentials bounds a file with credentials, in bytes.
const maxCredentials = 64 << 10

// Read finds the header.
func (c *Credentials) Read() error {
	c.Line = ""
	given := 0
	for _, s := range []string{string(c.Basic), string(c.Bearer), c.BasicFile, c.BearerFile} {
		if s != "" {
			given++
		}
	}
	if given > 1 {
		return value.Faultf("several of --auth, --auth-file, --bearer and --bearer-file are given; keep one, a request has one Authorization header")
	}
	basicAuth, err := SecretFrom(string(c.Basic), c.BasicFile, "--auth-file")
	if err != nil {
		return err
	}
	token, err := SecretFrom(string(c.Bearer), c.BearerFile, "--bearer-file")
	switch {
	case err != nil:
		return err
	case basicAuth != "" && !strings.Contains(basicAuth, ":"):
		return errors.New("basic authentication has no colon; write USER:PASSWORD")
	case basicAuth != "":
		c.Line = "Basic " + base64.StdEncoding.EncodeToString([]byte(basicAuth))
	case token != "":
		c.Line = "Bearer " + token
	}
	return nil
}

// SecretFrom is the value, or the content of the file, which flag named, without its
// last line break.
func SecretFrom(given, path, flag string) (string, error) {
	if path == "" {
		return given, nil
	}
	b, err := ReadFile(path, maxCredentials)
	if err != nil {
		return "", value.About(fmt.Errorf("cannot read the credentials: %w; check %s", err, flag), flag)
	}
	s := strings.TrimRight(string(files.TextOf(b)), "\r\n")
	if s == "" || strings.ContainsAny(s, "\r\n") {
		return "", value.About(fmt.Errorf("%s %s does not hold one line with the credentials", flag, path), flag)
	}
	return s, nil
}

// present are those that are not empty.
func present(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// SecretsOf are what a server may echo of an Authorization header: what stands behind
// the scheme, and the password in that.
func SecretsOf(header string) (secrets []string) {
	scheme, value, found := strings.Cut(header, " ")
	if !found {
		value = header
	}
	password := ""
	if strings.EqualFold(scheme, "basic") {
		plain, _ := base64.StdEncoding.DecodeString(value) // what is no base64 has no password
		_, password, _ = strings.Cut(string(plain), ":")
	}
	return present(value, password)
}

// BasicAuth is the header for a URL's user.
func BasicAuth(u *url.Userinfo) string {
	password, _ := u.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password))
}

// SecretsIn are the credentials of a URL as they go over the wire, which a server may
// echo.
func SecretsIn(u *url.URL) []string {
	if u == nil || u.User == nil {
		return nil
	}
	return SecretsOf(BasicAuth(u.User))
}
