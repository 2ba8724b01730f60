//go:build real

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// unsigned is a token that the broker accepts without a signature.
func unsigned(user string, lifetime time.Duration) string {
	now := time.Now()
	claims, _ := json.Marshal(map[string]any{"sub": user, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(lifetime).Unix()}) // plain values
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(claims) + "."
}

// The broker wants to see a token again every 2 s. Each client goes on with the token in the file, or with
// the next one of an authorization server, whose tokens live for 3 s.
func TestRealKafkaToken(t *testing.T) {
	b := kafka(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		if pass, _ = url.QueryUnescape(pass); user != "client" || pass != "sec ret" || r.FormValue("scope") != "load" || r.FormValue("grant_type") != "client_credentials" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		asked.Add(1)
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":3}`, unsigned("takt", 3*time.Second))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(unsigned("takt", time.Hour)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("clients", func(t *testing.T) {
		for client, from := range map[string][]string{
			"takt":   {"--sasl-token-url", server.URL, "--sasl-user", "client", "--sasl-password", "sec ret", "--sasl-scope", "load"},
			"franz":  {"--sasl-token-file", file},
			"sarama": {"--sasl-token-file", file},
		} {
			t.Run(client, func(t *testing.T) {
				t.Parallel()
				t.Cleanup(func() { b.drop(t, topicOf(t)) })
				r, code, said := runOnce(t, t.Context(), "kafka produce", append([]string{"--brokers", b.addr(saslPort), "--topic", topicOf(t), "--create-topic", "--client", client, "--sasl", "oauthbearer", "--rate", "200/s", "--duration", "5s", "--message-batch-size", "20"}, from...))
				if code != 0 || r.Counts.OK != 1000 {
					t.Errorf("exit code %d, %s", code, said)
				}
			})
		}
	})
	if n := asked.Load(); n < 2 {
		t.Errorf("the authorization server was asked %d times in 5 s, for tokens that live for 3 s", n)
	}
	code, said := say(t.Context(), "kafka consume", []string{"--brokers", b.addr(saslPort), "--topic", "x", "--sasl", "oauthbearer", "--sasl-token-url", server.URL, "--sasl-user", "client", "--sasl-password", "wrong-secret", "--exit"})
	if code == 0 || strings.Contains(said, "wrong-secret") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
