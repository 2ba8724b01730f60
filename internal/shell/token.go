package shell

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// localUser is who comes without a token.
const localUser = "local"

// tokens say who is who.
type tokens []token

type token struct {
	user string
	role role
	sum  [sha256.Size]byte
}

// role is what a user may do.
type role string

const (
	roleLook role = "look" // read what is there: reports, the queue, logs
	roleRun  role = "run"  // everything
)

// A user's name is a part of paths.
var userName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// minToken is the length below which a token can be guessed: with three tries a minute
// and 200 addresses, 8 letters still last for centuries.
const minToken = 8

// readTokens reads lines of NAME TOKEN ROLE; # begins a comment. A line without a role is
// for the role run.
func readTokens(path string) (all tokens, err error) {
	text, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("the tokens cannot be read: %w; check --token-file", err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		one, err := parseToken(fields)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no tokens; write lines of NAME TOKEN, or NAME TOKEN ROLE", path)
	}
	return all, nil
}

// parseToken reads the words of a line. Its errors do not show the token.
func parseToken(fields []string) (token, error) {
	as := roleRun
	if len(fields) == 3 {
		as = role(fields[2])
	}
	switch {
	case len(fields) < 2 || len(fields) > 3 || !userName.MatchString(fields[0]):
		return token{}, errors.New("write NAME TOKEN, or NAME TOKEN ROLE; a name has letters, digits, dots and dashes")
	case len(fields[1]) < minToken:
		return token{}, fmt.Errorf("the token of %s is shorter than %d characters; make a longer one", fields[0], minToken)
	case as != roleLook && as != roleRun:
		return token{}, fmt.Errorf("the third word of %s is no role; write %s or %s", fields[0], roleLook, roleRun)
	}
	return token{fields[0], as, sumOf(fields[1])}, nil
}

func sumOf(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// find is the line of that token, nil if there is none. It takes as long for a wrong
// token as for a right one.
func (t tokens) find(text string) (found *token) {
	sum := sumOf(text)
	for i := range t {
		if subtle.ConstantTimeCompare(sum[:], t[i].sum[:]) == 1 {
			found = &t[i]
		}
	}
	return found
}

// Bounds of tries: of one address in a minute, and of addresses that are remembered.
const (
	maxTries     = 3
	tryTime      = time.Minute
	maxAddresses = 4096
)

// tries counts wrong tokens by address.
type tries struct {
	mu  sync.Mutex
	all map[string][]time.Time
}

// take reports whether an address may try, and counts the try. Of more addresses than
// can be remembered none may.
func (t *tries) take(address string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) >= maxAddresses {
		t.sweep(now)
	}
	var recent []time.Time
	for _, at := range t.all[address] {
		if now.Sub(at) < tryTime {
			recent = append(recent, at)
		}
	}
	if len(recent) >= maxTries || recent == nil && len(t.all) >= maxAddresses {
		return false
	}
	t.all[address] = append(recent, now)
	return true
}

// sweep forgets addresses that have not tried for a minute. The lock is held.
func (t *tries) sweep(now time.Time) {
	for a, times := range t.all {
		if now.Sub(times[len(times)-1]) >= tryTime {
			delete(t.all, a)
		}
	}
}

// forgive forgets the tries of an address: it had the right token.
func (t *tries) forgive(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, address)
}
