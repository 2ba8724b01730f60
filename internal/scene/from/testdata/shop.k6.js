import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { randomIntBetween } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
import { Trend } from 'k6/metrics';

const BASE = __ENV.BASE || 'https://shop.example';
const waiting = new Trend('waiting');
export const options = {
  stages: [{ duration: '1m', target: 20 }],
  thresholds: { http_req_failed: ['rate<0.01'] },
  scenarios: { buyers: { executor: 'ramping-vus', exec: 'buy' }, lookers: { executor: 'constant-vus', exec: 'look' }, forms: { exec: 'logInByForm' } },
};

const common = { headers: { 'Content-Type': 'application/json', Accept: 'application/json' } };

function logIn(user) {
  const res = http.post(`${BASE}/login`, JSON.stringify({ user: user, "pass word": 'a"b', n: 3, deep: { list: [1, 'x', true] } }), common);
  check(res, {
    'is 200': (r) => r.status === 200,
    'is quick': (r) => r.timings.duration < 500,
    'has token': (r) => r.json('access.token') !== undefined,
    'is Ann': (r) => r.json().user.name === 'Ann' && r.body.includes('welcome'),
    'is odd': (r) => r.body.split(',').length > 3,
  });
  return res.json('access.token');
}

export function buy() {
  const token = logIn('ann');
  sleep(randomIntBetween(1, 3));
  group('orders', function () {
    const params = { headers: Object.assign({}, common.headers) };
    const list = http.get(BASE + '/orders?at=' + encodeURIComponent(token), { ...common, tags: { name: 'orders' } });
    const id = list.json('items.0.id');
    if (id) {
      http.del(`${BASE}/orders/${id}`, null, params);
    }
    for (let i = 0; i < 3; i++) {
      http.put(`${BASE}/orders/${id}/lines/${i}`, { amount: 2, who: unknownThing.name });
    }
  });
  waiting.add(1);
  sleep(1);
}

export function look() {
  const all = http.batch([['GET', `${BASE}/`], { method: 'POST', url: `${BASE}/seen`, body: 'x {{y}}' }]);
  check(all[0], { ok: (r) => r.status >= 200 && r.status < 300 });
  check(all[1], { ok: (r) => [200, 201].includes(r.status) });
  sleep(Math.random() * 3);
  http.request('PATCH', `${BASE}/me?id=${__VU}`, null, { responseCallback: http.expectedStatuses(204, { min: 300, max: 399 }) });
}

export function logInByForm(data) {
  const page = http.get(`${__ENV.SITE}/login`, { headers: { 'X-Key': __ENV.KEY } });
  const csrf = parseHTML(page.body).find('input[name=csrf]').first().attr('value');
  http.post(`https://auth.example/login`, { csrf: csrf, tenant: data.tenant });
  for (let i = 1; i < 2; i++) {}
  for (let i = 0; i < 2; i++) {
    http.get(`${BASE}/a/${i}`);
    http.get(`${BASE}/b/${i}`, { redirects: 3 });
  }
}

export function setup() {
  sleep(1);
  const made = http.post(`${BASE}/tenants`, { name: 'x' }, { redirects: 0 });
  return { tenant: made.json('id') };
}

export function teardown(data) { http.del(`${BASE}/tenants/${data.tenant}`); }
let broken = ] ;
