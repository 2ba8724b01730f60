package apm

import (
	"encoding/base64"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// auth is the sender's credentials. At most one of the four is set.
type auth struct {
	Secret, Key         takt.Secret // the server's secret token, and an API key
	SecretFile, KeyFile string      // files with the token or key

	token, key string // values that were read
}

// read reads the token or key.
func (a *auth) read() error {
	var err error
	if a.Secret != "" && a.SecretFile != "" || a.Key != "" && a.KeyFile != "" ||
		(a.Secret != "" || a.SecretFile != "") && (a.Key != "" || a.KeyFile != "") {
		return value.Faultf("several of --secret, --secret-file, --api-key and --api-key-file are given; keep one, a request has one Authorization header")
	}
	if a.token, err = httpreq.SecretFrom(string(a.Secret), a.SecretFile, "--secret-file"); err != nil {
		return err
	}
	a.key, err = httpreq.SecretFrom(string(a.Key), a.KeyFile, "--api-key-file")
	if strings.Contains(a.key, ":") { // Elasticsearch's form: ID:KEY
		a.key = base64.StdEncoding.EncodeToString([]byte(a.key))
	}
	return err
}

// header is the Authorization header, or "".
func (a *auth) header() string {
	switch {
	case a.token != "":
		return "Bearer " + a.token
	case a.key != "":
		return "ApiKey " + a.key
	}
	return ""
}

// secrets are the values that a server may echo.
func (a *auth) secrets() (list []string) {
	plain, _ := base64.StdEncoding.DecodeString(a.key) // a key that is not base64 has no parts
	_, key, _ := strings.Cut(string(plain), ":")
	for _, s := range []string{a.token, a.key, key} {
		if s != "" {
			list = append(list, s)
		}
	}
	return list
}
