package shell

import (
	"errors"
	"slices"
	"testing"
)

// Only names whose URLs have passwords are secret, and an error shows the name instead of the URL.
func TestNamesWithPasswords(t *testing.T) {
	n := names{"shop": "http://u:TEAMPW99@127.0.0.1:31000/", "open": "http://127.0.0.1:31000", "broker": "10.0.0.1:9092"}
	words := []string{"http", "--brokers=@shop", "@shop/a?b=c", "-d@=@shop", "@open", "@broker", "@nobody", "shop"}
	_, named := n.resolve(words)
	got := n.secret(named)
	want := Named{"@shop", "http://u:TEAMPW99@127.0.0.1:31000"}
	if !slices.Equal(got, []Named{want, want, want}) {
		t.Errorf("%+v", got)
	}
	cause := errors.New(`bad --rate: "http://u:TEAMPW99@127.0.0.1:31000/x"`)
	if err := unnamed(cause, got); err.Error() != `bad --rate: "@shop/x"` || !errors.Is(err, cause) {
		t.Error(err)
	}
}
