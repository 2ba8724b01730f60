package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/mcp"
)

// forAgents are the commands that AGENTS.md names: those that answer most questions.
func forAgents() []string {
	return []string{"http", "verify", "capacity", "compare", "show", "runs", "history", "replay", "scenario", "mcp"}
}

// AGENTS.md and llms.txt are made of the other documents. With -update they are written again.
func TestAgentDocs(t *testing.T) {
	for file, want := range map[string]string{"AGENTS.md": agentsMD(t), "llms.txt": llmsTXT(t)} {
		path := "../../docs/" + file
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("docs/%s is not what the other documents say (%v); go test -run TestAgentDocs ./internal/cli -update", file, err)
		}
		if len(want) > 10<<10 {
			t.Errorf("docs/%s has %d bytes, which is too long for an agent", file, len(want))
		}
	}
}

// docs/mcp.md has each tool and each limit.
func TestAgentPage(t *testing.T) {
	text := documentText(t, "docs/mcp.md")
	a := startAgent(t, mcp.Options{Rate: 1, Time: 1e11, Connections: 2})
	for _, one := range a.ask("tools/list", `{}`).Result["tools"].([]any) {
		if name := one.(map[string]any)["name"].(string); !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("docs/mcp.md lacks the tool %s", name)
		}
	}
	for _, name := range []string{"allow-target", "max-rate", "max-duration", "max-connections", "folder", "store"} {
		if !strings.Contains(text, "| `--"+name) {
			t.Errorf("docs/mcp.md lacks --%s", name)
		}
	}
}

func documentText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is what a document has below a heading, up to the next one.
func section(t *testing.T, name, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(documentText(t, name), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", name, heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return "## " + heading + "\n\n" + linked(strings.TrimSpace(text), name) + "\n\n"
}

// linked is a text of a document in docs whose links within the document lead to it from elsewhere in docs.
func linked(text, name string) string {
	return strings.ReplaceAll(text, "](#", "]("+strings.TrimPrefix(name, "docs/")+"#")
}

// whatItIs is the first paragraph of README.md.
func whatItIs(t *testing.T) string {
	t.Helper()
	paragraphs := strings.SplitN(documentText(t, "README.md"), "\n\n", 3)
	return paragraphs[1]
}

func agentsMD(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# takt for agents that run it\n\n" + whatItIs(t) + "\n\nThis page is made of the others; [llms.txt](llms.txt) lists them.\n\n")
	b.WriteString("## Commands\n\n| command | what it does |\n|---|---|\n")
	root := Root(core.Env{Getenv: func(string) string { return "" }})
	for _, name := range forAgents() {
		c, _ := core.FindCommand(root, []string{name})
		b.WriteString("| `takt " + name + "` | " + strings.ReplaceAll(c.Short, "|", `\|`) + " |\n")
	}
	b.WriteString("\n`takt COMMAND --help` shows the flags that matter first. For programs: `-o json=FILE`.\n\n")
	b.WriteString(section(t, "docs/mcp.md", "What may be concluded"))
	b.WriteString(section(t, "docs/reports.md", "Terms"))
	_, table, _ := strings.Cut(documentText(t, "docs/exit-codes.md"), "| code | meaning |")
	table, _, _ = strings.Cut(table, "\n\n")
	b.WriteString("## Exit codes\n\n| code | meaning |" + linked(table, "docs/exit-codes.md") + "\n\n")
	b.WriteString(section(t, "docs/mcp.md", "Set-up"))
	return strings.TrimSpace(b.String()) + "\n"
}

func llmsTXT(t *testing.T) string {
	t.Helper()
	_, lists, _ := strings.Cut(documentText(t, "docs/README.md"), "\n## ")
	return "# takt\n\n> " + strings.ReplaceAll(whatItIs(t), "\n", " ") + "\n\n## " + lists
}
