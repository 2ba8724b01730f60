package parse

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	const base = "2017-11-09T13:12:44"
	for text, want := range map[string]string{
		"09/Nov/2017:13:12:44 -0500":          base + "-05:00", // combined
		"09/Nov/2017 13:12:44":                base + "+01:00", // the three of the load format
		"2017-Nov-09 13:12:44":                base + "+01:00",
		"09-Nov-2017 13:12:44":                base + "+01:00",
		"2024-02-29 13:12:44":                 "2024-02-29T13:12:44+01:00",
		"2017-11-09 13:12:44.250":             base + ".25+01:00",
		"2017/11/09 13:12:44":                 base + "+01:00",
		"2017-11-09T13:12:44Z":                base + "Z",
		"2017-11-09T13:12:44,5+05:30":         base + ".5+05:30",
		"2017-11-09T13:12:44.123456789123-08": base + ".123456789-08:00",
		"2016-12-31T23:59:60Z":                "2017-01-01T00:00:00Z",
		"2017-11-09T24:00:00Z":                "2017-11-10T00:00:00Z",
		"1510233164":                          "2017-11-09T13:12:44Z",
		"1510233164.5":                        base + ".5Z",
		"1510233164123":                       base + ".123Z",
		"1510233164123456":                    base + ".123456Z",
		"1510233164123456789":                 base + ".123456789Z",
		"1.510233164e9":                       base + "Z",
	} {
		c := Clock{Zone: zone(t, "Europe/Berlin")}
		at, whole, err := c.Any([]byte(text))
		wanted, parseErr := time.Parse(time.RFC3339Nano, want)
		if err != nil || parseErr != nil || !at.Equal(wanted) {
			t.Errorf("%s: %v %v, want %v", text, at, err, wanted)
		}
		if isWhole := at.Nanosecond() == 0 && text != "1.510233164e9"; whole != isWhole {
			t.Errorf("%s: whole is %v", text, whole)
		}
	}
}

func TestClockRefuses(t *testing.T) {
	for _, text := range []string{
		"", "-", "now", "09/Nov/2017", "09/Nov/2017:13:12", "9/Nov/2017:13:12:44 -0500", "09/Okt/2017:13:12:44 -0500", "00/Nov/2017:13:12:44 -0500",
		"2017-13-09 13:12:44", "2017-11-09x13:12:44", "2017-11-09 13:60:44", "2017-11-09 25:12:44", "2017-11-09 13:12:61", "2017-11-09 13:12:44.", "2017-11-09 13:12:44.x",
		"2017-11-09 13:12:44 CET", "2017-11-09 13:12:44+1", "2017-11-09 13:12:44+01:00:00", "2017-11-09 13:12:44+99:00", "2017-11/09 13:12:44", "99999999999999999999", "1e400", "12 13", "1510233164.5x",
		"30/Feb/2024:13:12:44 +0000", "29/Feb/2023:13:12:44 +0000", "29/Feb/2100:13:12:44 +0000", "31/Apr/2024:13:12:44 +0000", "32/Jan/2024:13:12:44 +0000",
		"09/Nov/1800:13:12:44 +0000", "1969-12-31 13:12:44", "2201-01-01 13:12:44", "2017-11-09T24:00:01Z", "09/Nov-2017:13:12:44 -0500",
	} {
		if at, _, err := (&Clock{Zone: time.UTC}).Any([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, at)
		}
	}
}

// Days are counted as package time counts them.
func TestClockAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		want := time.Unix(random.Int64N(7e9), random.Int64N(1e9)).UTC()
		at, _, err := (&Clock{Zone: time.UTC}).parse([]byte(want.Format("02/Jan/2006:15:04:05.000000000 -0700")))
		if err != nil || !at.Equal(want) {
			t.Fatalf("%v, %v, want %v", at, err, want)
		}
	}
}

// Stamps without a zone go on rising over both ends of summer time.
func TestClockOverSummerTime(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"} {
		z := zone(t, name)
		for year := 2024; year <= 2026; year++ {
			c := Clock{Zone: z}
			start := time.Date(year, 1, 1, 0, 0, 30, 0, z)
			for at := start; at.Year() == year; at = at.Add(10 * time.Minute) {
				got, _, err := c.parse([]byte(at.Format("2006-01-02 15:04:05")))
				if err != nil || !got.Equal(at) {
					t.Fatalf("%s: %v, %v, want %v", name, got, err, at)
				}
			}
		}
	}
}

// A reading that summer time skips is some instant beside the gap, and the day goes on.
func TestClockInTheGap(t *testing.T) {
	c := Clock{Zone: zone(t, "Europe/Berlin")}
	at, _, err := c.parse([]byte("2024-03-31 02:30:00"))
	if hour := at.Hour(); err != nil || hour != 1 && hour != 3 {
		t.Errorf("%v, %v", at, err)
	}
}

func TestDecimal(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0.000": 0, "0.123": 123e6, "12": 12e9, "1.0000000019": 1e9 + 1, "9.3e-05": 93000, "-1": -1, "": -1, ".5": -1, "1.5.": -1, "x": -1, "9999999999999": -1, "1e99": -1, "NaN": -1,
	} {
		d, ok := Decimal([]byte(text), time.Second)
		if ok != (want >= 0) || ok && d != want {
			t.Errorf("%q: %v %v, want %v", text, d, ok, want)
		}
	}
}

// A format of package time that the clock understands means the same to it.
func FuzzClock(f *testing.F) {
	for _, text := range []string{"09/Nov/2017:13:12:44 -0500", "2017-Nov-09 13:12:44", "2017-11-09T13:12:44.5+01:00", "2000-01-01T00:00:00+20:00", "1510233164.5"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, _, err := (&Clock{Zone: time.UTC}).Any([]byte(text))
		want, parseErr := time.Parse(time.RFC3339Nano, text)
		if err == nil && parseErr == nil && !at.Equal(want) {
			t.Fatalf("%q is %v, want %v", text, at, want)
		}
		_, offset := want.Zone()
		strange := offset <= -24*3600 || offset >= 24*3600 // RFC 3339 ends at 23:59
		if y := want.Year(); err != nil && parseErr == nil && y >= 1970 && y <= 2200 && !strange && want.Format(time.RFC3339Nano) == text {
			t.Fatalf("%q: %v, want %v", text, err, want)
		}
	})
}

// zone finds a zone with summer time.
func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
