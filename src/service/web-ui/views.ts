/** Script of the views, with the helpers of script.ts. */
export const pageViews = String.raw`
let userEnd;
async function showUsers(after) {
  const search = find('search').value;
  const query = new URLSearchParams({ q: search, limit: 50, ...(after ? { after } : {}) });
  const { profiles, next } = await ask('GET', 'profiles?' + query);
  if (find('search').value !== search) return;
  const rows = profiles.map((user) => {
    const name = user.identity ?? user.platformInfo[0]?.objectId ?? 'user ' + user.id;
    const { sms, whatsapp, email } = user.reachability;
    return row(cell(link(name, () => showUser(user))), text(user.email), ...[sms, whatsapp, email].map(dotCell));
  });
  if (after) find('user-rows').append(...rows);
  else fill('user-rows', rows.length > 0 ? rows : [row(make('td', { colSpan: 5, className: 'hint' }, 'no users'))]);
  userEnd = next;
  find('more-users').hidden = next === undefined;
}
find('search').addEventListener('input', () => tried(() => showUsers()));
find('more-users').addEventListener('click', () => tried(() => showUsers(userEnd)));

const wordOf = ({ address, isReachable }) =>
  isReachable ? 'reachable' : address === null ? 'no address' : 'unreachable';

/** Draws reachability as a symbol: disc, cross, or empty circle without an address. */
function dotCell(channel) {
  const word = wordOf(channel);
  const kind = channel.isReachable ? 'good' : 'bad';
  const marks = { reachable: draw('circle', { cx: 10, cy: 10, r: 7, fill: 'currentColor' }),
    unreachable: draw('path', { d: 'M5 5 15 15M15 5 5 15', stroke: 'currentColor', 'stroke-width': 2.5 }),
    'no address': draw('circle', { cx: 10, cy: 10, r: 6, fill: 'none', stroke: 'currentColor', 'stroke-dasharray': '2 3' }) };
  return cell(draw('svg', { viewBox: '0 0 20 20', class: 'dot ' + (channel.address === null ? 'hint' : kind), role: 'img', 'aria-label': word },
    draw('title', {}, word), marks[word]));
}

/** Draws the path of a message to a user through two gates: the address level and the user level. */
function gates(name, channel) {
  const gate = (x, isOpen, label) => [
    draw('path', { d: isOpen ? 'M' + x + ' 8v14M' + x + ' 42v14' : 'M' + x + ' 8v48', class: isOpen ? 'good' : 'bad', stroke: 'currentColor', 'stroke-width': 5 }),
    draw('text', { x, y: 72, 'text-anchor': 'middle' }, label + ': ' + (isOpen ? 'Subscribed' : 'Unsubscribed'))];
  const byAddress = channel.addressLevel === 'Subscribed', byUser = channel.userLevel === 'Subscribed';
  const end = channel.address === null ? 20 : !byAddress ? 118 : !byUser ? 258 : 360;
  const word = wordOf(channel);
  const alt = name + ': ' + word + '; address ' + channel.addressLevel + ', user ' + channel.userLevel;
  return draw('svg', { viewBox: '0 0 400 80', class: 'gates', role: 'img', 'aria-label': alt }, draw('title', {}, alt),
    draw('text', { x: 0, y: 12 }, name),
    draw('path', { d: 'M0 32H' + end, class: channel.isReachable ? 'good' : 'bad', stroke: 'currentColor', 'stroke-width': 3 }),
    ...gate(120, byAddress, 'address'), ...gate(260, byUser, 'user'),
    draw('text', { x: 372, y: 36, 'text-anchor': 'middle', class: channel.isReachable ? 'good' : 'bad' }, channel.isReachable ? '✓ ' : '✗ '),
    draw('text', { x: 398, y: 12, 'text-anchor': 'end' }, word));
}

async function showUser(user) {
  const list = (members) => make('dl', {}, ...members.flatMap(([key, value]) =>
    [make('dt', {}, key), make('dd', {}, formatValue(value))]));
  const { identity, email, name, phone, profileData = {}, all_identities, platformInfo, reachability } = user;
  const { latestEvents = [] } = identity === undefined ? {} : await ask('GET', 'profiles/' + encodeURIComponent(identity));
  const known = Object.entries({ email, name, phone, identities: all_identities.join(', ') }).filter(([, value]) => value);
  find('user').replaceChildren(
    make('h2', {}, identity ?? platformInfo[0]?.objectId ?? 'user ' + user.id), list(known),
    make('h2', {}, 'Reachability'), ...Object.entries({ SMS: reachability.sms, WhatsApp: reachability.whatsapp, Email: reachability.email }).map(([label, channel]) => gates(label, channel)),
    make('h2', {}, 'Profile'), list(Object.entries(profileData)),
    ...platformInfo.flatMap((device) => [make('h2', {}, 'Device'), list(Object.entries(device))]),
    make('h2', {}, 'Latest events'), list(latestEvents.map(({ event, at, props }) => [isoTime(at) + ' ' + event, props])));
  find('user').hidden = false;
  find('user').scrollIntoView({ block: 'nearest' });
}

let eventEnd;
async function showEvents(after) {
  const chosen = find('event-name');
  const event = chosen.value;
  const query = new URLSearchParams({ limit: 50, ...(event ? { event } : {}), ...(after ? { after } : {}) });
  const { events, next } = await ask('GET', 'events?' + query);
  if (chosen.value !== event) return;
  const rows = events.map(({ at, event, identity, objectId, props }) => row(text(isoTime(at)), text(event), text(identity ?? objectId), text(JSON.stringify(props))));
  if (after) find('event-rows').append(...rows);
  else fill('event-rows', rows);
  eventEnd = next;
  find('more-events').hidden = next === undefined;
  if (after) return;
  // They are counted one by one: the latest are there before.
  const { names, days } = await ask('GET', 'events/days?event=' + encodeURIComponent(event));
  if (chosen.value !== event) return;
  const options = [make('option', { value: '' }, 'all'), ...names.map((name) => make('option', {}, name))];
  chosen.replaceChildren(...options);
  chosen.value = event;
  drawDays(days);
}
find('event-name').addEventListener('change', () => tried(() => showEvents()));
find('more-events').addEventListener('click', () => tried(() => showEvents(eventEnd)));

/** A bar for each day from the first to the last; of more than 400 days several in a bar. */
function drawDays(days) {
  if (days.length === 0) return find('days').replaceChildren('no events');
  const [first, last] = [days[0].day, days.at(-1).day];
  const width = Math.max(1, Math.ceil((last - first + 1) / 400));
  const bars = Array.from({ length: Math.floor((last - first) / width) + 1 }, () => 0);
  for (const { day, count } of days) bars[Math.floor((day - first) / width)] += count;
  const most = Math.max(...bars);
  const dayText = (day) => isoTime(day * 86400000).slice(0, 10);
  const rects = bars.map((count, at) => {
    const height = count && Math.max(1, (count / most) * 100);
    const label = dayText(first + at * width) + ': ' + count.toLocaleString('en') + ' events';
    return draw('rect', { class: 'bar', x: at + 0.1, y: 100 - height, width: 0.8, height }, draw('title', {}, label));
  });
  const total = days.reduce((sum, { count }) => sum + count, 0).toLocaleString('en');
  const caption = total + ' events, ' + dayText(first) + ' to ' + dayText(last) + ' (UTC), at most ' + most.toLocaleString('en') + (width > 1 ? ' in ' + width + ' days' : ' a day');
  find('days').replaceChildren(draw('svg', { viewBox: '0 0 ' + bars.length + ' 100', preserveAspectRatio: 'none', role: 'img', 'aria-label': caption }, ...rects), make('figcaption', {}, caption));
}

let lastSeen = 0;
async function showRequests() {
  const { requests } = await ask('GET', 'requests?bodies=no&since=' + lastSeen);
  const over = requests.filter(({ ms }) => ms !== null);
  // Requests in progress are fetched again.
  lastSeen = over.length < requests.length ? Math.max(lastSeen, requests.find(({ ms }) => ms === null).id - 1) : (requests.at(-1)?.id ?? lastSeen);
  for (const seen of requests) {
    const { id, at, method, url, status, ms, bodyBytes, result, reason, warnings } = seen;
    const answer = status === null ? (ms === null ? '…' : 'none') : [status, result].filter(Boolean).join(' ');
    const kind = status === null || status >= 400 || result === 'fail' ? 'bad' : result === 'partial' ? 'partial' : 'good';
    const why = [reason, ...warnings.map((warning) => 'warning: ' + warning)].filter(Boolean).join('; ');
    const made = row(cell(isoTime(at).slice(11)), cell(link(method + ' ' + url, () => tried(() => showBody(id)))), make('td', { className: ms === null ? 'hint' : kind }, answer), text(why), cell(ms === null ? '' : ms + ' ms'), cell(bodyBytes.toLocaleString('en')));
    made.id = 'request-' + id;
    const before = find(made.id);
    if (before) before.replaceWith(made);
    else find('request-rows').prepend(made);
  }
  while (find('request-rows').rows.length > 500) find('request-rows').lastChild.remove();
  find('no-requests').hidden = find('request-rows').rows.length > 0;
}
async function showBody(id) {
  const { requests } = await ask('GET', 'requests?limit=1&since=' + (id - 1));
  find('body').hidden = false;
  const { headers = {}, body, answer, reason, warnings = [] } = requests[0] ?? {};
  const json = (value) => (value === undefined ? 'none' : JSON.stringify(value, null, 2).slice(0, 100000));
  const parts = {
    ...(reason ? { Reason: reason } : {}),
    ...(warnings.length > 0 ? { Warnings: warnings.join('\n') } : {}),
    Headers: Object.entries(headers).map(([name, value]) => name + ': ' + value).join('\n'),
    Body: json(body),
    Answer: json(answer),
  };
  find('body').replaceChildren(...Object.entries(parts).flatMap(([title, content]) => [make('h2', {}, title), make('pre', { tabIndex: 0 }, content)]));
  find('body').scrollIntoView({ block: 'nearest' });
}
find('clear-requests').addEventListener('click', () => tried(async () => {
  await ask('DELETE', 'requests');
  fill('request-rows', []);
  find('body').hidden = true;
  await showRequests();
}));

async function showCursors() {
  const { cursors } = await ask('GET', 'cursors');
  fill('cursor-rows', cursors.map((one) => {
    const page = one.pendingPolls > 0 ? 'after ' + one.pendingPolls + ' polls' : one.batch === 0 ? 'all at once' : one.batch.toLocaleString('en');
    return row(...[isoTime(one.openedAt), one.kind + ', ' + (one.event ?? 'event that never occurred'), isoTime(one.from), isoTime(one.before), page, isoTime(one.usedAt), isoTime(one.expiresAt)].map(text));
  }));
  find('no-cursors').hidden = cursors.length > 0;
}

const answers = { 'answer 429': { status: 429, headers: { 'Retry-After': '1' } }, 'answer 500': { status: 500 }, 'answer 401': { status: 401 } };
const faultForm = find('fault').elements;
faultForm.what.append(...[...Object.keys(answers), ...actions, 'delay'].map((what) => make('option', {}, what)));
faultForm.endpoint.append(make('option', { value: '' }, 'every endpoint'), ...endpoints.map((name) => make('option', {}, name)));
find('fault').addEventListener('submit', async (event) => {
  event.preventDefault();
  const { what, endpoint, match, after, times, delayMs } = faultForm;
  const rule = { after: Number(after.value) };
  if (answers[what.value]) rule.answer = answers[what.value];
  else if (what.value !== 'delay') rule.action = what.value;
  if (endpoint.value) rule.endpoint = endpoint.value;
  if (match.value) rule.match = match.value;
  if (times.value) rule.times = Number(times.value);
  if (delayMs.value) rule.delayMs = Number(delayMs.value);
  find('fault-error').textContent = '';
  await ask('POST', 'faults', rule).catch((error) => { find('fault-error').textContent = error.message; });
  await tried(showFaults);
});
let lastFaults;
async function showFaults() {
  const { faults } = await ask('GET', 'faults');
  // Keeps buttons under the pointer or the focus while nothing changes.
  if (JSON.stringify(faults) === lastFaults) return;
  lastFaults = JSON.stringify(faults);
  fill('fault-rows', faults.map(({ id, seen, played, ...rule }) => row(text(id + ': ' + JSON.stringify(rule)), cell(String(seen)), cell(String(played)),
    cell(button('Delete', () => tried(async () => { await ask('DELETE', 'faults/' + id); await showFaults(); }))))));
}

const settingForm = find('setting').elements;
find('setting').querySelector('button').before(...Object.entries(variants).map(([name, values]) =>
  make('label', {}, name + ' ', make('select', { name }, ...values.map((value) => make('option', {}, value))))));
async function showSettings() {
  const { maxConcurrent, variants: chosen, strict, ...numbers } = await ask('GET', 'settings');
  settingForm.failSeed.value = '';
  for (const [name, value] of Object.entries({ ...numbers, ...maxConcurrent, ...chosen })) settingForm[name].value = value;
  settingForm.strict.checked = strict;
}
find('setting').addEventListener('submit', (event) => {
  event.preventDefault();
  const number = (name) => Number(settingForm[name].value);
  const changes = { latencyMs: number('latencyMs'), pendingPolls: number('pendingPolls'), failRate: number('failRate'),
    ...(settingForm.failSeed.value ? { failSeed: number('failSeed') } : {}),
    maxConcurrent: { upload: number('upload'), other: number('other') }, strict: settingForm.strict.checked,
    variants: Object.fromEntries(Object.keys(variants).map((name) => [name, settingForm[name].value])) };
  tried(async () => {
    await ask('PUT', 'settings', changes);
    find('settings-state').textContent = 'Applied until the next reset or restart.';
  });
});

async function showSnapshots() {
  const { snapshots } = await ask('GET', 'snapshots');
  const act = (label, method, path, words) => button(label, () => tried(async () => {
    await ask(method, path);
    find('done').textContent = words;
    await showSnapshots();
  }));
  fill('snapshot-rows', snapshots.map(({ name, at, bytes }) => row(text(name), cell(isoTime(at)), cell(bytes.toLocaleString('en')),
    cell(act('Restore', 'POST', 'snapshots/' + encodeURIComponent(name) + '/restore', 'Restored ' + name + '.'), ' ', act('Delete', 'DELETE', 'snapshots/' + encodeURIComponent(name), 'Deleted ' + name + '.')))));
}
find('snapshot').addEventListener('submit', (event) => {
  event.preventDefault();
  const { value } = event.target.elements.name;
  tried(async () => {
    await ask('PUT', 'snapshots/' + encodeURIComponent(value));
    find('done').textContent = 'Saved ' + value + '.';
    await showSnapshots();
  });
});
find('reset').addEventListener('click', () => {
  if (!confirm('Reset data, faults and the request log?')) return;
  tried(async () => {
    await ask('POST', 'reset');
    find('done').textContent = 'Reset to the seed.';
  });
});

async function showCalls() {
  const { calls } = await ask('GET', 'calls');
  fill('call-rows', calls.toReversed().slice(0, 200).map((call) => row(cell(isoTime(call.placedAt)), text(call.callerCuid), text(call.calleeCuid), text(call.callContext), text([call.phase, call.status, call.reason].filter(Boolean).join(', ')))));
  find('no-calls').hidden = calls.length > 0;
  // An offer may end without an event.
  drawPhone();
}
`;
