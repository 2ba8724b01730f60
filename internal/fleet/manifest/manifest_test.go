package manifest

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files again")

// example is a fleet without faults.
func example() *Fleet {
	f := Default()
	f.Shards, f.ID, f.Token = 4, "01JD", strings.Repeat("7f", 32)
	f.Command = []string{"http", "--rate", "400/s", "-z", "10s", "http://shop/"}
	f.Span, f.Drain = 30*time.Second, 20*time.Second
	return f
}

// hostile are words that a text could change, or run.
func hostile() []string {
	return []string{
		"", " ", "'", `"`, `\`, "\n", "a\nb: c", "\t", "\r", "$(TAKT_FLEET_TOKEN)", "$$(X)", "$HOME", "$", "`id`", "$(id)", "{{ .Task.Slot }}", "%d", "%",
		"true", "null", "1e3", "0x10", "~", "- x", "# x", "a #b", "a: b", "&a", "*a", "!a", "|", ">", "@", "---", "...", "[1]", "{a}", "é", "🙂", "\u2028", "\ufeff", "\u0085", "\x7f", "\x01", "EOF",
	}
}

func TestGolden(t *testing.T) {
	all := example()
	all.Shards, all.Name, all.Image, all.CPUs, all.Memory, all.Port = 40, "peak", "registry.example.com:5000/takt@sha256:0", 4, "2Gi", 9000
	all.JoinTimeout, all.AllowLost, all.Deadline = time.Minute, 0.1, time.Hour
	all.Reads = []string{"order.json", "it's.txt"}
	all.Command = append([]string{"http", "-o", "json=-", "--body-file", "order.json"}, all.Command[1:]...)
	words := example()
	words.Shards, words.Command = 1, hostile()
	for _, c := range []struct {
		name   string
		fleet  *Fleet
		writer Writer
	}{
		{"kubernetes.yaml", example(), &kubernetes{kept: 24 * time.Hour}},
		{"kubernetes-all.yaml", all, &kubernetes{namespace: "perf", secret: "load-test", queue: "batch", configMap: "bodies", kept: time.Hour, nodes: []string{"pool=load", "example.com/disk=1"}}},
		{"kubernetes-volume.yaml", example(), &kubernetes{claim: "logs"}},
		{"kubernetes-words.yaml", words, &kubernetes{}},
		{"slurm.sh", example(), slurm{}},
		{"slurm-all.sh", all, slurm{}},
		{"slurm-words.sh", words, slurm{}},
		{"swarm.yaml", example(), &swarm{network: overlayNetwork, perNode: 1}},
		{"swarm-all.yaml", all, &swarm{network: hostNetwork, node: "load-1.example.com", folder: "/srv/load", perNode: 4}},
		{"swarm-words.yaml", words, &swarm{network: overlayNetwork, perNode: 1}},
		{"ssh.sh", example(), &ssh{program: "takt", hosts: []string{"load1", "ann@load2"}}},
		{"ssh-all.sh", all, &ssh{program: "~/bin/takt", hosts: []string{"load1"}, address: "ci.example.com"}},
		{"ssh-words.sh", words, &ssh{program: "takt", hosts: []string{"load1"}}},
	} {
		if faults := append(c.writer.Validate(c.fleet), c.fleet.Validate()...); len(faults) > 0 {
			t.Errorf("%s: %v", c.name, faults)
		}
		got := c.writer.Text(c.fleet)
		path := filepath.Join("testdata", c.name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not as before; look at the difference after -update:\n%s", c.name, got)
		}
	}
}

// JSON is a part of YAML: what a parser of JSON reads back, one of YAML does.
func TestYAMLText(t *testing.T) {
	for _, word := range hostile() {
		var back string
		if err := json.Unmarshal([]byte(yamlText(word)), &back); err != nil || back != word {
			t.Errorf("%q is written as %s, and read as %q, %v", word, yamlText(word), back, err)
		}
		for _, r := range yamlText(word) {
			if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0xfeff {
				t.Errorf("%q is written with %U", word, r)
			}
		}
		if plain := scalar(word); !strings.HasPrefix(plain, `"`) && plain != "EOF" {
			t.Errorf("%q is written without quotes", word)
		}
	}
}

// Kubernetes replaces $$ by $, and $(NAME): of doubled dollars it leaves what was given.
func TestKubernetesArgs(t *testing.T) {
	for i, arg := range kubernetesArgs(hostile()) {
		if back := strings.ReplaceAll(arg.(string), "$$", "$"); back != hostile()[i] || strings.Count(arg.(string), "$")%2 == 1 {
			t.Errorf("%q becomes %q, and then %q", hostile()[i], arg, back)
		}
	}
}

