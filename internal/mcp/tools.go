package mcp

import (
	"fmt"
	"net/url"
	"strings"
)

// toolsOf are the tools within the limits of the user.
func toolsOf(o *Options) []*tool {
	return []*tool{runTool(o), verifyTool(o), capacityTool(o), compareTool(), showTool(), runsTool()}
}

// targetField is a URL to load.
func targetField(name, about string) field {
	return field{name: name, kind: text, must: true, about: about + " A complete URL, http or https, without placeholders.", limit: "--allow-target", example: "http://127.0.0.1:8080/"}
}

// requestFields are what a request of a load is made of.
func requestFields(o *Options) []field {
	return []field{
		{name: "method", kind: text, flag: "method", about: "HTTP method (default GET).", choices: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}},
		{name: "headers", kind: texts, flag: "header", about: `Headers, each as "Name: value".`, example: []string{"Content-Type: application/json"}},
		{name: "body", kind: text, flag: "body", about: "Request body. Placeholders: {{.Seq}} {{uuid}} {{randInt 1 100}} {{randString 8}}.", example: `{"id":"{{uuid}}"}`},
		{name: "timeout_s", kind: number, flag: "timeout", unit: "s", least: 0.001, most: 60, about: "Time limit for a request (default 20)."},
		{name: "connections", kind: whole, least: 1, most: float64(o.Connections), limit: "--max-connections", about: "Most operations in flight, of each server (default: what the user allows). If it is reached, operations wait, and that counts."},
		{name: "insecure", kind: truth, flag: "insecure", about: "Do not verify the certificate of the server."},
	}
}

// rateField is how much a run sends.
func rateField(o *Options) field {
	return field{name: "rate_per_s", kind: number, flag: "rate", unit: "/s", must: true, least: 0.1, most: o.Rate, limit: "--max-rate", about: "Requests per second, on a schedule.", example: 100}
}

// pageField is a page for people.
func pageField() field {
	return field{name: "page", kind: text, about: "Also write a page for people, to this file in the folder that the user allows.", example: "run.html"}
}

// pageWords are the outputs: JSON for takt mcp itself, and a page.
func pageWords(v values) []string {
	words := []string{"--output=json=-"}
	if name := v.one("page"); name != "" {
		words = append(words, "--output=html="+name)
	}
	return words
}

func runTool(o *Options) *tool {
	t := &tool{
		name: "run", title: "Load an HTTP server", load: true, judges: true, answer: runAnswer,
		about: "Send requests to one URL at a constant rate, and measure what users feel: response time from the instant at which each request was due. Answers how slow, how many errors, does it freeze, does it keep up with a rate. 1000 requests or more show the p99. Not for comparing two servers: use verify.",
	}
	t.fields = append([]field{
		targetField("url", "What to load."), rateField(o),
		{name: "duration_s", kind: number, least: 1, most: o.Time.Seconds(), limit: "--max-duration", about: "Length of the measured load (default 10). What happens less often than once in that time stays unknown.", example: 10},
		{name: "warmup_s", kind: number, flag: "warmup", unit: "s", least: 0, most: o.Time.Seconds(), limit: "--max-duration", about: "Load before the measured part, which is not counted (default 0)."},
		{name: "arrivals", kind: text, flag: "arrivals", choices: []string{"uniform", "poisson"}, about: "Spacing of the requests: even (default), or random as of independent users."},
		{name: "assert", kind: texts, flag: "assert", about: "Conditions that the answer judges.", example: []string{"p99<250ms", "errors<0.1%"}},
		{name: "labels", kind: texts, flag: "label", about: "Labels to find the run again, as NAME=VALUE.", example: []string{"branch=main"}},
		pageField(),
	}, requestFields(o)...)
	t.check = func(v values) []error {
		faults := checkURLs(v, "url")
		if both := lengthOf(v) + v.number("warmup_s"); both > o.Time.Seconds() {
			faults = append(faults, overLimit("duration_s with warmup_s", both, o.Time.Seconds(), "--max-duration"))
		}
		return faults
	}
	t.line = func(v values) []string {
		words := append([]string{"http", "--progress=none", fmt.Sprintf("--duration=%vs", lengthOf(v)), fmt.Sprintf("--max-in-flight=%d", o.inFlight(v.number("connections"), 1))}, t.flags(v)...)
		return append(append(words, pageWords(v)...), v.one("url"))
	}
	return t
}

// lengthOf is the length of a run, in seconds.
func lengthOf(v values) float64 {
	if n := v.number("duration_s"); n > 0 {
		return n
	}
	return 10
}

