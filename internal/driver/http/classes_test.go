package http_test

import (
	"os"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
)

// The document names every class of failure that a request can have.
func TestClassesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "Classes of failure: ")
	list, _, _ = strings.Cut(list, "\n")
	for _, class := range []string{
		engine.ClassTimeout, engine.ClassConnectTimeout, engine.ClassRefused, engine.ClassReset, engine.ClassDNS,
		engine.ClassTLS, engine.ClassUnsolicited, engine.ClassFiles, engine.ClassPorts, engine.ClassNetwork,
		http1.ClassClosed, http1.ClassTruncated, http1.ClassMalformed, http1.ClassTooLarge, http1.ClassBody,
		http.ClassProtocol, http.ClassRequest, http.ClassRefusedStream,
	} {
		if !strings.Contains(list, "`"+class+"`") {
			t.Errorf("%s is not in: %s", class, list)
		}
	}
}
