package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/value"
)

// Topic is a topic with its weight: its part of the records of a run that has several topics.
type Topic struct {
	Name   string
	Weight int
}

// Limits of a list of topics.
const (
	mostTopics = 100
	mostWeight = 1_000_000
)

// topicName is what Kafka accepts, so neither a comma nor an equals sign can be part of a name.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// topicsFlag is --topic: a name, or several names with weights.
type topicsFlag struct {
	value.Flag
	c *Cluster
}

// Set implements pflag.Value. The name of a single topic is for the brokers to judge.
func (f topicsFlag) Set(text string) error {
	if !strings.ContainsAny(text, ",=") {
		f.c.Topic, f.c.Topics = text, nil
		return nil
	}
	list, err := parseTopics(text)
	if err != nil {
		return err
	}
	f.c.Topic, f.c.Topics = list[0].Name, list
	return nil
}

func (f topicsFlag) String() string {
	if f.c == nil {
		return ""
	}
	return f.c.topicText()
}

// parseTopics reads NAME=WEIGHT,NAME=WEIGHT. A weight that is not given is 1.
func parseTopics(text string) (list []Topic, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, weight, weighs := strings.Cut(strings.TrimSpace(part), "=")
		t := Topic{Name: name, Weight: 1}
		if weighs {
			if t.Weight, err = strconv.Atoi(weight); err != nil || t.Weight < 1 || t.Weight > mostWeight {
				return nil, fmt.Errorf("bad weight %.20q of topic %.60q; give a whole number from 1 to %d, such as orders=3,payments=1", weight, name, mostWeight)
			}
		}
		if !topicName.MatchString(name) {
			return nil, fmt.Errorf("%.60q is not the name of a topic; use letters, digits, dots, _ and -, as in orders=3,payments=1", name)
		}
		if slices.ContainsFunc(list, func(o Topic) bool { return o.Name == name }) {
			return nil, fmt.Errorf("topic %s is named twice; name it once, with the sum of the weights", name)
		}
		list = append(list, t)
	}
	if len(list) > mostTopics {
		return nil, fmt.Errorf("%d topics are named; name at most %d", len(list), mostTopics)
	}
	return list, nil
}

// topicText is --topic as it was given.
func (c *Cluster) topicText() string {
	if len(c.Topics) == 0 {
		return c.Topic
	}
	var list []string
	for _, t := range c.Topics {
		list = append(list, t.Name+"="+strconv.Itoa(t.Weight))
	}
	return strings.Join(list, ",")
}

// Names are the names of all topics.
func (c *Cluster) Names() (list []string) {
	if len(c.Topics) == 0 {
		return []string{c.Topic}
	}
	for _, t := range c.Topics {
		list = append(list, t.Name)
	}
	return list
}

// Of is c for one of its topics.
func (c *Cluster) Of(topic string) *Cluster {
	one := *c
	one.Topic, one.Topics = topic, nil
	return &one
}
