package takt

// Secret is a flag.Value that never shows what it holds.
type Secret string

// Set implements flag.Value.
func (s *Secret) Set(v string) error {
	*s = Secret(v)
	return nil
}

// String implements flag.Value and fmt.Stringer: it does not reveal the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Redacted
}

// Secrets implements Secretive.
func (s Secret) Secrets() []string {
	if s == "" {
		return nil
	}
	return []string{string(s)}
}

// Redacted stands where a secret stood.
const Redacted = "xxxxx"

// Secretive is what holds secrets: flag values and option sets. What they name
// is scrubbed from commands, error samples, bodies and logs.
type Secretive interface{ Secrets() []string }
