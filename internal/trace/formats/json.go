package formats

import (
	"cmp"

	"github.com/taktload/takt/internal/trace/parse"
)

// Field maps of servers with documented logs. Caddy's ts is the end of a request
// (caddyserver.com/docs/logging); Traefik's StartUTC (doc.traefik.io, access logs) and the
// times of Envoy and Google Cloud are its start. commonFields are names in common use, with
// those of nginx's variables.
const (
	caddyFields   = "end=ts,latency=duration,method=request.method,uri=request.uri,host=request.host,client=request.client_ip|request.remote_ip,status=status,bytes=size,request_bytes=bytes_read,referer=request.headers.Referer,agent=request.headers.User-Agent"
	traefikFields = "start=StartUTC|StartLocal,latency=Duration:ns,method=RequestMethod,uri=RequestPath,host=RequestHost,scheme=RequestScheme,client=ClientHost,status=DownstreamStatus,bytes=DownstreamContentSize,request_bytes=RequestContentSize,referer=request_Referer,agent=request_User-Agent"
	envoyFields   = "start=start_time,latency=duration:ms,method=method|:method,uri=x_envoy_original_path|x-envoy-origin-path|path|:path,host=authority|:authority,status=response_code,bytes=bytes_sent,request_bytes=bytes_received,client=downstream_remote_address,agent=user_agent|user-agent"
	// CloudFront's JSON has the names of its columns (docs.aws.amazon.com, standard logging v2).
	cloudfrontFields = "end=timestamp(ms)|timestamp,end=date+time:UTC,latency=time-taken,method=cs-method,uri=cs-uri-stem,query=cs-uri-query,host=x-host-header|cs(Host),scheme=cs-protocol,client=c-ip,status=sc-status,bytes=sc-bytes,request_bytes=cs-bytes,referer=cs(Referer),agent=cs(User-Agent)"
	gcpFields        = "start=timestamp,latency=httpRequest.latency,method=httpRequest.requestMethod,uri=httpRequest.requestUrl,client=httpRequest.remoteIp,status=httpRequest.status,bytes=httpRequest.responseSize,request_bytes=httpRequest.requestSize,referer=httpRequest.referer,agent=httpRequest.userAgent"
	// developers.cloudflare.com, Logpush datasets; techdocs.akamai.com, DataStream 2; learn.microsoft.com,
	// monitoring of Front Door, Application Gateway and App Service (whose time is the end); AWS WAF
	// log fields; pino-http's README.
	cloudflareFields = "start=EdgeStartTimestamp,end=EdgeEndTimestamp,latency=EdgeTimeToFirstByteMs:ms,method=ClientRequestMethod,uri=ClientRequestURI,host=ClientRequestHost,scheme=ClientRequestScheme,client=ClientIP,status=EdgeResponseStatus,bytes=EdgeResponseBytes,request_bytes=ClientRequestBytes,referer=ClientRequestReferer,agent=ClientRequestUserAgent"
	azureFields      = "end=time|timeStamp|timestamp,latency=properties.timeTaken:s?,latency=properties.TimeTaken:ms,method=properties.httpMethod|properties.CsMethod,uri=properties.requestUri|properties.CsUriStem,query=properties.requestQuery|properties.CsUriQuery,host=properties.host|properties.hostName|properties.CsHost,client=properties.clientIp|properties.clientIP|properties.CIp,status=properties.httpStatusCode|properties.httpStatus|properties.ScStatus,bytes=properties.responseBytes|properties.sentBytes|properties.ScBytes,request_bytes=properties.requestBytes|properties.receivedBytes|properties.CsBytes,referer=properties.referer|properties.Referer,agent=properties.userAgent|properties.UserAgent"
	akamaiFields     = "start=reqTimeSec,latency=timeToFirstByte|turnAroundTimeMSec:ms,method=reqMethod,path=reqPath,query=queryStr,host=reqHost,client=cliIP,status=statusCode,bytes=objSize|rspContentLen|totalBytes|bytes,referer=referer,agent=UA"
	wafFields        = "start=timestamp,method=httpRequest.httpMethod,uri=httpRequest.uri,query=httpRequest.args,client=httpRequest.clientIp,status=responseCodeSent"
	pinoFields       = "end=time,latency=responseTime:ms,method=req.method,uri=req.url,host=req.headers.host,client=req.remoteAddress,status=res.statusCode,bytes=res.headers.content-length,referer=req.headers.referer,agent=req.headers.user-agent"
	ltsvFields       = "start=time,latency=reqtime,latency=reqtime_microsec|taken:us,latency=apptime,method=method,request=req,uri=uri,status=status,bytes=size,request_bytes=reqsize,host=vhost,scheme=scheme,client=forwardedfor|host|remote_addr,referer=referer,agent=ua"
	commonFields     = "end=msec|time_iso8601|time_local|@timestamp|timestamp|time|ts|t|date|requestTimeEpoch|requestTime|date+time,latency=request_time:s?,latency=responseLatency:ms,latency=event.duration|duration_ns|latency_ns|elapsed_ns:ns,latency=duration_us|latency_us|elapsed_us|time_us:us,latency=duration_ms|durationMs|latency_ms|latencyMs|elapsed_ms|elapsedMs|response_time_ms|responseTimeMs|request_time_ms|time_ms|took_ms:ms,latency=duration_s|duration_seconds|latency_s|latency_seconds|elapsed_s|elapsed_seconds:s,latency=duration|latency|elapsed|took|response_time|responseTime|request_duration:?,method=request_method|method|verb|http.request.method|httpMethod|http_method|req.method,request=request,uri=request_uri|uri|url|path|url.original|url.path|request_path|req.url,query=query_string|args|query|url.query,status=status|status_code|response_status|response_code|code|response|http.response.status_code|res.statusCode|statusCode|http_status,bytes=body_bytes_sent|bytes_sent|bytes|size|response_size|response_body_size|responseLength|http.response.body.bytes|http.response.bytes,request_bytes=request_length|request_size|bytes_read,host=http_host|host|server_name|vhost|url.domain,scheme=scheme|url.scheme,client=remote_addr|client_ip|clientip|remote_ip|ip|client|client.ip|client.address|remote|remote_address|client_addr|remoteAddr|clientIp|clientIP|source.ip|source.address,referer=http_referer|referer|referrer|request_referer,agent=http_user_agent|user_agent|agent|userAgent|user_agent.original|request_user_agent|ua"
)

// objects returns the format of a field map: the user's, or else the given one.
func objects(text string) func(Hints) (Parser, error) {
	return func(h Hints) (Parser, error) {
		m, err := parse.NewFieldMap(cmp.Or(h.Fields, text))
		if err == nil {
			m.Strict = h.Fields == "" // a map of the user says where the request is
		}
		return m, err
	}
}

// pairs returns the format of lines that are no objects, by a field map. Other lines have such
// pairs, too, so a request needs a method or a status.
func pairs(text string, parser func(m *parse.FieldMap) Parser) func(Hints) (Parser, error) {
	return func(h Hints) (Parser, error) {
		m, err := parse.NewFieldMap(cmp.Or(h.Fields, text))
		if err != nil {
			return nil, err
		}
		m.Strict = true
		return parser(m), nil
	}
}

func ltsv(m *parse.FieldMap) Parser   { return parse.LTSV{Map: m} }
func logfmt(m *parse.FieldMap) Parser { return parse.Logfmt{Map: m} }
