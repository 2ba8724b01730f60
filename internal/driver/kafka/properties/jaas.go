package properties

import (
	"errors"
	"fmt"
	"strings"
)

// login is what sasl.jaas.config says.
type login struct {
	module         string // the class, without its package
	user, password string
	scope, keytab  string
}

var errJAAS = errors.New(`sasl.jaas.config is not of the form CLASS required username="…" password="…"; write it so, in one line or with \ at the ends of lines`)

// parseJAAS reads the one login module of sasl.jaas.config. Its errors quote nothing of it.
func parseJAAS(text string) (l login, err error) {
	tokens, ok := jaasTokens(text)
	if !ok || len(tokens) < 2 {
		return l, errJAAS
	}
	l.module = tokens[0][strings.LastIndexByte(tokens[0], '.')+1:]
	for i := 2; i < len(tokens) && tokens[i] != ";"; i += 3 {
		if i+2 >= len(tokens) || tokens[i+1] != "=" {
			return l, errJAAS
		}
		switch value := tokens[i+2]; tokens[i] {
		case "keyTab":
			l.keytab = value
		case "username", "clientId", "principal":
			l.user = value
		case "password", "clientSecret":
			l.password = value
		case "scope":
			l.scope = value
		case "unsecuredLoginStringClaim_sub":
			return l, errors.New("sasl.jaas.config asks for an unsecured token, which takt does not make; write one into a file for --sasl-token-file")
		case "tokenauth":
			if value == "true" {
				return l, errors.New("sasl.jaas.config asks for a delegation token, which takt does not have; give a user and a password")
			}
		}
	}
	return l, nil
}

// jaasTokens cuts the text into words, texts in quotes, = and ;.
func jaasTokens(text string) (tokens []string, ok bool) {
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return tokens, true
		}
		switch c := text[0]; c {
		case '=', ';':
			tokens, text = append(tokens, text[:1]), text[1:]
		case '"', '\'':
			token, rest, closed := quoted(text[1:], c)
			if !closed {
				return nil, false
			}
			tokens, text = append(tokens, token), rest
		default:
			end := strings.IndexAny(text, "=;\"' \t\r\n")
			if end < 0 {
				end = len(text)
			}
			tokens, text = append(tokens, text[:end]), text[end:]
		}
	}
}

// quoted reads up to the quote that ends the text.
func quoted(text string, quote byte) (token, rest string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			if at := strings.IndexByte("tnrf", text[i]); at >= 0 {
				b.WriteByte("\t\n\r\f"[at])
			} else {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// check refuses a module that does not belong to the mechanism.
func (l login) check(mechanism string) error {
	want := "ScramLoginModule"
	switch mechanism {
	case "plain":
		want = "PlainLoginModule"
	case "oauthbearer":
		want = "OAuthBearerLoginModule"
	case "gssapi":
		want = "Krb5LoginModule"
	}
	if l.module != want {
		return fmt.Errorf("sasl.jaas.config names another login module than the mechanism %s needs; use %s", mechanism, want)
	}
	return nil
}
