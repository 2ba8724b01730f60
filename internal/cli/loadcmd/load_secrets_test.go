package loadcmd

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver"
)

// No value of a secret flag is in the command that a report shows, however short it is,
// and no other word loses a letter.
func TestCommandWithoutSecrets(t *testing.T) {
	const long = "pL0vQ2zX8mT4nB6wR1yC3sD5fG7hJ9kA_uE-iOqZ" // 40 characters
	for _, secret := range []string{"t", "a", "pass", long} {
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"http", "-a", "ann:" + secret, "--label", "start=at", "http://target/a"}, "takt http -a xxxxx --label start=at http://target/a"},
			{[]string{"http", "-a", secret + ":" + secret, "http://target/" + secret}, "takt http -a xxxxx http://target/" + secret},
			{[]string{"http", "--bearer=" + secret, "http://target/a"}, "takt http --bearer=xxxxx http://target/a"},
			{[]string{"http", "-H", "X-Tok: " + secret, "-H", "Accept: text", "http://target/at"}, "takt http -H X-Tok: xxxxx -H Accept: xxxxx http://target/at"},
			{[]string{"http", "-n", "1", "http://u:" + secret + "@target/t"}, "takt http -n 1 http://u:xxxxx@target/t"},
			{[]string{"http", "-x", "http://u:" + secret + "@proxy:3128", "http://target/"}, "takt http -x http://u:xxxxx@proxy:3128 http://target/"},
			{[]string{"jms", "producer", "--user", "test", "--password", secret, "queue://test"}, "takt jms producer --user test --password xxxxx queue://test"},
			{[]string{"kafka", "produce", "--sasl", "plain", "--sasl-user", "at", "--sasl-password", secret, "--topic", "t"}, "takt kafka produce --sasl plain --sasl-user at --sasl-password xxxxx --topic t"},
		} {
			if secret == long && strings.HasSuffix(c.want, long) {
				continue // so long a one is looked for anywhere
			}
			if got := strings.Join(commandOf(t, c.args), " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		}
	}
}

// commandOf is the command line as a report shows it.
func commandOf(t *testing.T, args []string) []string {
	t.Helper()
	env := core.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }, Args: args, Settings: &core.Settings{}}
	root, loads := &cobra.Command{Use: "takt"}, map[*cobra.Command]*load{}
	for _, row := range driver.Table() {
		group := root
		if row.Group != "" {
			if group = core.Subcommand(root, row.Group); group == nil {
				group = &cobra.Command{Use: row.Group}
				root.AddCommand(group)
			}
		}
		l, c := newLoad(env, row)
		loads[c] = l
		group.AddCommand(c)
	}
	rest, err := core.ParseFlags(env, root, args)
	if err != nil {
		t.Fatal(err)
	}
	cmd, depth := core.FindCommand(root, rest)
	if err := cmd.Args(cmd, rest[depth+1:]); err != nil {
		t.Fatal(err)
	}
	return loads[cmd].command()
}
