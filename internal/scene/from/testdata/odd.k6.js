import http from 'k6/http';
import { check, fail } from 'k6';
import { Trend } from 'k6/metrics';

const jar = new http.CookieJar(); // a call of a member of a module
const waiting = new Trend('waiting');

function unused() {
  http.get('https://shop.example/unused');
}

function login(user) {
  return http.post('https://shop.example/login', { user: user }).submitForm();
}

export const options = { scenarios: { a: { executor: 'constant-vus', exec: 'users', startTime: '5s', env: { A: '1' } } } };

export function setup() {
  return { token: http.post('https://shop.example/token').json('token') };
}

export function users(data) {
  http.get('https://shop.example/with', { headers: { A: data.token, B: data.token } });
  if (data.odd) sleep(1); else sleep(2);
  let res = http.get('https://shop.example/contacts');
  res = res.submitForm({ formSelector: 'form', fields: { user: 'ann' } });
  const page = res.clickLink({ selector: 'a[href="/next"]' }).html();
  login('ann');
  if (!check(http.get('https://shop.example/me'), { 'is me': (r) => r.status === 200 && r.body.length > 5 && r.odd() })) {
    fail('not me');
  }
  waiting.add(http.get('https://shop.example/measured').timings.waiting);
  Promise.all([http.asyncRequest('GET', 'https://shop.example/all')]);
  page && http.get('https://shop.example/sometimes');
  const one = page ? http.get('https://shop.example/yes') : http.get('https://shop.example/no');
  for (const id of http.get('https://shop.example/ids').json('ids')) {
    http.del(`https://shop.example/ids/${id}`);
  }
  try {
    http.get('https://shop.example/try');
  } catch (e) {
    http.get('https://shop.example/caught');
  }
  switch (res.status) {
    case 200:
      http.get('https://shop.example/switched');
  }
}