// A shell reads each word back.
func TestShellWords(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	out, err := exec.Command(sh, "-c", `printf '%s\0' `+shellWords(hostile())).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(hostile(), "\x00") + "\x00"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

// The words of the command, and the names of files, cannot leave the comment at the top.
func TestComment(t *testing.T) {
	f := example()
	f.Reads = []string{"a\nb: c", "d\re"}
	for _, text := range []string{
		(&kubernetes{claim: "c", configMap: "x"}).Text(f), (&ssh{program: "takt", hosts: []string{"h"}}).Text(f),
		slurm{}.Text(f), (&swarm{folder: "/srv"}).Text(f),
	} {
		head, _, _ := strings.Cut(text, "\napiVersion")
		head, _, _ = strings.Cut(head, "\nset -u")
		head, _, _ = strings.Cut(head, "\n\ncommand ")
		head, _, _ = strings.Cut(head, "\nversion: ")
		for line := range strings.Lines(head) {
			if !strings.HasPrefix(line, "#") || strings.Contains(line, "\r") {
				t.Errorf("%q is not a line of a comment", line)
			}
		}
	}
}

// Each engine refuses what it cannot do, and says what to do.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		change func(f *Fleet)
		writer Writer
		want   string
	}{
		{func(f *Fleet) { f.Shards = 0 }, &kubernetes{}, "--shards is missing"},
		{func(f *Fleet) { f.Shards = 10_001 }, &kubernetes{}, "--shards is 10001; give a number from 1 to 10000"},
		{func(f *Fleet) { f.Name = "Takt" }, &kubernetes{}, `--name is "Takt"`},
		{func(f *Fleet) { f.Name = strings.Repeat("a", 41) }, &kubernetes{}, "at most 40 lower-case"},
		{func(f *Fleet) { f.Name = "a\nb" }, &kubernetes{}, `--name is "a\nb"`},
		{func(f *Fleet) { f.Port = 0 }, &kubernetes{}, "--port is 0"},
		{func(f *Fleet) { f.AllowLost = 0.6 }, &kubernetes{}, "--allow-lost is 60%"},
		{func(f *Fleet) { f.JoinTimeout = 0 }, &kubernetes{}, "--join-timeout is 0s"},
		{func(f *Fleet) { f.Deadline = time.Minute }, &kubernetes{}, "--deadline is 1m0s, but the shards may need 5m0s to join and 30s for their load"},
		{func(f *Fleet) { f.Span = 0 }, &kubernetes{}, "such as --deadline 1h"},
		{func(f *Fleet) { f.CPUs = 0 }, &kubernetes{}, "--cpus is 0"},
		{func(f *Fleet) { f.Memory = "512Mi\nx: y" }, &kubernetes{}, "--memory is"},
		{func(f *Fleet) { f.Command = append(f.Command, "a\xff") }, &kubernetes{}, `"a\xff" is not a text in UTF-8`},
		{func(f *Fleet) { f.Command = append(f.Command, "a\x00") }, &kubernetes{}, "not a text in UTF-8"},
		{func(f *Fleet) { f.Reads = []string{"b.json"} }, &kubernetes{}, `reads "b.json", and no container has this file; put it into a ConfigMap`},
		{func(f *Fleet) { f.Reads = []string{"/etc/b.json"} }, &kubernetes{configMap: "x"}, "give a name below this folder"},
		{func(f *Fleet) { f.Reads = []string{"../b.json"} }, &kubernetes{claim: "x"}, "give a name below this folder"},
		{func(f *Fleet) { f.Reads = []string{"a/b.json"} }, &kubernetes{configMap: "x"}, "a ConfigMap has no folders"},
		{func(f *Fleet) { f.Writes = []string{"r.json"} }, &kubernetes{}, `would write "r.json" in its container`},
		{func(f *Fleet) {}, &kubernetes{namespace: "a b"}, `--namespace is "a b"`},
		{func(f *Fleet) {}, &kubernetes{configMap: "a", claim: "b"}, "both --config-map and --volume-claim are given"},
		{func(f *Fleet) { f.Image = "" }, &kubernetes{}, `--image is ""`},
		{func(f *Fleet) { f.Image = "a\nb: c" }, &kubernetes{}, `--image is "a\nb: c"`},
		{func(f *Fleet) {}, &kubernetes{nodes: []string{"load"}}, `--nodes is "load"`},
		{func(f *Fleet) {}, &kubernetes{nodes: []string{"a=b\nc: d"}}, `--nodes is "a=b\nc: d"`},
		{func(f *Fleet) {}, &kubernetes{kept: -1}, "--keep is -1ns"},
		{func(f *Fleet) { f.Span = 0 }, slurm{}, "such as --deadline 1h"},
		{func(f *Fleet) { f.CPUs = 1025 }, slurm{}, "--cpus is 1025"},
		{func(f *Fleet) {}, &swarm{network: hostNetwork, perNode: 1}, "--network host needs --gatherer-node"},
		{func(f *Fleet) {}, &swarm{node: "{{.Node.ID}}", perNode: 1}, `--gatherer-node is "{{.Node.ID}}"`},
		{func(f *Fleet) {}, &swarm{folder: "/srv/{{.Node.ID}}", perNode: 1}, `--folder is "/srv/{{.Node.ID}}"`},
		{func(f *Fleet) {}, &swarm{folder: "srv", perNode: 1}, `--folder is "srv"; give an absolute path`},
		{func(f *Fleet) {}, &swarm{}, "--per-node is 0"},
		{func(f *Fleet) { f.Image = "" }, &swarm{perNode: 1}, "--image is empty"},
		{func(f *Fleet) { f.Reads = []string{"b.json"} }, &swarm{perNode: 1}, `reads "b.json", and no container has this file; copy it`},
		{func(f *Fleet) { f.Reads = []string{"/etc/b.json"} }, &swarm{folder: "/srv", perNode: 1}, "give a name below --folder"},
		{func(f *Fleet) { f.Reads = []string{"a/../../b"} }, &swarm{folder: "/srv", perNode: 1}, "give a name below --folder"},
		{func(f *Fleet) { f.Writes = []string{"r.json"} }, &swarm{perNode: 1}, `would write "r.json" in its container`},
		{func(f *Fleet) {}, &ssh{program: "takt"}, "--hosts is missing"},
		{func(f *Fleet) {}, &ssh{program: "takt", hosts: []string{"a,-oProxyCommand=id"}}, `--hosts has "-oProxyCommand=id"`},
		{func(f *Fleet) {}, &ssh{program: "takt", hosts: []string{"a;id"}}, `--hosts has "a;id"`},
		{func(f *Fleet) {}, &ssh{program: "takt; id", hosts: []string{"a"}}, `--program is "takt; id"`},
		{func(f *Fleet) {}, &ssh{program: "takt", hosts: []string{"a"}, address: "$(id)"}, `--address is "$(id)"`},
		{func(f *Fleet) { f.Shards = 1 }, &ssh{program: "takt", hosts: []string{"a,b"}}, "--shards is 1, but there are 2 hosts"},
		{func(f *Fleet) { f.Port = 65533 }, &ssh{program: "takt", hosts: []string{"a"}}, "the hosts would need ports above 65535"},
	} {
		f := example()
		c.change(f)
		var said []string
		for _, fault := range append(c.writer.Validate(f), f.Validate()...) {
			said = append(said, fault.Error())
		}
		if len(said) != 1 || !strings.Contains(said[0], c.want) {
			t.Errorf("got %q, want one fault with %q", said, c.want)
		}
	}
}

