package trace

// IsAnswer reports whether a replay can get a recorded status: 408, 444 and 499 say that the
// client got no answer.
func IsAnswer(status int) bool {
	return status >= 100 && status != 408 && status != 444 && status != 499
}

// IsExpected reports whether got is right if want was recorded. A log lacks the condition of
// a 304 and the range of a 206; without them the server answers 200.
func IsExpected(want, got int) bool {
	return got == want || got == 200 && (want == 304 || want == 206)
}
