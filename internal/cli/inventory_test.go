package cli

import (
	"cmp"
	"encoding/json"
	"flag"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/metrics/exporters"
	"github.com/taktload/takt/internal/trace/formats"
	"github.com/taktload/takt/internal/value"
)

var update = flag.Bool("update", false, "write docs/inventory.tsv again")

const (
	top       = "../../"
	inventory = top + "docs/inventory.tsv"
	rewrite   = "go test -run TestInventory ./internal/cli -update"
)

// concept is a line of the inventory.
type concept struct{ kind, name, sentence string }

// docs/inventory.tsv has a line for each concept that a user can name, that a report contains, or that a
// reader of the code meets. So the diff of a change shows the concepts that it adds.
func TestInventory(t *testing.T) {
	var b strings.Builder
	b.WriteString("kind\tname\tsentence\n")
	for _, list := range [][]concept{commandsAndFlags(), warnings(t), fields(t), variables(), environment(t), outputsAndLogs(), packages(t)} {
		slices.SortStableFunc(list, func(a, b concept) int {
			return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name), cmp.Compare(a.sentence, b.sentence))
		})
		for _, c := range list {
			c.sentence = strings.Join(strings.Fields(c.sentence), " ")
			if c.sentence == "" {
				t.Errorf("%s %s has no sentence", c.kind, c.name)
			}
			b.WriteString(c.kind + "\t" + c.name + "\t" + c.sentence + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(inventory, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	stale(t, b.String())
}

// stale fails if the file has other lines than now.
func stale(t *testing.T, now string) {
	text, err := os.ReadFile(inventory)
	if err != nil {
		t.Fatal(err)
	}
	old := string(text)
	if old == now {
		return
	}
	for _, side := range []struct{ mark, text, other string }{{"-", old, now}, {"+", now, old}} {
		has := map[string]bool{}
		for line := range strings.Lines(side.other) {
			has[line] = true
		}
		for line := range strings.Lines(side.text) {
			if !has[line] {
				t.Logf("%s %s", side.mark, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	t.Errorf("docs/inventory.tsv is stale; write it again with: %s", rewrite)
}

// commandsAndFlags has a line for each command, and one for each flag with its sentence: commands share
// flags.
func commandsAndFlags() (list []concept) {
	type meaning struct{ name, usage string }
	where := map[meaning][]string{}
	loads := []string{}
	visit(helpRoot(), func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "takt ")
		if cmd.Hidden || strings.HasPrefix(name, "completion") || strings.HasPrefix(name, core.ConfigCommand+" ") {
			return // cobra's, and those with the flags of another command
		}
		list = append(list, concept{"command", name, cmd.Short})
		if core.IsLoad(cmd) {
			loads = append(loads, name)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && f.Name != "help-all" {
				_, usage := pflag.UnquoteUsage(f)
				m := meaning{"--" + f.Name, usage}
				where[m] = append(where[m], name)
			}
		})
	})
	for m, commands := range where {
		list = append(list, concept{"flag", m.name, m.usage + " [" + among(commands, loads) + "]"})
	}
	return list
}

// among names commands; loads in one word, so that another load changes no line of a flag that all have.
func among(commands, loads []string) string {
	rest := slices.DeleteFunc(slices.Clone(commands), func(c string) bool { return slices.Contains(loads, c) })
	if len(commands)-len(rest) < len(loads) {
		return strings.Join(commands, ", ")
	}
	return strings.Join(append([]string{"all loads"}, rest...), ", ")
}

var (
	warningRow  = regexp.MustCompile("(?m)^\\| ((?:`[a-z0-9_]+`(?:, )?)+) \\| (.*) \\|$")
	warningCode = regexp.MustCompile(`\b(?:Warn|Invalidate|Note|warnOnce)\((?:\w+, )?"([a-z0-9_]+)"`)
)

// warnings are those of the tables in docs/exit-codes.md, which have a row for each code in the source.
func warnings(t *testing.T) (list []concept) {
	text, err := os.ReadFile(top + "docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, row := range warningRow.FindAllStringSubmatch(string(text), -1) {
		for code := range strings.SplitSeq(row[1], ", ") {
			code = strings.Trim(code, "`")
			if !known[code] { // else it is a reason too, and described there
				list = append(list, concept{"warning", code, sentence(row[2])})
			}
			known[code] = true
		}
	}
	eachFile(t, func(path, text string) {
		for _, found := range warningCode.FindAllStringSubmatch(text, -1) {
			if !known[found[1]] {
				t.Errorf("%s: the warning %s has no row in docs/exit-codes.md", path, found[1])
			}
		}
	})
	return list
}

// sentence is the first one of text.
func sentence(text string) string { return new(doc.Package).Synopsis(text) }

// fields are those of the report.
func fields(t *testing.T) (list []concept) {
	text, err := os.ReadFile(top + "internal/format/schema/report-v1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var add func(in string, o map[string]any)
	add = func(in string, o map[string]any) {
		properties, _ := o["properties"].(map[string]any)
		for name, p := range properties {
			field := p.(map[string]any)
			list = append(list, concept{"field", in + "." + name, described(field)})
			add(in+"."+name, field)
			if items, ok := field["items"].(map[string]any); ok {
				add(in+"."+name, items)
			}
		}
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	add("report", schema)
	for name, def := range schema["$defs"].(map[string]any) {
		add(name, def.(map[string]any))
	}
	return list
}

// described is what the schema says of a field: its description, or else its type.
func described(field map[string]any) string {
	if text, ok := field["description"].(string); ok {
		return text
	}
	if ref, ok := field["$ref"].(string); ok {
		return strings.TrimPrefix(ref, "#/$defs/")
	}
	kind, _ := json.Marshal(field["type"])
	if items, ok := field["items"].(map[string]any); ok {
		return "list of " + described(items)
	}
	return strings.Trim(string(kind), `"`)
}

// variables are the settings in reports by which runs are grouped.
func variables() (list []concept) {
	for _, k := range stored.HelpVariables() {
		for _, name := range k.Variables {
			list = append(list, concept{"variable", name, "setting in reports of " + cmp.Or(k.Name, "every load")})
		}
	}
	return list
}

var environmentName = regexp.MustCompile(`[gG]etenv\("([A-Z0-9_]+)"\)|"(TAKT_[A-Z_]+)"|"((?:SLURM|AWS|JOB|PARALLEL|XDG|CI|CIRCLE|GITHUB|BUILDKITE|BUILD|CHANGE|GIT)_[A-Z0-9_]+)"`)

// environment is what takt reads of its environment, without the variables TAKT_… of flags.
func environment(t *testing.T) (list []concept) {
	derived := map[string]bool{}
	visit(helpRoot(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { derived[value.Variable(f.Name)] = true })
	})
	readers := map[string]map[string]bool{}
	eachFile(t, func(path, text string) {
		for _, found := range environmentName.FindAllStringSubmatch(text, -1) {
			name := cmp.Or(found[1], found[2], found[3])
			if readers[name] == nil {
				readers[name] = map[string]bool{}
			}
			readers[name][filepath.Dir(path)] = true
		}
	})
	for name, in := range readers {
		if !derived[name] {
			list = append(list, concept{"environment", name, "variable of the environment, in " + strings.Join(slices.Sorted(maps.Keys(in)), ", ")})
		}
	}
	return list
}

func outputsAndLogs() (list []concept) {
	for _, f := range format.Table() {
		list = append(list, concept{"output", f.Name, f.Short})
	}
	for _, f := range formats.Table() {
		list = append(list, concept{"log", f.Name, f.About})
	}
	for _, k := range exporters.Kinds() {
		list = append(list, concept{"export", k.Name, "figures of a run for " + k.Where})
	}
	return list
}

func packages(t *testing.T) (list []concept) {
	docs := map[string]string{}
	eachFile(t, func(path, text string) {
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		in := filepath.ToSlash(filepath.Dir(path))
		docs[in] = cmp.Or(docs[in], synopsis(f))
	})
	for name, text := range docs {
		list = append(list, concept{"package", name, text})
	}
	return list
}

func synopsis(f *ast.File) string {
	if f.Doc == nil {
		return ""
	}
	return sentence(f.Doc.Text())
}

// eachFile calls do with the files of the product, by their paths from the top.
func eachFile(t *testing.T, do func(path, text string)) {
	t.Helper()
	for _, folder := range []string{"cmd", "docker", "internal", "pkg"} {
		err := filepath.WalkDir(top+folder, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			if err == nil {
				do(filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash(top))), string(text))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