func verifyTool(o *Options) *tool {
	t := &tool{
		name: "verify", title: "Is one server slower than another?", load: true, judges: true, answer: verifyAnswer,
		about: "Send the same load to two servers in turn, and judge whether head is slower than base, or fails more. Needs a rate that both can take, 30/s or more; from 200/s on it is fastest.",
	}
	rate := rateField(o)
	rate.least = 30 // a block needs 3 requests
	own := []field{
		targetField("base", "The server to compare with."), targetField("head", "The server to judge."), rate,
		{name: "budget_s", kind: number, least: 8, most: o.verifyBudget(), limit: "--max-duration", about: "Load until the judgement (default 20, below 100 requests/s 40; at least 8, 16 from 100/s and 32 below). More can prove smaller differences; disturbed parts are repeated, up to three times as long."},
		{name: "tolerance_percent", kind: number, flag: "tolerance", unit: "%", least: 0, most: 100, about: "Ignore a change for the worse up to this (default 5)."},
		{name: "metrics", kind: texts, flag: "metric", about: "What to judge, besides errors (default p50, p99, errors and rate).", example: []string{"p50"}},
		pageField(),
	}
	load := append([]field{}, requestFields(o)...)
	t.fields = append(own, load...)
	t.check = func(v values) []error { return checkURLs(v, "base", "head") }
	t.line = func(v values) []string {
		block, budget := blockOf(v.number("rate_per_s")), v.number("budget_s")
		if budget == 0 {
			budget = min(max(20, float64(block)/5), o.verifyBudget())
		}
		words := []string{"verify", "--duet", "--base=" + v.one("base"), "--head=" + v.one("head"), fmt.Sprintf("--budget=%vs", budget), fmt.Sprintf("--block=%dms", block)}
		words = append(append(words, flagsOf(own[3:], v)...), pageWords(v)...)
		words = append(words, "--", "http", fmt.Sprintf("--max-in-flight=%d", o.inFlight(v.number("connections"), 2)))
		return append(words, flagsOf(append(load, own[2]), v)...)
	}
	return t
}

// blockOf is the length of a block of verify at a rate, in ms: half of it may be left out, and the rest needs 3
// requests. 8 slices of 20 blocks are the least that proves something.
func blockOf(rate float64) int {
	switch {
	case rate >= 200:
		return 50
	case rate >= 100:
		return 100
	}
	return 200
}

func capacityTool(o *Options) *tool {
	t := &tool{
		name: "capacity", title: "How much can a server take?", load: true, judges: true, answer: runAnswer,
		about: "Search the highest rate at which a server meets a service level objective, up to max_per_s. Takes budget_s of time. Needs a start rate that the server can surely take.",
	}
	own := []field{
		{name: "slo", kind: texts, flag: "slo", must: true, about: "The objective: conditions that a rate must meet.", example: []string{"p95<300ms", "errors<0.1%"}},
		{name: "start_per_s", kind: number, flag: "start", unit: "/s", least: 0.1, most: o.Rate, limit: "--max-rate", about: "First rate (default 10); from there takt doubles.", example: 50},
		{name: "max_per_s", kind: number, least: 0.1, most: o.Rate, limit: "--max-rate", about: "Highest rate (default: what the user allows)."},
		{name: "budget_s", kind: number, least: 20, most: o.Time.Seconds(), limit: "--max-duration", about: "Time for the whole search (default: what the user allows, at most 180). About 15 steps find a limit."},
		{name: "step_s", kind: number, flag: "duration", unit: "s", least: 1, most: 60, about: "Length of a step (default 6). Longer steps prove more."},
		{name: "warmup_s", kind: number, flag: "warmup", unit: "s", least: 0, most: 30, about: "Load before each step, which is not counted (default 1)."},
		{name: "need_per_s", kind: number, flag: "need", unit: "/s", least: 0.1, about: "Also say how many machines this rate needs."},
		pageField(),
	}
	load := requestFields(o)
	t.fields = append(append([]field{targetField("url", "What to load.")}, own...), load...)
	t.check = func(v values) []error { return checkURLs(v, "url") }
	t.line = func(v values) []string {
		most, budget := v.number("max_per_s"), v.number("budget_s")
		if most == 0 {
			most = o.Rate
		}
		if budget == 0 {
			budget = min(180, o.Time.Seconds())
		}
		words := []string{"capacity", fmt.Sprintf("--max=%v/s", most), fmt.Sprintf("--budget=%vs", budget)}
		for name, usual := range map[string]string{"step_s": "--duration=6s", "warmup_s": "--warmup=1s"} {
			if v.one(name) == "" {
				words = append(words, usual)
			}
		}
		words = append(append(words, flagsOf(own, v)...), pageWords(v)...)
		words = append(words, "--", "http", fmt.Sprintf("--max-in-flight=%d", o.inFlight(v.number("connections"), 1)))
		return append(append(words, flagsOf(load, v)...), v.one("url"))
	}
	return t
}