// Without --shards each host has one. A fleet of ssh needs no deadline.
func TestShardsOfHosts(t *testing.T) {
	f := example()
	f.Shards, f.Span, f.Endless = 0, 0, true
	s := &ssh{program: "takt", hosts: []string{"a,b", "c"}}
	if faults := append(s.Validate(f), f.Validate()...); len(faults) > 0 || f.Shards != 3 {
		t.Errorf("%d shards, %v", f.Shards, faults)
	}
}

func TestLimit(t *testing.T) {
	f := example()
	if got := f.Limit(); got != 5*time.Minute+30*time.Second+reserve {
		t.Errorf("the limit is %v", got)
	}
	if f.Deadline = time.Hour; f.Limit() != time.Hour {
		t.Errorf("the limit is %v with --deadline 1h", f.Limit())
	}
	if f.Shards, f.AllowLost = 40, 0.07; f.MayLose() != 2 {
		t.Errorf("%d of 40 shards may be lost at 7%%", f.MayLose())
	}
}

// bash reads each word back. sbatch refuses a script with carriage returns, and reads lines that
// begin with #SBATCH.
func TestBashWords(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	odd := append(hostile(), "a\n#SBATCH --ntasks=9\n", "a\r\nb", `\'`, "\x01'\\1", "\x019")
	text := bashWords(odd)
	if strings.ContainsAny(text, "\r\n") {
		t.Errorf("%q has more than one line", text)
	}
	cmd := exec.Command(bash)
	cmd.Stdin = strings.NewReader(`printf '%s\0' ` + text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(odd, "\x00") + "\x00"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

// Docker replaces $$ by $ and expands $NAME.
func TestComposeText(t *testing.T) {
	for _, word := range hostile() {
		text := composeText(word)
		if back := strings.ReplaceAll(text, "$$", "$"); back != word || strings.Count(text, "$")%2 == 1 {
			t.Errorf("%q becomes %q, and then %q", word, text, back)
		}
	}
}

// Slurm counts whole minutes, and its notice comes up to a minute early.
func TestSlurmMinutes(t *testing.T) {
	for limit, want := range map[time.Duration]int{time.Second: 3, time.Minute: 3, 61 * time.Second: 4, time.Hour: 62} {
		if got := slurmMinutes(limit); got != want {
			t.Errorf("%v becomes %d minutes, want %d", limit, got, want)
		}
	}
}
