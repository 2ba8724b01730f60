// node for scripts/servers, which fills in the ports and paths.
'use strict';
const fs = require('fs');
const http = require('http');
const http2 = require('http2');

const root = '@RUN@/html';
const pages = { '/': fs.readFileSync(root + '/index.html') };
for (const path of ['/16k.txt', '/256k.txt', '/pki/ca.pem']) pages[path] = fs.readFileSync(root + path);

let requests = 0; // of takt

function answer(request, response, body) {
	response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length });
	response.end(request.method === 'HEAD' ? undefined : body);
}

function serve(request, response) {
	if (request.headers['user-agent'] === 'takt') requests++;
	if (request.url === '/count') return answer(request, response, Buffer.from(String(requests)));
	if (request.url === '/early') return answer(request, response, Buffer.from('early')); // before the body is read
	if (request.url === '/post') { // the answer is the request's body
		response.writeHead(200, { 'content-type': 'text/plain' });
		return request.pipe(response);
	}
	if (pages[request.url]) return answer(request, response, pages[request.url]);
	response.writeHead(404);
	response.end();
}

const tls = { key: fs.readFileSync(root + '/pki/server.key'), cert: fs.readFileSync(root + '/pki/server.pem'), allowHTTP1: true };
http2.createSecureServer(tls, serve).listen(@TLS@, '127.0.0.1');
http2.createServer(serve).listen(@H2C@, '127.0.0.1');
http.createServer(serve).listen(@PORT@, '127.0.0.1');
