package formats

import (
	"cmp"

	"github.com/taktload/takt/internal/trace/fieldmap"
)

// Field maps of servers with documented logs. Caddy's ts is the end of a request
// (caddyserver.com/docs/logging); Traefik's StartUTC (doc.traefik.io, access logs) and the
// times of Envoy and Google Cloud are its start. commonFields are names in common use, with
// those of nginx's variables.
const (
	caddyFields   = "end=ts,latency=duration,method=request.method,uri=request.uri,host=request.host,client=request.client_ip|request.remote_ip,status=status,bytes=size,request_bytes=bytes_read,referer=request.headers.Referer,agent=request.headers.User-Agent"
	traefikFields = "start=StartUTC|StartLocal,latency=Duration:ns,method=RequestMethod,uri=RequestPath,host=RequestHost,scheme=RequestScheme,client=ClientHost,status=DownstreamStatus,bytes=DownstreamContentSize,request_bytes=RequestContentSize,referer=request_Referer,agent=request_User-Agent"
	envoyFields   = "start=start_time,latency=duration:ms,method=method,uri=x_envoy_original_path|path,host=authority,status=response_code,bytes=bytes_sent,request_bytes=bytes_received,client=downstream_remote_address,agent=user_agent"
	gcpFields     = "start=timestamp,latency=httpRequest.latency,method=httpRequest.requestMethod,uri=httpRequest.requestUrl,client=httpRequest.remoteIp,status=httpRequest.status,bytes=httpRequest.responseSize,request_bytes=httpRequest.requestSize,referer=httpRequest.referer,agent=httpRequest.userAgent"
	commonFields  = "end=msec|time_iso8601|time_local|@timestamp|timestamp|time|ts|date,latency=request_time,method=request_method|method|verb|http.request.method,request=request,uri=request_uri|uri|url|path|url.original|url.path,query=query_string|args|query|url.query,status=status|status_code|code|response|http.response.status_code,bytes=body_bytes_sent|bytes_sent|bytes|size|response_size,request_bytes=request_length|request_size|bytes_read,host=http_host|host|server_name|vhost|url.domain,scheme=scheme|url.scheme,client=remote_addr|client_ip|clientip|remote_ip|ip|client|client.ip,referer=http_referer|referer|referrer,agent=http_user_agent|user_agent|agent"
)

// objects returns the format of a field map: the user's, or else the given one.
func objects(text string) func(Hints) (Parser, error) {
	return func(h Hints) (Parser, error) {
		m, err := fieldmap.New(cmp.Or(h.Fields, text))
		if err == nil {
			m.Strict = h.Guessed
		}
		if h.Fields == "" && text == commonFields {
			m.Doubt("request_time")
		}
		return m, err
	}
}
