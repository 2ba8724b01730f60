# Sourced by the scripts beside it, with $port set: sends the odd requests that their
# servers write into their logs.

trap '' PIPE

# request TEXT [HOST]: sends TEXT, reads the answer to its end.
request() {
	exec 3<>"/dev/tcp/${2:-127.0.0.1}/$port"
	printf '%b' "$1" >&3 || true # a server may have had enough
	timeout 3 cat <&3 >/dev/null || true
	exec 3>&-
}
end='Connection: close\r\n\r\n'
request "GET /ten.txt HTTP/1.1\r\nHost: example.org\r\n$end"
request "GET /ten.txt?a=1&token=geheim HTTP/1.1\r\nHost: example.org:8080\r\nReferer: http://example.org/\"x\"\r\nUser-Agent: says \"hello\" \\\\ 4.2.2)\r\n$end"
request "HEAD /ten.txt HTTP/1.0\r\n\r\n" ::1
request "GET /with blank.txt HTTP/1.1\r\nHost: a\r\n$end"
request "GET /stray\"quote HTTP/1.1\r\nHost: a\r\n$end"
request "GET /\\\\back\\\\slash HTTP/1.1\r\nHost: a\r\n$end"
request "GET /caf\xc3\xa9 HTTP/1.1\r\nHost: a\r\n$end"
request "GET http://other.example/absolute?q HTTP/1.1\r\nHost: other.example\r\n$end"
request "POST /ten.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n${end}abc"
request "DELETE /ten.txt HTTP/1.1\r\nHost: a\r\n$end"
request "OPTIONS * HTTP/1.1\r\nHost: a\r\n$end"
request "GET /slow HTTP/1.1\r\nHost: a\r\n$end"
request "GET /ten.txt\r\n"
request "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n"
request "nonsense\r\n\r\n"
request "\r\n\r\n"
request "get /lower HTTP/1.1\r\nHost: a\r\n$end"
request "GET /ten.txt HTTP/1.1\r\n\r\n"
