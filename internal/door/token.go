package door

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

// Tokens are the lines of a token file.
type Tokens []Token

// Token is a line of a token file.
type Token struct {
	User string
	Role Role
	sum  [sha256.Size]byte
}

// Role is what a user may do.
type Role string

const (
	// RoleLook may only read: reports, the queue, logs.
	RoleLook Role = "look"
	// RoleRun may send loads, and choose.
	RoleRun Role = "run"
	// RoleAdmin may do everything: see the audit log, reload files, end jobs of others.
	RoleAdmin Role = "admin"
)

// name matches the name of a user or a folder. A user's name is part of a file's name.
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// IsName reports whether a text can be the name of a user or a folder.
func IsName(text string) bool { return name.MatchString(text) }

// minToken is the shortest token, in bytes: to guess 8 letters takes centuries, with three
// tries a minute from each of 200 addresses.
const minToken = 8

// ReadTokens reads lines of NAME TOKEN ROLE; # begins a comment line. Without ROLE the role
// is run.
func ReadTokens(path string) (all Tokens, err error) {
	text, err := ReadPrivate(path)
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
func parseToken(fields []string) (Token, error) {
	as := RoleRun
	if len(fields) == 3 {
		as = Role(fields[2])
	}
	switch {
	case len(fields) < 2 || len(fields) > 3 || !name.MatchString(fields[0]):
		return Token{}, errors.New("write NAME TOKEN, or NAME TOKEN ROLE; a name has letters, digits, dots and dashes")
	case len(fields[1]) < minToken:
		return Token{}, fmt.Errorf("the token of %s is shorter than %d characters; choose a longer one", fields[0], minToken)
	case as != RoleLook && as != RoleRun && as != RoleAdmin:
		return Token{}, fmt.Errorf("the third word of %s is not a role; write %s, %s or %s", fields[0], RoleLook, RoleRun, RoleAdmin)
	}
	return NewToken(fields[0], as, fields[1]), nil
}

// NewToken is the line of a token file for a user.
func NewToken(user string, role Role, text string) Token { return Token{user, role, sumOf(text)} }

func sumOf(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// Find returns the line of a token, or nil. It needs the same time for a wrong token as for
// a right one.
func (t Tokens) Find(text string) (found *Token) {
	sum := sumOf(text)
	for i := range t {
		if subtle.ConstantTimeCompare(sum[:], t[i].sum[:]) == 1 {
			found = &t[i]
		}
	}
	return found
}

// TryTime is the time within which an address may try maxTries wrong tokens.
const TryTime = time.Minute

const (
	maxTries     = 3
	maxAddresses = 4096 // that are remembered
)

// Tries counts wrong tokens by address. The zero value has none.
type Tries struct {
	mu  sync.Mutex
	all map[string][]time.Time

	one sync.Mutex // while a token is looked up: right tokens that come at once are not tries
}

// Check looks a token up, unless the address has tried too many; then ok is false.
func (t *Tries) Check(address string, find func() *Token) (found *Token, ok bool) {
	t.one.Lock()
	defer t.one.Unlock()
	if !t.Take(address, time.Now()) {
		return nil, false
	}
	if found = find(); found != nil {
		t.forgive(address)
	}
	return found, true
}

// Take reports whether an address may try a token, and counts the try. While maxAddresses
// are remembered, no further address may try.
func (t *Tries) Take(address string, now time.Time) bool {
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
		if now.Sub(at) < TryTime {
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
func (t *Tries) sweep(now time.Time) {
	for a, times := range t.all {
		if now.Sub(times[len(times)-1]) >= TryTime {
			delete(t.all, a)
		}
	}
}

// forgive forgets the tries of an address that sent a right token.
func (t *Tries) forgive(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, address)
}

// Is reports whether both are the same line but for the role.
func (t Token) Is(other *Token) bool { return t.sum == other.sum && t.User == other.User }
