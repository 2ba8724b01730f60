package shell

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"os"
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
	sum  [sha256.Size]byte
}

// A user's name is a part of paths.
var userName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// minToken is the length below which a token can be guessed: with three tries a minute
// and 200 addresses, 8 letters still last for centuries.
const minToken = 8

// readTokens reads lines of NAME TOKEN; # begins a comment.
func readTokens(path string) (all tokens, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the tokens cannot be read: %w; check --token-file", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case len(fields) != 2 || !userName.MatchString(fields[0]):
			return nil, fmt.Errorf("%s:%d is no line of NAME TOKEN", path, n)
		case len(fields[1]) < minToken:
			return nil, fmt.Errorf("%s:%d: the token of %s is shorter than %d characters; make a longer one", path, n, fields[0], minToken)
		default:
			all = append(all, token{fields[0], sha256.Sum256([]byte(fields[1]))})
		}
	}
	if lines.Err() == nil && len(all) == 0 {
		return nil, fmt.Errorf("%s has no tokens; write lines of NAME TOKEN", path)
	}
	return all, lines.Err()
}

// user is whose token it is, "" if nobody's. It takes as long for a wrong one as for a
// right one.
func (t tokens) user(text string) string {
	sum := sha256.Sum256([]byte(text))
	found := ""
	for _, one := range t {
		if subtle.ConstantTimeCompare(sum[:], one.sum[:]) == 1 {
			found = one.user
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
