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

// localUser is the user of a server without tokens.
const localUser = "local"

// tokens are the lines of the token file.
type tokens []token

type token struct {
	user string
	role role
	sum  [sha256.Size]byte
}

// role is what a user may do.
type role string

const (
	roleLook role = "look" // only read: reports, the queue, logs
	roleRun  role = "run"  // loads, and choices
	// roleAdmin may do everything: see the audit log, reload files, end jobs of others.
	roleAdmin role = "admin"
)

// userName matches the name of a user or a folder. A user's name is part of a file's name.
var userName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// minToken is the shortest token, in bytes: to guess 8 letters takes centuries, with three
// tries a minute from each of 200 addresses.
const minToken = 8

// readTokens reads lines of NAME TOKEN ROLE; # begins a comment line. Without ROLE the role
// is run.
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
		return token{}, fmt.Errorf("the token of %s is shorter than %d characters; choose a longer one", fields[0], minToken)
	case as != roleLook && as != roleRun && as != roleAdmin:
		return token{}, fmt.Errorf("the third word of %s is not a role; write %s, %s or %s", fields[0], roleLook, roleRun, roleAdmin)
	}
	return token{fields[0], as, sumOf(fields[1])}, nil
}

func sumOf(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// find returns the line of a token, or nil. It needs the same time for a wrong token as for
// a right one.
func (t tokens) find(text string) (found *token) {
	sum := sumOf(text)
	for i := range t {
		if subtle.ConstantTimeCompare(sum[:], t[i].sum[:]) == 1 {
			found = &t[i]
		}
	}
	return found
}

// Limits of wrong tokens: maxTries per address within tryTime, and the addresses that are
// remembered.
const (
	maxTries     = 3
	tryTime      = time.Minute
	maxAddresses = 4096
)

// tries counts wrong tokens by address. The zero value has none.
type tries struct {
	mu  sync.Mutex
	all map[string][]time.Time

	one sync.Mutex // while a token is looked up: right tokens that come at once are not tries
}

// check looks a token up, unless the address has tried too many; then ok is false.
func (t *tries) check(address string, find func() *token) (found *token, ok bool) {
	t.one.Lock()
	defer t.one.Unlock()
	if !t.take(address, time.Now()) {
		return nil, false
	}
	if found = find(); found != nil {
		t.forgive(address)
	}
	return found, true
}

// take reports whether an address may try a token, and counts the try. While maxAddresses
// are remembered, no further address may try.
func (t *tries) take(address string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string][]time.Time{}
	}
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

// forgive forgets the tries of an address that sent a right token.
func (t *tries) forgive(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, address)
}
