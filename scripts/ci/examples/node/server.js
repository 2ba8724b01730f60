// A server to try takt verify in CI with: it pauses for 2 ms, then answers.
const http = require('node:http');

const pause = 2;

http.createServer((_, response) => {
  setTimeout(() => response.end('ok\n'), pause);
}).listen(Number(process.env.PORT), '127.0.0.1');
