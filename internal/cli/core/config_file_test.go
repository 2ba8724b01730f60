package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseConfig(t *testing.T) {
	lines, faults := ParseConfig("f", "\ufeff# a comment\r\n"+
		"; another\n"+
		"\n"+
		"rate = 500/s\r\n"+
		"  duration=30s   # half a minute\n"+
		"header = \"X-Id: 1 # 2\" ; a comment\n"+
		"header = Cookie: a=1; b=2\n"+
		"body = {\"a#b\": \"c\"}\n"+
		"insecure\n"+
		"disable-redirects\t# on\n"+
		"accept =\n"+
		"[ http ] # only\n"+
		"label = \"a=\\\"\\\\\\n\\x00\"\n"+
		"#last = 1")
	want := []configLine{
		{4, "", "rate", "500/s", false},
		{5, "", "duration", "30s", false},
		{6, "", "header", "X-Id: 1 # 2", false},
		{7, "", "header", "Cookie: a=1; b=2", false},
		{8, "", "body", `{"a#b": "c"}`, false},
		{9, "", "insecure", "", true},
		{10, "", "disable-redirects", "", true},
		{11, "", "accept", "", false},
		{12, "http", "", "", false},
		{13, "http", "label", "a=\"\\\n\x00", false},
	}
	if faults != nil || !slices.Equal(lines, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", faults, lines, want)
	}
}

// Every fault at once, and none shows a value.
func TestParseConfigFaults(t *testing.T) {
	lines, faults := ParseConfig("takt.conf", strings.Join([]string{
		"rate = 5/s",
		`auth = "ann:tiger`,
		`auth = "ann:tiger" tiger`,
		`auth = "ann:\tiger\q"`,
		"= tiger",
		"ann:tiger",
		"Bearer tiger",
		"[http",
		"[]",
		"[http] tiger",
		"duration = 5s",
	}, "\n"))
	want := []string{
		`takt.conf:2: bad auth: the quoted value does not end`,
		`takt.conf:3: bad auth: there is text after the quoted value`,
		`takt.conf:4: bad auth: the quoted value does not end, or has an unknown escape`,
		`takt.conf:5: the line does not begin with the name of a flag`,
		`takt.conf:6: the line does not begin with the name of a flag`,
		`takt.conf:7: the line does not begin with the name of a flag`,
		`takt.conf:8: a section is written [COMMAND]`,
		`takt.conf:9: a section is written [COMMAND]`,
		`takt.conf:10: a section is written [COMMAND]`,
	}
	if len(lines) != 2 || len(faults) != len(want) {
		t.Fatalf("%d lines, %d faults, want 2, %d: %v", len(lines), len(faults), len(want), faults)
	}
	for i, err := range faults {
		if !strings.HasPrefix(err.Error(), want[i]) || strings.Contains(err.Error(), "tiger") {
			t.Errorf("got  %v\nwant %s", err, want[i])
		}
	}
}

func TestReadConfigIsBounded(t *testing.T) {
	text, _, err := readConfig(configStdin, strings.NewReader(strings.Repeat("#", maxConfig)))
	if err != nil || len(text) != maxConfig {
		t.Errorf("%d bytes: %v", len(text), err)
	}
	if _, _, err = readConfig(configStdin, strings.NewReader(strings.Repeat("#", maxConfig+1))); err == nil {
		t.Error("a larger file is read")
	}
}

// What the parser accepts can be written and is read again as the same; its
// faults name their line.
func FuzzParseConfig(f *testing.F) {
	f.Add("rate = 500/s # x\nheader = \"X: 1\"\n[http]\ninsecure\n")
	f.Add("body = \"\\x00\\u2028 #\"\r\nbody=#\nbody= a\u00a0")
	f.Add("[http\n=\n\"\nname = \"\\q\"")
	f.Fuzz(func(t *testing.T, text string) {
		lines, faults := ParseConfig("f", text)
		var written strings.Builder
		for _, l := range lines {
			switch {
			case l.name == "":
				fmt.Fprintf(&written, "[%s] # default\n", l.section)
			case l.bare:
				fmt.Fprintf(&written, "%s # default\n", l.name)
			default:
				fmt.Fprintf(&written, "%s = %s  # default\n", l.name, FormatValue(l.Value))
			}
		}
		again, bad := ParseConfig("f", written.String())
		if bad != nil || len(again) != len(lines) {
			t.Fatalf("%d lines became %d, %v:\n%s", len(lines), len(again), bad, &written)
		}
		for i, l := range again {
			if l.number != i+1 {
				t.Fatalf("line %d is %d", i+1, l.number)
			}
			l.number = lines[i].number
			if l != lines[i] {
				t.Fatalf("%+v became %+v", lines[i], l)
			}
		}
		for _, err := range faults {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("%v has no line", err)
			}
		}
	})
}