func compareTool() *tool {
	t := &tool{
		name: "compare", title: "How do stored runs differ?", judges: true, answer: compareAnswer,
		about: "Show how two stored runs, or two groups of runs, differ. One run a side cannot tell a change from chance: give 4 or more a side, or use verify.",
	}
	t.fields = []field{
		{name: "base", kind: texts, must: true, about: "Runs by id, or @-1 for the newest run, @-2 for the one before.", example: []string{"@-2"}},
		{name: "head", kind: texts, must: true, about: "Runs to compare with base.", example: []string{"@-1"}},
		{name: "metrics", kind: texts, flag: "metric", about: "Metrics (default: errors, rate, p50, p90, p99, max, service.p50, service.p99).", example: []string{"p99"}},
	}
	t.check = func(v values) (faults []error) {
		for _, name := range []string{"base", "head"} {
			for _, run := range v[name] {
				faults = append(faults, checkWord(name, run)...)
			}
		}
		return faults
	}
	t.line = func(v values) []string {
		words := append([]string{"compare", "--output=json"}, t.flags(v)...)
		if len(v["metrics"]) == 0 {
			for _, m := range []string{"errors", "rate", "p50", "p90", "p99", "max", "service.p50", "service.p99"} {
				words = append(words, "--metric="+m)
			}
		}
		return append(words, strings.Join(v["base"], ","), strings.Join(v["head"], ","))
	}
	return t
}

func showTool() *tool {
	t := &tool{
		name: "show", title: "Show a stored run", judges: true, answer: runAnswer,
		about: "Show a stored run again, with what it supports.",
	}
	t.fields = []field{{name: "run", kind: text, must: true, about: "Id of a run, the beginning of one, or @-1 for the newest run, @-2 for the one before.", example: "@-1"}, pageField()}
	t.check = func(v values) []error { return checkWord("run", v.one("run")) }
	t.line = func(v values) []string { return append(append([]string{"show"}, pageWords(v)...), v.one("run")) }
	return t
}

func runsTool() *tool {
	t := &tool{
		name: "runs", title: "List stored runs", answer: runsAnswer,
		about: "List the stored runs, the newest first, with verdict, rate and errors. show has the latencies.",
	}
	t.fields = []field{
		{name: "filters", kind: texts, about: "Conditions, all of which a run meets.", example: []string{"branch=main", "p99>250ms"}},
		{name: "last", kind: whole, flag: "last", least: 1, most: 100, about: "The newest so many (default 20)."},
	}
	t.check = func(v values) (faults []error) {
		for _, filter := range v["filters"] {
			faults = append(faults, checkWord("filters", filter)...)
		}
		return faults
	}
	t.line = func(v values) []string {
		return append(append([]string{"runs", "--output=json"}, t.flags(v)...), v["filters"]...)
	}
	return t
}

// flagsOf are the words of fields with a flag.
func flagsOf(fields []field, v values) (words []string) {
	for i := range fields {
		if fields[i].flag != "" {
			words = append(words, fields[i].words(v[fields[i].name])...)
		}
	}
	return words
}

// checkURLs refuses what is no plain URL: a word of another form could be a flag, a file or a list of targets.
func checkURLs(v values, names ...string) (faults []error) {
	for _, name := range names {
		text := v.one(name)
		u, err := url.Parse(text)
		switch {
		case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
			faults = append(faults, fmt.Errorf("%s is %q; give a complete URL such as http://127.0.0.1:8080/", name, shorten(text, 200)))
		case strings.ContainsAny(text, " \t\r\n,") || strings.Contains(text, "{{"):
			faults = append(faults, fmt.Errorf("%s has a blank, a comma or a placeholder; give a plain URL, and percent-encode them", name))
		}
	}
	return faults
}

// checkWord refuses a word that would be a flag, or more words.
func checkWord(name, word string) []error {
	if word == "" || strings.HasPrefix(word, "-") || strings.ContainsAny(word, "\r\n") {
		return []error{fmt.Errorf("%s has %q; give a run or a condition", name, shorten(word, 200))}
	}
	return nil
}
