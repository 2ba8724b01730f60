package fleet

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/taktload/takt/internal/permanent"
)

// Token is the secret that the gatherer and its members share. The key of the gatherer's TLS
// certificate is derived from it: a member that knows the token knows the key, so nobody has to
// distribute certificates. It must be random, since whoever sees a handshake can try tokens.
type Token string

// minToken is the least length of a token in characters.
const minToken = 32

// NewToken returns a random token of 256 bits.
func NewToken() Token {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	return Token(base64.RawURLEncoding.EncodeToString(bits[:]))
}

// Check refuses a token that can be guessed. "" is no token.
func (t Token) Check() error {
	if t != "" && len(t) < minToken {
		return fmt.Errorf("the token has %d characters and needs %d random ones; make one with: openssl rand -hex 32", len(t), minToken)
	}
	return nil
}

// Is compares in a time that does not depend on where two tokens differ.
func (t Token) Is(other string) bool {
	a, b := sha256.Sum256([]byte(t)), sha256.Sum256([]byte(other))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func (t Token) key() (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, []byte(t), nil, "takt fleet: the gatherer's key", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// server is the configuration of the gatherer.
func (t Token) server() (*tls.Config, error) {
	key, err := t.key()
	if err != nil {
		return nil, err
	}
	plain := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(10, 0, 0)}
	cert, err := x509.CreateCertificate(rand.Reader, plain, plain, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}, MinVersion: tls.VersionTLS13}, nil
}

// errStranger is the error of a member that reached something else than its gatherer.
var errStranger = permanent.Mark(errors.New("the gatherer does not have this token; give both the same --fleet-token"))

// client is the configuration of a member. The name in the certificate does not matter, only
// its key does.
func (t Token) client() (*tls.Config, error) {
	key, err := t.key()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			public, ok := key.Public().(ed25519.PublicKey)
			if !ok || len(s.PeerCertificates) == 0 || !public.Equal(s.PeerCertificates[0].PublicKey) {
				return errStranger
			}
			return nil
		},
	}, nil
}
