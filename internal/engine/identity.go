package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"time"
)

// NewID makes a ULID (github.com/ulid/spec): 48 bits of milliseconds and 80 random bits, so
// identifiers sort by time.
func NewID(now time.Time) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	ms, high, low := uint64(now.UnixMilli()), uint64(rand.Uint32())<<8, rand.Uint64()
	high |= low & 0xff
	low >>= 8
	id := make([]byte, 26)
	for i := range 10 {
		id[9-i] = digits[ms>>(5*i)&31]
	}
	for i := range 8 {
		id[17-i] = digits[high>>(5*i)&31]
		id[25-i] = digits[low>>(5*i)&31]
	}
	return string(id)
}

// ComparabilityKey is the key of a report with these variables and host class. Runs with
// equal keys may be compared.
func ComparabilityKey(variables map[string]any, hostClass string) string {
	b, err := json.Marshal(map[string]any{"variables": variables, "host": hostClass})
	if err != nil {
		return "" // cannot happen: variables are plain values
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
